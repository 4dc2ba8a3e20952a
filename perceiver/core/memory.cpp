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

// Of a table of the system, such as "MemAvailable:   123 kB"; kNoLimit where it has no such line.
int64_t bytes_in(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string word; file >> word; file.ignore(1 << 12, '\n')) {
    if (int64_t kibibytes; word == key && file >> kibibytes) return kibibytes * 1024;
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
  if (device.is_cpu())
    return std::min(bytes_in("/proc/meminfo", "MemAvailable:"), left_in_container());
  return static_cast<int64_t>(
      at::accelerator::getMemoryInfo(device.has_index() ? device.index() : c10::DeviceIndex{0})
          .first);
}

int64_t peak_memory(at::Device device) {
  if (device.is_cpu()) return bytes_in("/proc/self/status", "VmHWM:");
  const auto index = device.has_index() ? device.index() : c10::DeviceIndex{0};
  return at::accelerator::getDeviceStats(index).allocated_bytes[0].peak;
}

}  // namespace perceiver
