#include "perceiver/kernels/linear/cublaslt_torch.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cublasLt.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <mutex>

#include "perceiver/core/error.h"
#include "perceiver/kernels/linear/product_rows.h"

namespace perceiver {
namespace {

// Of the algorithms that cuBLASLt proposes, the most that are tried, with a workspace and without.
constexpr int kMostTried = 8;
// Enough for the counter of kernels that deal out tiles as they go, and not for splitting K.
constexpr size_t kWorkspaceBytes = 1024;

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail("cuBLASLt: {}: {}", what, cublasLtGetStatusString(status));
}

template <typename T, cublasStatus_t (*destroy)(T)>
struct Destroyed {
  void operator()(T x) const { destroy(x); }
};
template <typename T, cublasStatus_t (*destroy)(T)>
using Owned = std::unique_ptr<std::remove_pointer_t<T>, Destroyed<T, destroy>>;
using Operation = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

using Algorithm = cublasLtMatmulHeuristicResult_t;

// All that the choice of an algorithm may depend on.
struct Shape {
  int64_t device, dtype;
  int64_t rows, in, out;              // M, K, N
  int64_t x_stride, residual_stride;  // elements from row to row; no residual: 0
  int64_t alignment;                  // bytes, of all pointers
  bool gelu;
  auto operator<=>(const Shape&) const = default;
};

struct Matrices {
  Tensor x, residual, weight, bias;  // rows of x [M, K] and residual [M, N]
  Shape shape;
};

int64_t alignment_of(const Tensor& x) {
  constexpr uintptr_t kMost = 256;  // more makes no difference
  const auto address = reinterpret_cast<uintptr_t>(x.const_data_ptr());
  return static_cast<int64_t>(std::min(kMost, address & (~address + 1)));
}

Matrices matrices_of(const Product& p) {
  Matrices m{.x = product_rows(p.x),
             .residual = p.residual.defined() ? product_rows(p.residual) : Tensor(),
             .weight = p.weight,
             .bias = p.bias,
             .shape = {}};
  int64_t alignment = std::min(alignment_of(m.x), alignment_of(m.weight));
  if (m.residual.defined()) alignment = std::min(alignment, alignment_of(m.residual));
  m.shape = {.device = m.x.device().index(),
             .dtype = static_cast<int64_t>(m.x.scalar_type()),
             .rows = m.x.size(0),
             .in = m.x.size(1),
             .out = m.weight.size(0),
             .x_stride = m.x.stride(0),
             .residual_stride = m.residual.defined() ? m.residual.stride(0) : 0,
             .alignment = alignment,
             .gelu = p.gelu};
  return m;
}

cublasLtHandle_t handle_of(int64_t device) {
  static std::mutex mutex;
  static std::map<int64_t, cublasLtHandle_t> handles;  // of the whole program
  const std::lock_guard lock(mutex);
  cublasLtHandle_t& handle = handles[device];
  if (!handle) check(cublasLtCreate(&handle), "create");
  return handle;
}

// The product as cuBLASLt sees it: column-major, so out^T [N, M] = weight x^T.
class Plan {
 public:
  explicit Plan(const Shape& s) : shape_(s), handle_(handle_of(s.device)) {
    const bool bfloat16 = s.dtype == static_cast<int64_t>(at::kBFloat16);
    const cudaDataType_t dtype = bfloat16 ? CUDA_R_16BF : CUDA_R_16F;
    cublasLtMatmulDesc_t operation = nullptr;
    check(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), "operation");
    operation_.reset(operation);
    set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE,
        s.gelu ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_BIAS);
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, dtype);
    const auto layout = [&](int64_t rows, int64_t columns, int64_t stride) {
      cublasLtMatrixLayout_t made = nullptr;
      check(cublasLtMatrixLayoutCreate(&made, dtype, rows, columns, stride), "layout");
      return Layout(made);
    };
    weight_ = layout(s.in, s.out, s.in);
    x_ = layout(s.in, s.rows, s.x_stride);
    residual_ = layout(s.out, s.rows, s.residual_stride ? s.residual_stride : s.out);
    out_ = layout(s.out, s.rows, s.out);
  }

  std::vector<Algorithm> algorithms() const {
    std::vector<Algorithm> all;
    for (const size_t workspace : {size_t{0}, kWorkspaceBytes}) {
      cublasLtMatmulPreference_t made = nullptr;
      check(cublasLtMatmulPreferenceCreate(&made), "preference");
      const Preference preference(made);
      const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t what, auto value) {
        check(cublasLtMatmulPreferenceSetAttribute(made, what, &value, sizeof value), "preference");
      };
      const auto alignment = static_cast<uint32_t>(shape_.alignment);
      prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace);
      prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment);
      prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment);
      prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment);
      prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE});
      Algorithm found[kMostTried];
      int count = 0;
      const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
          handle_, operation_.get(), weight_.get(), x_.get(), residual_.get(), out_.get(), made,
          kMostTried, found, &count);
      if (status != CUBLAS_STATUS_SUCCESS) continue;
      // With a workspace allowed, those that need none come again.
      std::copy_if(found, found + count, std::back_inserter(all),
                   [&](const auto& a) { return workspace == 0 || a.workspaceSize > 0; });
    }
    if (all.empty()) {
      fail("cuBLASLt has no product of {} x {} by {} x {}", shape_.rows, shape_.in, shape_.in,
           shape_.out);
    }
    return all;
  }

  Tensor workspace(const Algorithm& algorithm, const Tensor& like) const {
    if (algorithm.workspaceSize == 0) return {};
    return at::empty({static_cast<int64_t>(algorithm.workspaceSize)},
                     like.options().dtype(at::kByte));
  }

  void run(const Matrices& m, const Tensor& weight, const Algorithm& algorithm,
           const Tensor& workspace, const Tensor& out) {
    const float one = 1.0f, beta = m.residual.defined() ? 1.0f : 0.0f;
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, m.bias.const_data_ptr());
    const void* residual = m.residual.defined() ? m.residual.const_data_ptr() : out.data_ptr();
    check(cublasLtMatmul(handle_, operation_.get(), &one, weight.const_data_ptr(), weight_.get(),
                         m.x.const_data_ptr(), x_.get(), &beta, residual, residual_.get(),
                         out.data_ptr(), out_.get(), &algorithm.algo,
                         workspace.defined() ? workspace.data_ptr() : nullptr,
                         algorithm.workspaceSize, c10::cuda::getCurrentCUDAStream()),
          "product");
  }

 private:
  template <typename T>
  void set(cublasLtMatmulDescAttributes_t what, T value) {
    check(cublasLtMatmulDescSetAttribute(operation_.get(), what, &value, sizeof value),
          "operation");
  }

  Shape shape_;
  cublasLtHandle_t handle_;
  Operation operation_;
  Layout weight_, x_, residual_, out_;
};

