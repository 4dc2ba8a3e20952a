#include "perceiver/serve/jobs.h"

#include <stdlib.h>

#include <algorithm>

#include "perceiver/core/error.h"
#include "perceiver/core/json_text.h"
#include "perceiver/serve/latents_store.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

fs::path new_folder() {
  std::string name = (fs::temp_directory_path() / "perceiver-serve-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) fail("{}: cannot make a folder for jobs", name);
  return name;
}

// A message that does not say where the server keeps its files.
std::string without(std::string message, const std::string& folder) {
  for (size_t at = message.find(folder); at != message.npos; at = message.find(folder)) {
    message.erase(at, folder.size());
  }
  return message;
}

}  // namespace

struct Jobs::Job {
  std::string id;
  JobTask task;
  fs::path folder;
  std::atomic<bool> cancelled = false;
  // The rest under the mutex.
  std::string status = "waiting", error = {};
  double progress = 0.0;
  Json result = {};
  Clock::time_point ended = {};

  bool has_ended() const { return status != "waiting" && status != "running"; }

  Json json() const {
    Json json = {{"id", id}, {"kind", task.kind}, {"status", status}, {"progress", progress}};
    if (!error.empty()) json["error"] = error;
    if (!result.is_null()) json["result"] = result;
    return json;
  }

  ~Job() {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
};

Jobs::Jobs(const Options& options) : options_(options), folder_(new_folder()) {
  thread_ = std::thread([this] { live(); });
}

Jobs::~Jobs() {
  cancel_all();
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  jobs_.clear();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::optional<std::string> Jobs::begin(JobTask task) {
  auto job = std::make_shared<Job>();
  job->id = new_id();
  job->folder = folder_ / job->id;
  job->task = std::move(task);
  {
    const std::lock_guard lock(mutex_);
    let_go_of_old();
    if (waiting_.size() >= options_.most_waiting || ending_) return {};
    fs::create_directories(job->folder);
    jobs_[job->id] = job;
    waiting_.push_back(job);
  }
  changed_.notify_all();
  return job->id;
}

void Jobs::live() {
  for (;;) {
    std::shared_ptr<Job> job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      job = waiting_.front();
      waiting_.pop_front();
      if (job->cancelled) continue;
      job->status = "running";
    }
    work_at(job);
  }
}

void Jobs::work_at(const std::shared_ptr<Job>& job) {
  const auto go_on = [&](double progress) {
    const std::lock_guard lock(mutex_);
    job->progress = std::max(job->progress, progress);
    return !job->cancelled;
  };
  std::optional<Json> result;
  std::string error;
  try {
    result = job->task.run(job->folder, go_on);
  } catch (const Error& e) {
    error = without(e.what(), job->folder.string() + "/");
  } catch (const std::exception&) {
    error = "this is a bug in perceiver, or its memory is full";
  }
  const std::lock_guard lock(mutex_);
  job->ended = Clock::now();
  job->status = !error.empty() ? "failed" : result ? "done" : "cancelled";
  job->error = error;
  if (result) job->progress = 1.0, job->result = std::move(*result);
}

std::shared_ptr<Jobs::Job> Jobs::find(const std::string& id) {
  const std::lock_guard lock(mutex_);
  let_go_of_old();
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : found->second;
}

std::optional<Json> Jobs::status(const std::string& id) {
  const std::shared_ptr<Job> job = find(id);
  if (!job) return {};
  const std::lock_guard lock(mutex_);
  return job->json();
}

std::optional<std::function<EventPoll()>> Jobs::events(const std::string& id) {
  const std::shared_ptr<Job> job = find(id);
  if (!job) return {};
  return [this, job, sent = std::string()]() mutable -> EventPoll {
    const std::lock_guard lock(mutex_);
    const std::string now = json_text(job->json());
    if (job->has_ended()) return {event_text(job->status, now), true};
    if (now == sent) return {};
    sent = now;
    return {event_text("progress", now), false};
  };
}

fs::path Jobs::result(const std::string& id) {
  const std::shared_ptr<Job> job = find(id);
  if (!job) return {};
  const std::lock_guard lock(mutex_);
  return job->status == "done" ? job->folder / job->task.result : fs::path();
}

bool Jobs::forget(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return false;
  Job& job = *found->second;
  job.cancelled = true;
  if (job.status == "waiting") {
    job.status = "cancelled";
    std::erase(waiting_, found->second);
  }
  jobs_.erase(found);
  return true;
}

int64_t Jobs::unfinished() {
  const std::lock_guard lock(mutex_);
  return std::ranges::count_if(jobs_, [](const auto& job) { return !job.second->has_ended(); });
}

void Jobs::cancel_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, job] : jobs_) {
    job->cancelled = true;
    if (job->status == "waiting") job->status = "cancelled";
  }
  waiting_.clear();
}

// Those that ended longest ago go first.
void Jobs::let_go_of_old() {
  std::vector<std::pair<Clock::time_point, std::string>> ended;
  for (const auto& [id, job] : jobs_) {
    if (job->has_ended()) ended.emplace_back(job->ended, id);
  }
  std::ranges::sort(ended);
  for (size_t i = 0; i < ended.size(); ++i) {
    const std::chrono::duration<double> age = Clock::now() - ended[i].first;
    const bool too_many = ended.size() - i > options_.most_kept;
    if (too_many || age.count() > options_.kept_seconds) jobs_.erase(ended[i].second);
  }
}

}  // namespace perceiver
