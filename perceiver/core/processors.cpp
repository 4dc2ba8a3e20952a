#include "perceiver/core/processors.h"

#include <ATen/Parallel.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

namespace perceiver {
namespace {

namespace fs = std::filesystem;

std::optional<int64_t> smaller(std::optional<int64_t> a, std::optional<int64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// Microseconds of processors within so many of time; "max" and -1 are no limit.
std::optional<int64_t> processors_of(std::istream& quota, std::istream& period) {
  int64_t used = 0, within = 0;
  if (!(quota >> used) || !(period >> within) || used <= 0 || within <= 0) return {};
  return (used - 1) / within + 1;
}

std::optional<int64_t> limit_of(const fs::path& group) {
  std::ifstream both(group / "cpu.max");  // version 2: "150000 100000"
  if (both) return processors_of(both, both);
  std::ifstream quota(group / "cpu.cfs_quota_us"), period(group / "cpu.cfs_period_us");
  return processors_of(quota, period);
}

// A group is bound by those above it, too. Inside a container the path may be the outside's: then
// only the top, which is the container's own, is there.
std::optional<int64_t> limit_along(const fs::path& top, const fs::path& group) {
  std::optional<int64_t> limit = limit_of(top);
  fs::path at = top;
  for (const fs::path& part : group.relative_path()) {
    at /= part;
    limit = smaller(limit, limit_of(at));
  }
  return limit;
}

// Whether a list such as "cpu,cpuacct" has the name.
bool has_name(const std::string& list, const std::string& name) {
  return ("," + list + ",").find("," + name + ",") != std::string::npos;
}

int64_t processors_by_affinity() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return std::thread::hardware_concurrency();
}

}  // namespace

std::optional<int64_t> processor_quota(const fs::path& root) {
  const fs::path groups = root / "sys/fs/cgroup";
  std::ifstream file(root / "proc/self/cgroup");
  std::optional<int64_t> limit;
  for (std::string id, controllers, group; std::getline(file, id, ':') &&
                                           std::getline(file, controllers, ':') &&
                                           std::getline(file, group);) {
    if (controllers.empty()) limit = smaller(limit, limit_along(groups, group));
    if (has_name(controllers, "cpu")) {
      limit = smaller(limit, limit_along(groups / controllers, group));
    }
  }
  return limit;
}

int64_t available_processors() {
  return std::max<int64_t>(1, *smaller(processors_by_affinity(), processor_quota()));
}

void use_threads(int64_t num_threads) {
  const bool chosen = std::getenv("OMP_NUM_THREADS") || std::getenv("MKL_NUM_THREADS");
  if (num_threads == 0 && chosen) return;
  at::set_num_threads(static_cast<int>(num_threads > 0 ? num_threads : available_processors()));
}

}  // namespace perceiver
