// What the benches of the CUDA kernels share: arrays on the device, claims, times.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "perceiver/kernels/cuda/dtype.h"

namespace perceiver::bench {

// Ends the program where a call to CUDA failed.
#define CUDA_OK(call) ::perceiver::bench::cuda_ok((call), #call, __FILE__, __LINE__)
void cuda_ok(cudaError_t error, const char* call, const char* file, int line);

size_t bytes_of(CudaDtype dtype);
const char* name_of(CudaDtype dtype);
float rounded(CudaDtype dtype, float x);  // to the nearest number of the dtype
// A unit in the last place of a number near 1, and what float32 sums add to it.
double tolerance(CudaDtype dtype);

// Elements of one dtype on the device, with a margin behind them that nothing may write to. They
// start as NaN, so that what was not written is seen.
class DeviceArray {
 public:
  DeviceArray(CudaDtype dtype, int64_t count, int64_t offset = 0);  // offset: to be misaligned
  ~DeviceArray();
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray(DeviceArray&& other) noexcept;

  void* data() const;
  float* floats() const { return static_cast<float*>(data()); }
  int64_t count() const { return count_; }
  void set(const std::vector<float>& values);  // repeated until the array is full
  std::vector<float> get() const;
  bool margin_is_untouched() const;

 private:
  CudaDtype dtype_;
  int64_t count_, offset_;
  uint8_t* memory_ = nullptr;
};

// Normally distributed; another sequence at each call.
std::vector<float> random_values(int64_t count, float mean = 0, float deviation = 1);

// One line of "pass" or "FAIL" for each section, and the first few claims that did not hold.
void begin_section(const char* name);
void expect(bool holds, const char* format, ...);
void expect_near(const std::vector<float>& got, const std::vector<double>& expected,
                 double relative, double absolute, const char* where);
bool end_section();  // whether all held

// A graph of what `launch` puts on the stream.
class Replay {
 public:
  explicit Replay(const std::function<void(cudaStream_t)>& launch);
  ~Replay();
  Replay(const Replay&) = delete;
  float run();  // once, to its end -> milliseconds

 private:
  cudaStream_t stream_;
  cudaGraph_t graph_;
  cudaGraphExec_t exec_;
  cudaEvent_t begin_, end_;
};

// Median microseconds of one launch(i), from replays of a graph that holds i = 0 to launches - 1.
double microseconds(int launches, const std::function<void(int, cudaStream_t)>& launch);
void print_time(const char* name, double microseconds, double bytes);
double copy_rate();  // bytes read and written a second, by a large copy

// What main() does with its words: both, or what the first one says, "check" or "time".
int check_and_time(int count, char** words, bool (*check)(), void (*time)());

bool check_rows();
void time_rows();
bool check_attention_pieces();
void time_attention_pieces();
bool check_optimizer();
void time_optimizer();

}  // namespace perceiver::bench
