// Threads that do what may wait: read bodies, decode pictures, wait for the model, write answers.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace perceiver {

class Helpers {
 public:
  explicit Helpers(int64_t most);  // threads, which begin when they are needed
  ~Helpers();                      // once all is done that they were given
  Helpers(const Helpers&) = delete;

  void post(std::function<void()> work);  // which throws nothing

 private:
  void help();

  const int64_t most_;
  std::mutex mutex_;
  std::condition_variable wakes_;
  std::deque<std::function<void()>> waiting_;
  int64_t idle_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace perceiver
