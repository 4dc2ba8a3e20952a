#include "perceiver/core/memory.h"

#include <ATen/DeviceAccelerator.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace perceiver {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// The number a file of the system holds, or kNoLimit where it holds none ("max").
int64_t number_in(const char* path) {
  std::ifstream file(path);
  int64_t value;
  return file >> value ? value : kNoLimit;
}

int64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  for (int64_t kibibytes; file >> key >> kibibytes; file.ignore(64, '\n')) {
    if (key == "MemAvailable:") return kibibytes * 1024;
  }
  return kNoLimit;
}

int64_t left_in_container() {
  const int64_t limit = number_in("/sys/fs/cgroup/memory.max");
  const int64_t used = number_in("/sys/fs/cgroup/memory.current");
  if (limit == kNoLimit || used == kNoLimit) return kNoLimit;
  return std::max<int64_t>(0, limit - used);
}

}  // namespace

int64_t free_memory(at::Device device) {
  if (device.is_cpu()) return std::min(available_memory(), left_in_container());
  return static_cast<int64_t>(
      at::accelerator::getMemoryInfo(device.has_index() ? device.index() : c10::DeviceIndex{0})
          .first);
}

}  // namespace perceiver
