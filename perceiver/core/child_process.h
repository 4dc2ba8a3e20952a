// Another program, started by this one and never left behind.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace perceiver {

// It ends with the thread that started it, however that ends: the system kills it then. Ctrl-C on a
// terminal does not reach it; who started it passes signals on.
class ChildProcess {
 public:
  // `words`: the program's path, then its arguments. Its input is empty and its output goes
  // nowhere; what it says on stderr is added to `log`.
  ChildProcess(const std::vector<std::string>& words, const std::filesystem::path& log);

  // It writes where this process does. `variables`, as "NAME=value", are in its environment beside
  // this process's.
  struct Variables {
    std::vector<std::string> set;
  };
  ChildProcess(const std::vector<std::string>& words, const Variables& variables);

  ~ChildProcess();  // kills it if it still runs
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void send(int signal) const;

  // Its exit code, or 128 + the signal that ended it, as a shell says it; nothing while it runs.
  std::optional<int> ended();

 private:
  void start(const std::vector<std::string>& words, const Variables& variables, int errors);

  pid_t pid_ = -1;
  std::optional<int> code_;
};

}  // namespace perceiver
