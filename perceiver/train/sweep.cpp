#include "perceiver/train/sweep.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <list>
#include <memory>
#include <thread>

#include "perceiver/core/child_process.h"
#include "perceiver/core/error.h"
#include "perceiver/core/lines.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Job {
  SweptRun& run;
  size_t device;
  uintmax_t log_begin;  // of what it says itself: a resumed run adds to its log
  double seconds_before;
  bool from_the_beginning;
  Clock::time_point began;
  std::unique_ptr<ChildProcess> process;
};

// The line of the log in which the program says why it ends; else how it ended.
std::string reason(const fs::path& log, uintmax_t begin, int code) {
  const std::string text = fs::exists(log) ? read_file(log).bytes : "";
  for (const std::string& line : lines_of(text.substr(std::min<size_t>(begin, text.size())))) {
    constexpr std::string_view kComplaint = "perceiver: ";
    if (line.starts_with(kComplaint)) return line.substr(kComplaint.size());
  }
  if (code == 128 + SIGKILL) return "it was killed, as the system does when memory runs out";
  if (code > 128) return fmt::format("it was ended by signal {}", code - 128);
  return fmt::format("it ended with code {}", code);
}

class Jobs {
 public:
  Jobs(SweepFolder& folder, const SweepOptions& options) : folder_(folder), options_(options) {
    for (SweptRun& run : folder.runs()) {
      if (run.state != RunState::kFinished) waiting_.push_back(&run);
    }
  }

  int run() {
    folder_.write_results();
    for (;;) {
      if (signal_ == 0) signal_ = options_.stop(), pass_on();
      while (signal_ == 0 && !waiting_.empty() &&
             std::ssize(jobs_) < std::max<int64_t>(1, options_.jobs)) {
        start(*waiting_.front());
        waiting_.pop_front();
      }
      if (jobs_.empty()) return signal_;
      std::this_thread::sleep_for(20ms);
      collect();
    }
  }

 private:
  void pass_on() {
    if (signal_ == 0) return;
    for (const Job& job : jobs_) job.process->send(signal_);
  }

  // The one with the fewest runs.
  size_t free_device() const {
    std::vector<int64_t> runs(options_.devices.size());
    for (const Job& job : jobs_) ++runs[job.device];
    return std::ranges::min_element(runs) - runs.begin();
  }

  void start(SweptRun& run) {
    const size_t device = free_device();
    const fs::path log = folder_.log(run);
    std::error_code ignored;
    const uintmax_t begin = fs::exists(log, ignored) ? fs::file_size(log, ignored) : 0;
    const std::vector<std::string> words = {
        options_.program,   "train",
        "--resume",         folder_.run_folder(run).string(),
        "--device",         options_.devices[device],
        "--threads",        std::to_string(options_.threads),
        "--loader-threads", std::to_string(options_.loader_threads)};
    run.error.clear();
    run.state = RunState::kRunning;
    jobs_.push_back({.run = run,
                     .device = device,
                     .log_begin = begin,
                     .seconds_before = run.seconds,
                     .from_the_beginning = run.steps == 0,
                     .began = Clock::now(),
                     .process = std::make_unique<ChildProcess>(words, log)});
    options_.started(run);
  }

  void collect() {
    for (auto job = jobs_.begin(); job != jobs_.end();) {
      const std::optional<int> code = job->process->ended();
      if (!code) {
        ++job;
        continue;
      }
      Job done = std::move(*job);
      job = jobs_.erase(job);
      finish(done, *code);
    }
  }

  void finish(Job& job, int code) {
    SweptRun& run = job.run;
    const double spent = seconds_since(job.began);
    run.seconds = job.seconds_before + spent;
    folder_.look_at(run);
    const bool asked = signal_ != 0 && code == 128 + signal_;
    run.state = code == 0 ? RunState::kFinished : asked ? RunState::kStopped : RunState::kFailed;
    if (run.state == RunState::kFailed) run.error = reason(folder_.log(run), job.log_begin, code);
    if (code == 0 && job.from_the_beginning) whole_runs_.push_back(spent);
    for (Job& other : jobs_) {
      other.run.seconds = other.seconds_before + seconds_since(other.began);
      folder_.look_at(other.run);
    }
    folder_.write_results();
    options_.ended(run, rest());
  }

  // As if those that are left took as long as those that are done.
  RestOfSweep rest() const {
    RestOfSweep rest{.runs = std::ssize(waiting_) + std::ssize(jobs_)};
    if (whole_runs_.empty() || rest.runs == 0) return rest;
    double sum = 0.0;
    for (const double one : whole_runs_) sum += one;
    const double mean = sum / static_cast<double>(whole_runs_.size());
    double work = mean * static_cast<double>(waiting_.size()), longest = 0.0;
    for (const Job& job : jobs_) {
      const double left = std::max(0.0, mean - seconds_since(job.began));
      work += left;
      longest = std::max(longest, left);
    }
    if (!waiting_.empty()) longest = std::max(longest, mean);
    rest.seconds =
        std::max(longest, work / static_cast<double>(std::max<int64_t>(1, options_.jobs)));
    return rest;
  }

  SweepFolder& folder_;
  const SweepOptions& options_;
  std::list<SweptRun*> waiting_;
  std::list<Job> jobs_;
  std::vector<double> whole_runs_;  // seconds
  int signal_ = 0;
};

}  // namespace

int run_all(SweepFolder& folder, const SweepOptions& options) {
  return Jobs(folder, options).run();
}

}  // namespace perceiver
