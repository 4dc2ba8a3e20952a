// Latents that are kept to be asked: by ids that nobody can guess, for a time, in so much memory.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "perceiver/tasks/latents_file.h"

namespace perceiver {

// 32 hexadecimal digits from the system's source of chance.
std::string new_id();

struct KeptLatents {
  std::string id;
  size_t model;  // which of those that are served made them
  LatentsFile file;
  int64_t bytes = 0;
  double seconds = 0.0;  // that it took to make them
};

class LatentsStore {
 public:
  using Clock = std::chrono::steady_clock;

  LatentsStore(
      int64_t most_bytes, double seconds,
      std::function<Clock::time_point()> now = [] { return Clock::now(); });

  // Those that nobody has asked for longest make room. Fails where they are too large alone.
  std::shared_ptr<const KeptLatents> keep(size_t model, LatentsFile file, double seconds);

  // Null: there are none of that id any more. `ask`: from now on they stay as long again.
  std::shared_ptr<const KeptLatents> find(const std::string& id, bool ask);
  double seconds_left(const std::string& id);
  bool forget(const std::string& id);

  int64_t count();
  int64_t bytes();

 private:
  struct Entry {
    std::shared_ptr<const KeptLatents> kept;
    Clock::time_point asked;
  };
  void let_go_of_old();
  void erase(std::map<std::string, Entry>::iterator entry);

  const int64_t most_bytes_;
  const std::chrono::duration<double> lifetime_;
  const std::function<Clock::time_point()> now_;
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  int64_t bytes_ = 0;
};

}  // namespace perceiver
