// Work that takes minutes: begun by a request, followed by others, cancelled by a third.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "perceiver/http/message.h"

namespace perceiver {

struct JobTask {
  std::string kind;  // "autoencode"
  // Writes its result into the folder, which is its own, and says how far it has come -> what is
  // told of the result; nothing: it was told not to go on. Fails with an Error.
  std::function<std::optional<nlohmann::ordered_json>(const std::filesystem::path& folder,
                                                      const std::function<bool(double)>& go_on)>
      run;
  std::string result = "result.mp4";  // the file in the folder
};

class Jobs {
 public:
  struct Options {
    size_t most_waiting = 8, most_kept = 32;
    double kept_seconds = 3600.0;  // that one which has ended stays
  };
  Jobs() : Jobs(Options{}) {}
  explicit Jobs(const Options& options);
  ~Jobs();  // those that wait or run are cancelled
  Jobs(const Jobs&) = delete;

  // -> its id; nothing where too many wait.
  std::optional<std::string> begin(JobTask task);

  std::optional<nlohmann::ordered_json> status(const std::string& id);
  // Its events, as a stream of a response; nothing where there is no such job.
  std::optional<std::function<EventPoll()>> events(const std::string& id);
  // The path of its result; empty where it has none.
  std::filesystem::path result(const std::string& id);
  bool forget(const std::string& id);  // ends it first

  int64_t unfinished();
  void cancel_all();

 private:
  struct Job;
  using Clock = std::chrono::steady_clock;

  void live();
  void work_at(const std::shared_ptr<Job>& job);
  void let_go_of_old();
  std::shared_ptr<Job> find(const std::string& id);

  const Options options_;
  std::filesystem::path folder_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<Job>> jobs_;
  std::deque<std::shared_ptr<Job>> waiting_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace perceiver
