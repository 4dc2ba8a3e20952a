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

void remove_all_and_exit(int signal) {
  for (Slot& slot : slots) {
    if (slot.filled) unlink(slot.path.data());
  }
  _exit(128 + signal);
}

}  // namespace

void clean_up_on_interrupt() {
  struct sigaction action = {};
  action.sa_handler = remove_all_and_exit;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    // A program started with nohup or in the background goes on ignoring.
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    sigaction(signal, &action, nullptr);
  }
}

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
