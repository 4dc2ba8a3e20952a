// What every verb that runs a model takes, and a model that is ready to run.
#pragma once

#include <ATen/core/grad_mode.h>

#include <string>

#include "perceiver/core/standard_input.h"
#include "perceiver/kernels/run.h"
#include "perceiver/zoo/model.h"

namespace CLI {
class App;
}

namespace perceiver {

struct SessionOptions {
  std::string model, semantics, device = "auto", dtype = "auto", kernel = "auto";
  int64_t threads = 0;  // 0: as many as LibTorch takes
  int64_t seed = 0;
  bool quiet = false, verbose = false;
  bool fingerprint = false;  // set by verbs that need to know which model it is
};

// -m, --semantics, -v and add_compute_options(). `default_model` is the shipped one of the verb's
// domain, taken when -m is not given; empty: -m must be given.
void add_session_options(CLI::App& command, SessionOptions& options,
                         const std::string& default_model);

// --device, --dtype, --attention, --threads, --seed, -q
void add_compute_options(CLI::App& command, SessionOptions& options);

// Threads, seed and what is said, for the rest of the program; the attention kernel for this
// thread, as long as the scope lives.
[[nodiscard]] RunScope set_up(const SessionOptions& options);

// The model in its place: on the device, in the dtype, in evaluation mode. As long as it lives,
// gradients are off on this thread (others take run_of_this_thread() over), and attention gets the
// kernel that was asked for. One line on stderr says what is run.
struct Session {
  explicit Session(const SessionOptions& options);

  Model model;
  at::Device device;
  at::ScalarType dtype;

 private:
  at::NoGradGuard no_gradients_;
  RunScope run_;
};

// "auto", "cpu", "cuda", "cuda:1" as a device that is there.
at::Device device_argument(const std::string& value);

// "auto" as the dtype that is best on the device.
at::ScalarType session_dtype(const std::string& value, at::Device device);
std::string dtype_word(at::ScalarType dtype);
std::string threads_word();  // "2 threads"

// What computes a model's attention in a place such as this: "streamed" or "wide, resident".
std::string kernels_of(const ModelSummary& summary, const AttendPlace& place);

// Something worth knowing that is no error, on stderr unless -q was given.
void note(const std::string& message);

}  // namespace perceiver
