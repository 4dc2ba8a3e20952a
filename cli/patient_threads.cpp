// Threads that wait for each other sleep soon, so that a busy machine does not keep them spinning:
// beside one other process, the OpenMP runtime's own patience made flow eight times slower.
#include <unistd.h>

#include <array>
#include <cstring>
#include <vector>

namespace {

// A few tens of microseconds: more than threads of an idle machine wait for each other between two
// loops, and far less than the turn that a busy machine gives to another process.
constexpr char kSpinCount[] = "GOMP_SPINCOUNT=2000";

bool names(const char* variable, const char* name) {
  const size_t length = std::strlen(name);
  return std::strncmp(variable, name, length) == 0 && variable[length] == '=';
}

// The OpenMP runtime reads its environment when it is loaded, before main() and before any
// constructor of ours, so the program starts itself again with the variable. This runs ahead of all
// constructors: what is done twice is finding and relocating the libraries, some 20 ms. Where it
// cannot be done the program goes on as it is.
void start_with_patience(int, char** argv, char** environment) {
  std::vector<char*> variables;
  for (char** variable = environment; *variable != nullptr; ++variable) {
    // Someone has chosen; or this is the second start.
    if (names(*variable, "GOMP_SPINCOUNT") || names(*variable, "OMP_WAIT_POLICY")) return;
    variables.push_back(*variable);
  }
  variables.push_back(const_cast<char*>(kSpinCount));
  variables.push_back(nullptr);
  std::array<char, 4096> program = {};
  if (readlink("/proc/self/exe", program.data(), program.size() - 1) > 0) {
    execve(program.data(), argv, variables.data());
  }
}

#ifndef __SANITIZE_ADDRESS__  // whose runtime is not ready so early
[[gnu::used,
  gnu::section(".preinit_array")]] void (*const kBeforeAll)(int, char**,
                                                            char**) = start_with_patience;
#endif

}  // namespace
