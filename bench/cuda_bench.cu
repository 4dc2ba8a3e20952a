#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <utility>

#include "bench/cuda_bench.h"

namespace perceiver::bench {
namespace {

constexpr int64_t kMargin = 256;  // bytes

const char* section = "";
int checked = 0, failed = 0;

template <typename T>
std::vector<T> converted(const std::vector<float>& values) {
  std::vector<T> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(), [](float x) { return T(x); });
  return result;
}

std::vector<uint8_t> packed(CudaDtype dtype, const std::vector<float>& values) {
  std::vector<uint8_t> bytes(values.size() * bytes_of(dtype));
  const auto copy = [&](const auto& typed) {
    std::memcpy(bytes.data(), typed.data(), bytes.size());
  };
  if (dtype == CudaDtype::kFloat32) copy(values);
  if (dtype == CudaDtype::kBFloat16) copy(converted<__nv_bfloat16>(values));
  if (dtype == CudaDtype::kFloat16) copy(converted<__half>(values));
  return bytes;
}

template <typename T>
std::vector<float> unpacked(const std::vector<uint8_t>& bytes) {
  std::vector<T> typed(bytes.size() / sizeof(T));
  std::memcpy(typed.data(), bytes.data(), bytes.size());
  return {typed.begin(), typed.end()};
}

}  // namespace

void cuda_ok(cudaError_t error, const char* call, const char* file, int line) {
  if (error == cudaSuccess) return;
  std::printf("%s:%d: %s: %s\n", file, line, call, cudaGetErrorString(error));
  std::exit(2);
}

size_t bytes_of(CudaDtype dtype) { return dtype == CudaDtype::kFloat32 ? 4 : 2; }

const char* name_of(CudaDtype dtype) {
  constexpr const char* kNames[] = {"float32", "bf16", "fp16"};
  return kNames[static_cast<int>(dtype)];
}

float rounded(CudaDtype dtype, float x) {
  if (dtype == CudaDtype::kBFloat16) return static_cast<float>(__nv_bfloat16(x));
  return dtype == CudaDtype::kFloat16 ? static_cast<float>(__half(x)) : x;
}

double tolerance(CudaDtype dtype) {
  constexpr double kUnits[] = {4e-6, 1.0 / 256, 1.0 / 1024};
  return kUnits[static_cast<int>(dtype)];
}

DeviceArray::DeviceArray(CudaDtype dtype, int64_t count, int64_t offset)
    : dtype_(dtype), count_(count), offset_(offset) {
  const size_t bytes = (offset + count) * bytes_of(dtype) + kMargin;
  CUDA_OK(cudaMalloc(&memory_, bytes));
  CUDA_OK(cudaMemset(memory_, 0xff, bytes));
}
DeviceArray::~DeviceArray() { cudaFree(memory_); }
DeviceArray::DeviceArray(DeviceArray&& other) noexcept
    : dtype_(other.dtype_),
      count_(other.count_),
      offset_(other.offset_),
      memory_(std::exchange(other.memory_, nullptr)) {}

void* DeviceArray::data() const { return memory_ + offset_ * bytes_of(dtype_); }

void DeviceArray::set(const std::vector<float>& values) {
  std::vector<uint8_t> bytes = packed(dtype_, values);
  const size_t all = count_ * bytes_of(dtype_);
  // A copy of a few bytes takes as long as one of many.
  while (bytes.size() < std::min(all, size_t{1} << 20)) {
    const size_t size = bytes.size();
    bytes.resize(2 * size);
    std::copy_n(bytes.begin(), size, bytes.begin() + size);
  }
  for (size_t at = 0; at < all; at += bytes.size()) {
    CUDA_OK(cudaMemcpy(static_cast<uint8_t*>(data()) + at, bytes.data(),
                       std::min(bytes.size(), all - at), cudaMemcpyHostToDevice));
  }
}

std::vector<float> DeviceArray::get() const {
  std::vector<uint8_t> bytes(count_ * bytes_of(dtype_));
  CUDA_OK(cudaMemcpy(bytes.data(), data(), bytes.size(), cudaMemcpyDeviceToHost));
  if (dtype_ == CudaDtype::kBFloat16) return unpacked<__nv_bfloat16>(bytes);
  if (dtype_ == CudaDtype::kFloat16) return unpacked<__half>(bytes);
  return unpacked<float>(bytes);
}

