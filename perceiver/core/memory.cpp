#include "perceiver/core/memory.h"

#include <ATen/DeviceAccelerator.h>
#include <malloc.h>

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

c10::DeviceIndex index_of(at::Device device) {
  return device.has_index() ? device.index() : c10::DeviceIndex{0};
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
  return static_cast<int64_t>(at::accelerator::getMemoryInfo(index_of(device)).first);
}

int64_t held_memory(at::Device device) {
  if (device.is_cpu()) return bytes_in("/proc/self/status", "VmRSS:");
  return at::accelerator::getDeviceStats(index_of(device)).allocated_bytes[0].current;
}

int64_t peak_memory(at::Device device) {
  if (device.is_cpu()) return bytes_in("/proc/self/status", "VmHWM:");
  return at::accelerator::getDeviceStats(index_of(device)).allocated_bytes[0].peak;
}

void reset_peak_memory(at::Device device) {
  if (device.is_cpu()) {
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << "5";  // see proc(5)
    return;
  }
  at::accelerator::emptyCache();
  at::accelerator::resetPeakStats(index_of(device));
}

}  // namespace perceiver
