// Models behind a queue. One thread computes what requests ask of them, in the order they came;
// what waits and can be computed together is. Long work of jobs lets it pass, attention by
// attention.
#pragma once

#include <ATen/core/TensorBody.h>

#include <atomic>
#include <deque>
#include <exception>
#include <functional>
#include <thread>

#include "perceiver/serve/metrics.h"
#include "perceiver/serve/served_model.h"
#include "perceiver/serve/turns.h"

namespace perceiver {

struct EngineOptions {
  at::Device device = at::kCPU;
  at::ScalarType dtype = at::kFloat;
  std::string kernel = "auto";  // of attention
  int64_t threads = 0;          // 0: as many as LibTorch takes
  int64_t most_rows = 16;       // that are computed together
};

// What a request spends, in seconds.
struct Spent {
  double queue = 0.0, model = 0.0;
};

// What is asked of a model, by whoever waits for it.
struct Work {
  using Pass = std::function<Example(Model& model, const Example& inputs)>;

  ServedModel& model;
  Pass pass;
  // Works of one kind, of one model, whose arrays are of the same sizes but for their rows, are one
  // pass over all their rows. Empty: a pass of its own, of any inputs.
  std::string kind = {};
  Example inputs = {};

  Example outputs = {};
  Spent spent = {};
};

class Engine {
 public:
  // Loads the models on a thread of its own; meanwhile there is none.
  Engine(EngineOptions options, std::vector<ServedModel> models, ServerMetrics& metrics);
  ~Engine();  // once all that waits is computed
  Engine(const Engine&) = delete;

  enum class State { kLoading, kReady, kFailed };
  State state() const { return state_; }
  std::exception_ptr failure() const { return failure_; }  // of a model that cannot be loaded
  void wait_until_loaded() const;

  std::vector<ServedModel>& models() { return models_; }  // once it is ready
  const EngineOptions& options() const { return options_; }

  // Returns when they are done, with the first error of a pass, if any.
  void run(std::span<Work> works);

  // The same of any function of a model -> what it spent.
  Spent run(ServedModel& model, const std::function<void(Model& model)>& work);

  // On the calling thread, in turns with what waits. `go_on` hears how far it has come, 0 to 1, and
  // says whether it is to go on -> whether it came to its end.
  using LongWork = std::function<void(Model& model, const Hooks& hooks)>;
  bool run_long(ServedModel& model, const LongWork& work,
                const std::function<bool(double share)>& go_on);

  int64_t waiting() const;

 private:
  struct Waiting;

  void live();
  void load_all();
  std::vector<Waiting*> next();  // those that are computed together; none: it is to end
  void compute(const std::vector<Waiting*>& together);
  static std::exception_ptr pass_of(const std::vector<Waiting*>& together);

  const EngineOptions options_;
  std::vector<ServedModel> models_;
  ServerMetrics& metrics_;
  std::atomic<State> state_ = State::kLoading;
  std::exception_ptr failure_;

  Turns turns_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting*> queue_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace perceiver