struct Event {
  Event() { C10_CUDA_CHECK(cudaEventCreate(&event)); }
  ~Event() { cudaEventDestroy(event); }
  Event(const Event&) = delete;
  void record() const { C10_CUDA_CHECK(cudaEventRecord(event, c10::cuda::getCurrentCUDAStream())); }

  cudaEvent_t event = nullptr;
};

// Several products in a row, recorded: small ones take less time than their launch from here.
struct Repeated {
  Repeated(Plan& plan, const Matrices& m, const Algorithm& algorithm,
           const std::vector<Tensor>& weights, const Tensor& out)
      : workspace(plan.workspace(algorithm, out)) {
    const c10::cuda::CUDAStream stream = c10::cuda::getCurrentCUDAStream();
    plan.run(m, weights[0], algorithm, workspace, out);  // kernels are loaded outside a recording
    C10_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (const Tensor& weight : weights) plan.run(m, weight, algorithm, workspace, out);
    C10_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    C10_CUDA_CHECK(cudaGraphInstantiate(&launched, graph, 0));
  }
  ~Repeated() {
    cudaGraphExecDestroy(launched);
    cudaGraphDestroy(graph);
  }
  Repeated(const Repeated&) = delete;

  // Milliseconds, of the quickest of a few.
  float time() const {
    constexpr int kRuns = 4;
    const Event begin, end;
    float quickest = std::numeric_limits<float>::max();
    for (int run = 0; run < kRuns; ++run) {
      begin.record();
      C10_CUDA_CHECK(cudaGraphLaunch(launched, c10::cuda::getCurrentCUDAStream()));
      end.record();
      C10_CUDA_CHECK(cudaEventSynchronize(end.event));
      float milliseconds = 0;
      C10_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin.event, end.event));
      quickest = std::min(quickest, milliseconds);
    }
    return quickest;
  }

  Tensor workspace;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t launched = nullptr;
};

