// The built program as a process that is watched and sent signals: for the tests of the verbs.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace perceiver {

// The program with these arguments, as a process that can be sent signals.
class Child {
 public:
  explicit Child(const std::string& arguments, const std::filesystem::path& err = "/dev/null") {
    std::vector<std::string> words = {std::getenv("PERCEIVER_PROGRAM")};
    std::istringstream text(arguments);
    for (std::string word; text >> word;) words.push_back(word);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      const bool redirected = std::freopen("/dev/null", "w", stdout) != nullptr &&
                              std::freopen(err.c_str(), "w", stderr) != nullptr;
      if (redirected) execv(argv[0], argv.data());
      _exit(127);
    }
  }

  void send(int signal) const { kill(pid_, signal); }
  pid_t pid() const { return pid_; }

  bool running() {
    if (!status_) {
      int status = 0;
      if (waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
    }
    return !status_;
  }

  int wait() {
    if (!status_) {
      int status = 0;
      waitpid(pid_, &status, 0);
      status_ = status;
    }
    return *status_;
  }

 private:
  pid_t pid_;
  std::optional<int> status_;
};

// The processes that one has started, in their order.
inline std::vector<pid_t> children_of(pid_t parent) {
  const std::string number = std::to_string(parent);
  std::ifstream file("/proc/" + number + "/task/" + number + "/children");
  std::vector<pid_t> all;
  for (pid_t pid = 0; file >> pid;) all.push_back(pid);
  return all;
}

inline void wait_for(const std::function<bool()>& condition) {
  for (int i = 0; i < 6000 && !condition(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_TRUE(condition());
}

}  // namespace perceiver