bool DeviceArray::margin_is_untouched() const {
  std::vector<uint8_t> bytes(kMargin);
  const uint8_t* end = static_cast<uint8_t*>(data()) + count_ * bytes_of(dtype_);
  CUDA_OK(cudaMemcpy(bytes.data(), end, kMargin, cudaMemcpyDeviceToHost));
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b == 0xff; });
}

std::vector<float> random_values(int64_t count, float mean, float deviation) {
  static std::mt19937 generator(1);
  std::normal_distribution<float> normal(mean, deviation);
  std::vector<float> values(count);
  for (float& x : values) x = normal(generator);
  return values;
}

void begin_section(const char* name) {
  section = name;
  checked = failed = 0;
}

void expect(bool holds, const char* format, ...) {
  ++checked;
  if (holds || ++failed > 5) return;
  std::printf("  %s: not so: ", section);
  va_list arguments;
  va_start(arguments, format);
  std::vprintf(format, arguments);
  va_end(arguments);
  std::printf("\n");
}

void expect_near(const std::vector<float>& got, const std::vector<double>& expected,
                 double relative, double absolute, const char* where) {
  if (got.size() != expected.size()) return expect(false, "%s: %zu values", where, got.size());
  size_t bad = 0, first = 0;
  for (size_t i = got.size(); i-- > 0;) {
    // Also false for NaN.
    if (std::abs(got[i] - expected[i]) <= absolute + relative * std::abs(expected[i])) continue;
    first = i;
    ++bad;
  }
  expect(bad == 0, "%s: %zu of %zu wrong; at %zu: %.9g, expected %.9g", where, bad, got.size(),
         first, bad > 0 ? got[first] : 0.0f, bad > 0 ? expected[first] : 0.0);
}

bool end_section() {
  std::printf("%s  %s (%d claims, %d failed)\n", failed == 0 ? "pass" : "FAIL", section, checked,
              failed);
  return failed == 0;
}

Replay::Replay(const std::function<void(cudaStream_t)>& launch) {
  CUDA_OK(cudaStreamCreate(&stream_));
  CUDA_OK(cudaEventCreate(&begin_));
  CUDA_OK(cudaEventCreate(&end_));
  CUDA_OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
  launch(stream_);
  CUDA_OK(cudaStreamEndCapture(stream_, &graph_));
  CUDA_OK(cudaGraphInstantiate(&exec_, graph_, 0));
}

Replay::~Replay() {
  cudaGraphExecDestroy(exec_);
  cudaGraphDestroy(graph_);
  cudaEventDestroy(begin_);
  cudaEventDestroy(end_);
  cudaStreamDestroy(stream_);
}

float Replay::run() {
  CUDA_OK(cudaEventRecord(begin_, stream_));
  CUDA_OK(cudaGraphLaunch(exec_, stream_));
  CUDA_OK(cudaEventRecord(end_, stream_));
  CUDA_OK(cudaEventSynchronize(end_));
  float milliseconds;
  CUDA_OK(cudaEventElapsedTime(&milliseconds, begin_, end_));
  return milliseconds;
}

double microseconds(int launches, const std::function<void(int, cudaStream_t)>& launch) {
  Replay replay([&](cudaStream_t stream) {
    for (int i = 0; i < launches; ++i) launch(i, stream);
  });
  std::vector<float> times;
  for (int i = 0; i < 11; ++i) {
    const float time = replay.run();
    if (i >= 2) times.push_back(time);  // the first two warm up
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2] * 1e3 / launches;
}

double copy_rate() {
  constexpr int64_t kBytes = int64_t{1} << 30;
  const DeviceArray from(CudaDtype::kFloat32, kBytes / 4), to(CudaDtype::kFloat32, kBytes / 4);
  const double time = microseconds(4, [&](int, cudaStream_t stream) {
    CUDA_OK(cudaMemcpyAsync(to.data(), from.data(), kBytes, cudaMemcpyDeviceToDevice, stream));
  });
  return 2.0 * kBytes / (time * 1e-6);
}

void print_time(const char* name, double microseconds, double bytes) {
  static const double ceiling = copy_rate();
  const double rate = bytes / (microseconds * 1e-6);
  std::printf("%-44s %9.2f us %7.0f GB/s %4.0f%% of a copy\n", name, microseconds, rate / 1e9,
              100 * rate / ceiling);
}

int check_and_time(int count, char** words, bool (*check)(), void (*time)()) {
  const std::string what = count > 1 ? words[1] : "";
  const bool right = what == "time" || check();
  if (what != "check") time();
  return right ? 0 : 1;
}

}  // namespace perceiver::bench
