#include <ATen/ATen.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <map>

#include "perceiver/kernels/attention/attention.h"
#include "perceiver/kernels/graph_recorder.h"

namespace perceiver {
namespace {

constexpr size_t kMostRecordings = 8;  // of tensors of as many sizes; each holds memory of a pass
constexpr int64_t kIdle = 256;  // calls without a use after which a recording gives way to others

using Tensors = GraphRecorder::Tensors;
using Key = std::vector<int64_t>;

// What a recording is for: which tensors there are, their sizes and dtypes.
Key key_of(const Tensors& inputs) {
  Key key;
  for (const Tensor& x : inputs) {
    key.push_back(x.defined() ? x.dim() : -1);
    if (!x.defined()) continue;
    key.insert(key.end(), x.sizes().begin(), x.sizes().end());
    key.push_back(static_cast<int64_t>(x.scalar_type()));
  }
  return key;
}

// Kernels know addresses, and values may have been rounded or packed.
Key state_of(const Tensors& constants) {
  Key state;
  for (const Tensor& x : constants) {
    state.push_back(reinterpret_cast<int64_t>(x.const_data_ptr()));
    state.push_back(static_cast<int64_t>(x._version()));
  }
  return state;
}

struct Recording {
  int calls = 0;
  int64_t last_call = 0;  // of all calls to the recorder
  bool is_recorded = false, is_impossible = false;
  at::cuda::CUDAGraph graph;
  Tensors inputs, outputs;                   // where the graph reads and writes
  std::vector<CountedAttention> attentions;  // of each replay
};

}  // namespace

class GraphRecorder::Recordings {
 public:
  explicit Recordings(const RecordingOptions& options) : options_(options) {}

  std::optional<Tensors> replay(const Tensors& inputs, const Tensors& constants, const Pass& pass) {
    Recording* const r = recording_of(inputs, constants);
    if (r == nullptr || r->is_impossible || r->calls++ < options_.calls_before) return {};
    const c10::cuda::OptionalCUDAGuard device(device_of(inputs));
    if (!r->is_recorded) record(*r, inputs, pass);
    if (r->is_impossible) return {};
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].defined()) r->inputs[i].copy_(inputs[i], /*non_blocking=*/true);
    }
    count_attentions(r->attentions);
    r->graph.replay();
    return r->outputs;
  }

 private:
  static std::optional<c10::Device> device_of(const Tensors& inputs) {
    const auto x = std::ranges::find_if(inputs, [](const Tensor& t) { return t.defined(); });
    return x == inputs.end() ? std::nullopt : std::optional(x->device());
  }

  // Null where there is no room.
  Recording* recording_of(const Tensors& inputs, const Tensors& constants) {
    Key state = state_of(constants);
    if (state != state_) recordings_.clear();
    state_ = std::move(state);
    Key key = key_of(inputs);
    ++calls_;
    if (!recordings_.contains(key) && !make_room()) return nullptr;
    Recording& r = recordings_[std::move(key)];
    r.last_call = calls_;
    return &r;
  }

  // Sizes seen too seldom to be recorded give way to new ones, then the one unused for longest.
  bool make_room() {
    if (recordings_.size() < kMostRecordings) return true;
    const auto is_begun = [](const auto& item) {
      return !item.second.is_recorded && !item.second.is_impossible;
    };
    if (std::erase_if(recordings_, is_begun) > 0) return true;
    const auto oldest = std::ranges::min_element(
        recordings_, {}, [](const auto& item) { return item.second.last_call; });
    if (calls_ - oldest->second.last_call < kIdle) return false;
    recordings_.erase(oldest);
    return true;
  }

  // The allocator forgets memory that graphs shared when the last of them goes.
  at::cuda::MempoolId_t memory() {
    if (!options_.is_large) return {0, 0};
    const auto is_recorded = [](const auto& item) { return item.second.is_recorded; };
    if (std::ranges::none_of(recordings_, is_recorded)) shared_ = at::cuda::graph_pool_handle();
    return shared_;
  }

  void record(Recording& r, const Tensors& inputs, const Pass& pass) {
    for (const Tensor& x : inputs) r.inputs.push_back(x.defined() ? x.clone() : x);
    const at::cuda::MempoolId_t memory = this->memory();
    c10::cuda::device_synchronize();
    if (options_.is_large) c10::cuda::CUDACachingAllocator::emptyCache();
    const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool();
    const c10::cuda::CUDAStreamGuard guard(stream);
    if (!options_.is_large) {
      attentions_of([&] { pass(r.inputs); });  // it is the replay that counts
      stream.synchronize();
    }
    capture(r, pass, memory);
    c10::cuda::device_synchronize();
  }

  static void capture(Recording& r, const Pass& pass, at::cuda::MempoolId_t memory) {
    r.graph.capture_begin(memory, cudaStreamCaptureModeThreadLocal);
    try {
      r.attentions = attentions_of([&] { r.outputs = pass(r.inputs); });
      r.graph.capture_end();
      r.is_recorded = true;
    } catch (const std::exception&) {
      try {
        r.graph.capture_end();
      } catch (const std::exception&) {  // the failed recording, once more
      }
      r.is_impossible = true;
      r.outputs.clear();
    }
  }

  const RecordingOptions options_;
  Key state_;
  at::cuda::MempoolId_t shared_ = {0, 0};
  std::map<Key, Recording> recordings_;
  int64_t calls_ = 0;
};

GraphRecorder::GraphRecorder(const RecordingOptions& options)
    : recordings_(std::make_unique<Recordings>(options)) {}
GraphRecorder::~GraphRecorder() = default;

std::optional<Tensors> GraphRecorder::replay(const Tensors& inputs, const Tensors& constants,
                                             const Pass& pass) {
  const bool on_gpu =
      std::ranges::any_of(inputs, [](const Tensor& x) { return x.defined() && x.is_cuda(); });
  return on_gpu ? recordings_->replay(inputs, constants, pass) : std::nullopt;
}

}  // namespace perceiver
