// What every verb that runs a model takes, and a model that is ready to run.
#pragma once

#include <string>

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

// Threads, seed, attention kernel and what is said, for the rest of the program.
void set_up(const SessionOptions& options);

// The model in its place: on the device, in the dtype, in evaluation mode. Gradients are off from
// here on, in the whole program, and one line on stderr says what is run.
struct Session {
  explicit Session(const SessionOptions& options);

  Model model;
  std::string fingerprint;  // where the options ask for it
  at::Device device;
  at::ScalarType dtype;
};

// "auto", "cpu", "cuda", "cuda:1" as a device that is there.
at::Device device_argument(const std::string& value);

// "auto" as the dtype that is best on the device.
at::ScalarType session_dtype(const std::string& value, at::Device device);
std::string dtype_word(at::ScalarType dtype);
std::string threads_word();  // "2 threads"

// The kernels that a model's attention gets in a place such as this: "tiled" or "tiled, reference".
std::string kernels_of(const ModelSummary& summary, const AttentionCase& place);

// `value` as a file to read, where "-" is the standard input.
File read_input(const std::string& value);

// Something worth knowing that is no error, on stderr unless -q was given.
void note(const std::string& message);

}  // namespace perceiver
