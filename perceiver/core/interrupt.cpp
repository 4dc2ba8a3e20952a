#include "perceiver/core/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>

namespace perceiver {
namespace {

// A handler may neither allocate nor lock, so the paths lie in a table of fixed size. More files
// at once, or longer paths, than it holds are left behind by an interrupt: a nuisance, no harm.
constexpr int kSlots = 64;
constexpr size_t kLongestPath = 1024;

struct Slot {
  std::atomic<bool> taken = false;
  std::atomic<bool> filled = false;
  std::array<char, kLongestPath> path = {};
};
std::array<Slot, kSlots> slots;

std::atomic<bool> may_ask = false, says_so = true;
std::atomic<int> asked = 0;

void ask_or_exit(int signal) {
  int none = 0;
  if (may_ask && asked.compare_exchange_strong(none, signal)) {
    constexpr char kMessage[] =
        "stopping after the operation at hand; once more ends at once, without saving\n";
    // Nothing can be done about a terminal that is gone.
    if (says_so) {
      [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
    }
    return;
  }
  exit_at_once(128 + signal);
}

}  // namespace

void exit_at_once(int code) {
  for (Slot& slot : slots) {
    if (slot.filled) unlink(slot.path.data());
  }
  _exit(code);
}

void clean_up_on_interrupt() {
  struct sigaction action = {};
  action.sa_handler = ask_or_exit;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    // A program started with nohup or in the background goes on ignoring.
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    sigaction(signal, &action, nullptr);
  }
}

StopOnInterrupt::StopOnInterrupt(bool says) {
  asked = 0;
  says_so = says;
  may_ask = true;
}

StopOnInterrupt::~StopOnInterrupt() { may_ask = false; }

int StopOnInterrupt::signal() const { return asked; }

RemoveOnInterrupt::RemoveOnInterrupt(const std::filesystem::path& path) : slot_(-1) {
  // The program's folder may change between now and then.
  std::error_code ignored;
  const std::string absolute = std::filesystem::absolute(path, ignored).string();
  if (absolute.size() >= kLongestPath) return;
  for (int i = 0; i < kSlots && slot_ < 0; ++i) {
    if (slots[i].taken.exchange(true)) continue;
    std::memcpy(slots[i].path.data(), absolute.c_str(), absolute.size() + 1);
    slots[i].filled = true;
    slot_ = i;
  }
}

RemoveOnInterrupt::~RemoveOnInterrupt() {
  if (slot_ < 0) return;
  slots[slot_].filled = false;
  slots[slot_].taken = false;
}

}  // namespace perceiver
