#include "perceiver/serve/engine.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <chrono>

#include "perceiver/core/processors.h"
#include "perceiver/kernels/attention/attention.h"
#include "perceiver/kernels/run.h"
#include "perceiver/tasks/hooks.h"

namespace perceiver {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int64_t rows_of(const Example& inputs) {
  return inputs.empty() ? 1 : inputs.begin()->second.size(0);
}

bool same_but_rows(const Example& a, const Example& b) {
  if (a.size() != b.size()) return false;
  for (auto x = a.begin(), y = b.begin(); x != a.end(); ++x, ++y) {
    const Tensor &s = x->second, &t = y->second;
    if (x->first != y->first || s.dtype() != t.dtype() || s.dim() != t.dim() ||
        s.sizes().slice(1) != t.sizes().slice(1)) {
      return false;
    }
  }
  return true;
}

// Ends a pass from the inside.
struct Cancelled {};

}  // namespace

struct Engine::Waiting {
  explicit Waiting(Work& asked) : work(asked) {}

  Work& work;
  const Clock::time_point since = Clock::now();
  std::exception_ptr error = {};
  bool done = false;
  std::condition_variable ready = {};

  bool goes_with(const Waiting& other) const {
    return !work.kind.empty() && work.kind == other.work.kind && &work.model == &other.work.model &&
           same_but_rows(work.inputs, other.work.inputs);
  }
};

Engine::Engine(EngineOptions options, std::vector<ServedModel> models, ServerMetrics& metrics)
    : options_(std::move(options)), models_(std::move(models)), metrics_(metrics) {
  thread_ = std::thread([this] { live(); });
}

Engine::~Engine() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Engine::wait_until_loaded() const { state_.wait(State::kLoading); }

void Engine::load_all() {
  try {
    for (ServedModel& served : models_) {
      load(served, options_.device, options_.dtype);
      const std::lock_guard lock(mutex_);
      if (ending_) return;
    }
    state_ = State::kReady;
  } catch (...) {
    failure_ = std::current_exception();
    state_ = State::kFailed;
  }
  state_.notify_all();
}

void Engine::live() {
  const at::NoGradGuard no_gradients;
  use_threads(options_.threads);
  const RunScope scope([&](Run& run) { run.kernel = options_.kernel; });
  load_all();
  for (;;) {
    const std::vector<Waiting*> together = next();
    if (together.empty()) return;
    compute(together);
  }
}

std::vector<Engine::Waiting*> Engine::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ending_ || !queue_.empty(); });
  if (queue_.empty()) return {};
  std::vector<Waiting*> together = {queue_.front()};
  queue_.pop_front();
  int64_t rows = rows_of(together[0]->work.inputs);
  for (auto other = queue_.begin(); other != queue_.end();) {
    const int64_t more = rows_of((*other)->work.inputs);
    if (rows + more > options_.most_rows || !(*other)->goes_with(*together[0])) {
      ++other;
      continue;
    }
    rows += more;
    together.push_back(*other);
    other = queue_.erase(other);
  }
  return together;
}

void Engine::compute(const std::vector<Waiting*>& together) {
  const Clock::time_point start = Clock::now();
  std::exception_ptr error;
  {
    const Turn turn(turns_);
    error = pass_of(together);
  }
  if (error && together.size() > 1) {  // of one of them, perhaps: the others need not suffer
    for (Waiting* one : together) compute({one});
    return;
  }
  const double seconds = seconds_since(start);
  metrics_.computed(std::ssize(together), seconds);
  const std::lock_guard lock(mutex_);
  for (Waiting* one : together) {
    const double waited = std::chrono::duration<double>(start - one->since).count();
    metrics_.waited(waited);
    one->work.spent.queue += waited;
    one->work.spent.model += seconds;
    one->error = error;
    one->done = true;
    one->ready.notify_one();
  }
}

// -> why it came to nothing, if it did
std::exception_ptr Engine::pass_of(const std::vector<Waiting*>& together) {
  const Work& first = together[0]->work;
  try {
    Example inputs = first.inputs;
    if (together.size() > 1) {
      for (auto& [name, array] : inputs) {
        std::vector<Tensor> parts;
        for (const Waiting* one : together) parts.push_back(one->work.inputs.at(name));
        array = at::cat(parts);
      }
    }
    const Example outputs = first.pass(first.model.model, inputs);
    int64_t row = 0;
    for (Waiting* one : together) {
      const int64_t rows = rows_of(one->work.inputs);
      for (const auto& [name, array] : outputs) {
        one->work.outputs[name] = together.size() == 1 ? array : array.narrow(0, row, rows);
      }
      row += rows;
    }
    return {};
  } catch (...) {
    return std::current_exception();
  }
}

void Engine::run(std::span<Work> works) {
  std::deque<Waiting> all;
  std::unique_lock lock(mutex_);
  for (Work& work : works) queue_.push_back(&all.emplace_back(work));
  changed_.notify_one();
  for (Waiting& one : all) one.ready.wait(lock, [&] { return one.done; });
  for (const Waiting& one : all) {
    if (one.error) std::rethrow_exception(one.error);
  }
}

Spent Engine::run(ServedModel& model, const std::function<void(Model& model)>& work) {
  Work once{.model = model, .pass = [&](Model& loaded, const Example&) {
              work(loaded);
              return Example();
            }};
  run(std::span(&once, 1));
  return once.spent;
}

bool Engine::run_long(ServedModel& model, const LongWork& work,
                      const std::function<bool(double share)>& go_on) {
  const at::NoGradGuard no_gradients;
  use_threads(options_.threads);
  const RunScope scope([&](Run& run) { run.kernel = options_.kernel; });
  const Turn turn(turns_);
  double total = 0.0, done = 0.0, begun = 0.0;
  std::optional<AttentionCounter> counter;
  // An attention is begun when it is seen, and done when the next is.
  const auto count = [&](const AttentionCase& c, std::string_view) {
    done += begun;
    begun = static_cast<double>(c.batch) * c.heads * c.queries * c.keys *
            (c.qk_channels + c.v_channels);
    turns_.let_pass();
    if (!go_on(std::min(done / std::max(total, 1.0), 0.99))) throw Cancelled();
  };
  const Hooks hooks{.work = [&](const std::string&, double amount) {
    total = amount, done = begun = 0.0;
    counter.emplace(count);
  }};
  try {
    work(model.model, hooks);
    return true;
  } catch (const Cancelled&) {
    return false;
  }
}

int64_t Engine::waiting() const {
  const std::lock_guard lock(mutex_);
  return std::ssize(queue_);
}

}  // namespace perceiver