bool is_recording() {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  C10_CUDA_CHECK(cudaStreamIsCapturing(c10::cuda::getCurrentCUDAStream(), &status));
  return status != cudaStreamCaptureStatusNone;
}

// On Hopper each of them sums an element over K in the same order, so that the quickest may be
// taken: the bits do not depend on which it is. Elsewhere the first proposal is.
bool may_choose(int64_t device) {
  int major = 0;
  C10_CUDA_CHECK(
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, static_cast<int>(device)));
  return major == 9;
}

// Weights come from memory each time, as in a model, whose layers' do not fit the cache together.
Algorithm quickest(Plan& plan, const Matrices& m, const Tensor& out) {
  constexpr int64_t kCacheBytes = int64_t{64} << 20;
  constexpr size_t kFewest = 4, kMost = 24;
  std::vector<Tensor> weights = {m.weight};
  const auto bytes = static_cast<int64_t>(m.weight.nbytes());
  while (weights.size() < kMost && static_cast<int64_t>(weights.size()) * bytes < kCacheBytes) {
    weights.push_back(m.weight.clone());
  }
  while (weights.size() < kFewest) weights.push_back(m.weight);
  C10_CUDA_CHECK(cudaStreamSynchronize(c10::cuda::getCurrentCUDAStream()));
  // The default stream cannot be recorded.
  const c10::cuda::CUDAStreamGuard stream(c10::cuda::getStreamFromPool());
  const auto all = plan.algorithms();
  auto best = all.front();
  float least = std::numeric_limits<float>::max();
  for (const auto& algorithm : all) {
    const float time = Repeated(plan, m, algorithm, weights, out).time();
    if (time < least) least = time, best = algorithm;
  }
  return best;
}

// What was chosen for each shape, for as long as the program runs. A shape that comes only once, as
// of a text of some length, gets the first proposal: timing takes longer than it.
class Choices {
 public:
  Algorithm of(Plan& plan, const Matrices& m, const Tensor& out) {
    const std::lock_guard lock(mutex_);
    const auto [known, is_new] = choices_.try_emplace(m.shape);
    Choice& choice = known->second;
    if (is_new) {
      choice = {plan.algorithms().front(), !may_choose(m.shape.device)};
    } else if (!choice.final && !is_recording()) {  // while recording, nothing can be timed
      choice = {quickest(plan, m, out), true};
    }
    return choice.algorithm;
  }

 private:
  struct Choice {
    Algorithm algorithm;
    bool final;
  };
  std::mutex mutex_;
  std::map<Shape, Choice> choices_;
};

}  // namespace

bool cuda_product_takes(const Product& p) {
  const at::ScalarType dtype = p.x.scalar_type();
  const auto fits = [&](const Tensor& x) { return x.scalar_type() == dtype && x.is_cuda(); };
  return p.x.is_cuda() && (dtype == at::kBFloat16 || dtype == at::kHalf) && fits(p.weight) &&
         fits(p.bias) && (!p.residual.defined() || (fits(p.residual) && !p.gelu)) &&
         p.weight.is_contiguous() && p.bias.is_contiguous() && p.x.numel() > 0 &&
         p.weight.size(0) % kTogether == 0 && p.weight.size(1) % kTogether == 0 &&
         alignment_of(p.weight) >= 16 && alignment_of(p.bias) >= 16;
}

Tensor cuda_multiplied(const Product& p) {
  static Choices choices;
  const c10::cuda::CUDAGuard guard(p.x.device());
  const Matrices m = matrices_of(p);
  const Tensor out = new_product(p.x, p.weight);
  Plan plan(m.shape);
  const Algorithm algorithm = choices.of(plan, m, out);
  plan.run(m, m.weight, algorithm, plan.workspace(algorithm, out), out);
  return out;
}

std::vector<Tensor> cuda_multiplied_by_each(const Product& p) {
  const c10::cuda::CUDAGuard guard(p.x.device());
  const Matrices m = matrices_of(p);
  Plan plan(m.shape);
  std::vector<Tensor> all;
  for (const auto& algorithm : plan.algorithms()) {
    all.push_back(new_product(p.x, p.weight));
    plan.run(m, m.weight, algorithm, plan.workspace(algorithm, m.x), all.back());
  }
  return all;
}

}  // namespace perceiver
