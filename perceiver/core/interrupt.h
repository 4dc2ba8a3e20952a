// Ctrl-C: what is finished stays, what is half-written goes.
#pragma once

#include <filesystem>

namespace perceiver {

// From now on SIGINT, SIGTERM and SIGHUP remove every registered file and end the program at once,
// with 128 + the signal's number. Long computations need not look at a flag.
void clean_up_on_interrupt();

// A file that an interrupt removes, while this lives. AtomicFile holds one for what it writes.
class RemoveOnInterrupt {
 public:
  explicit RemoveOnInterrupt(const std::filesystem::path& path);
  ~RemoveOnInterrupt();
  RemoveOnInterrupt(const RemoveOnInterrupt&) = delete;

 private:
  int slot_;
};

// Ends the program as a signal does, from any thread, whatever the others are at.
[[noreturn]] void exit_at_once(int code);

// While it lives, the first signal only asks to stop, so that long work can be saved; the second
// ends the program at once. One at a time.
class StopOnInterrupt {
 public:
  // `says`: that it stops, to whoever has interrupted; else another process does.
  explicit StopOnInterrupt(bool says = true);
  ~StopOnInterrupt();
  StopOnInterrupt(const StopOnInterrupt&) = delete;

  int signal() const;  // that asks to stop; 0: none does
};

}  // namespace perceiver
