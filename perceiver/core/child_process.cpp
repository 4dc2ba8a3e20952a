#include "perceiver/core/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "perceiver/core/error.h"

namespace perceiver {
namespace {

int code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> all;
  for (const std::string& word : words) all.push_back(const_cast<char*>(word.c_str()));
  all.push_back(nullptr);
  return all;
}

std::string name_of(const std::string& variable) { return variable.substr(0, variable.find('=')); }

// This process's variables, but for those that are set anew.
std::vector<std::string> environment_with(const std::vector<std::string>& set) {
  std::vector<std::string> all = set;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string name = name_of(*one);
    if (std::ranges::none_of(set, [&](const auto& s) { return name_of(s) == name; })) {
      all.emplace_back(*one);
    }
  }
  return all;
}

// Between fork and exec, where other threads' locks may be held for ever: system calls alone.
// `errors` takes its stderr; less than 0: both outputs stay as they are.
[[noreturn]] void become(char* const* argv, char* const* environment, pid_t parent, int errors,
                         const sigset_t& mask) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // it has ended before that was said
  const int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, STDIN_FILENO);
  if (errors >= 0) {
    dup2(nothing, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
  }
  // A signal that comes now must not be taken by a handler that is about to be gone. Those that are
  // ignored stay so.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
  }
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execve(argv[0], argv, environment);
  _exit(127);
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& words,
                           const std::filesystem::path& log) {
  const int errors = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (errors < 0) fail("{}: cannot write: {}", log.string(), std::strerror(errno));
  start(words, {}, errors);
}

ChildProcess::ChildProcess(const std::vector<std::string>& words, const Variables& variables) {
  start(words, variables, -1);
}

void ChildProcess::start(const std::vector<std::string>& words, const Variables& variables,
                         int errors) {
  const std::vector<std::string> environment = environment_with(variables.set);
  const std::vector<char*> argv = pointers(words), envp = pointers(environment);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) become(argv.data(), envp.data(), parent, errors, before);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (errors >= 0) close(errors);
  if (pid_ < 0) fail("{}: cannot start: {}", words[0], std::strerror(error));
}

ChildProcess::~ChildProcess() {
  if (ended()) return;
  send(SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void ChildProcess::send(int signal) const {
  if (!code_) kill(pid_, signal);
}

std::optional<int> ChildProcess::ended() {
  int status = 0;
  if (!code_ && waitpid(pid_, &status, WNOHANG) == pid_) code_ = code_of(status);
  return code_;
}

}  // namespace perceiver
