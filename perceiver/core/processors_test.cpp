#include "perceiver/core/processors.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <thread>

#include "perceiver/core/file.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

// A machine's files, made by the test.
class Machine : public testing::Test {
 protected:
  void SetUp() override {
    root = fs::path(testing::TempDir()) / ("perceiver_processors_" + std::to_string(getpid()));
  }
  void TearDown() override { fs::remove_all(root); }

  void write(const fs::path& path, const std::string& text) const {
    fs::create_directories((root / path).parent_path());
    write_file(root / path, text);
  }

  fs::path root;
};

using ProcessorQuota = Machine;

TEST_F(ProcessorQuota, OfTheSecondVersionIsTimeDividedByItsPeriodRoundedUp) {
  write("proc/self/cgroup", "0::/jobs/7\n");
  write("sys/fs/cgroup/jobs/7/cpu.max", "150000 100000\n");
  EXPECT_EQ(processor_quota(root), 2);
  write("sys/fs/cgroup/jobs/7/cpu.max", "20000 100000\n");
  EXPECT_EQ(processor_quota(root), 1);
  write("sys/fs/cgroup/jobs/7/cpu.max", "400000 100000\n");
  EXPECT_EQ(processor_quota(root), 4);
}

TEST_F(ProcessorQuota, IsTheSmallestOfTheGroupsAbove) {
  write("proc/self/cgroup", "0::/jobs/7\n");
  write("sys/fs/cgroup/jobs/cpu.max", "300000 100000\n");
  write("sys/fs/cgroup/jobs/7/cpu.max", "max 100000\n");
  EXPECT_EQ(processor_quota(root), 3);
}

TEST_F(ProcessorQuota, OfAContainerIsAtTheTopThoughThePathIsTheOutsides) {
  write("proc/self/cgroup", "0::/docker/0123abcd\n");
  write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(processor_quota(root), 2);
}

TEST_F(ProcessorQuota, OfTheFirstVersionIsInTwoFiles) {
  write("proc/self/cgroup", "11:memory:/a\n4:cpu,cpuacct:/a:b\n1:name=systemd:/\n");
  write("sys/fs/cgroup/cpu,cpuacct/a:b/cpu.cfs_quota_us", "250000\n");
  write("sys/fs/cgroup/cpu,cpuacct/a:b/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processor_quota(root), 3);
  write("sys/fs/cgroup/cpu,cpuacct/a:b/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(processor_quota(root), std::nullopt);
}

TEST_F(ProcessorQuota, IsNoneWithoutLimitAndWithoutFiles) {
  EXPECT_EQ(processor_quota(root), std::nullopt);
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(processor_quota(root), std::nullopt);
  write("sys/fs/cgroup/cpu.max", "nonsense");
  EXPECT_EQ(processor_quota(root), std::nullopt);
}

TEST(AvailableProcessors, AreThoseTheThreadMayRunOn) {
  int64_t counted = 0;
  std::thread([&] {  // so that the other tests keep theirs
    cpu_set_t all, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
      if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    counted = available_processors();
  })
      .join();
  EXPECT_EQ(counted, 1);
}

}  // namespace
}  // namespace perceiver
