// How the program's threads wait for each other, as its OpenMP runtime says.
#include <gtest/gtest.h>

#include "tests/program.h"

namespace perceiver {
namespace {

std::string openmp_settings(const std::string& variables) {
  return run("--version", variables + " OMP_DISPLAY_ENV=verbose").err;
}

bool says(const std::string& settings, const std::string& line) {
  return settings.find(line) != std::string::npos;
}

class CliThreads : public testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the program keeps its environment under the address sanitizer";
#endif
    if (!says(openmp_settings(""), "GOMP_SPINCOUNT")) GTEST_SKIP() << "not GNU's OpenMP";
  }
};

TEST_F(CliThreads, SleepSoonWhenTheyWait) {
  EXPECT_TRUE(says(openmp_settings(""), "GOMP_SPINCOUNT = '2000'"));
}

TEST_F(CliThreads, WaitAsTheUserSays) {
  EXPECT_TRUE(says(openmp_settings("GOMP_SPINCOUNT=5"), "GOMP_SPINCOUNT = '5'"));
  const std::string active = openmp_settings("OMP_WAIT_POLICY=active");
  EXPECT_TRUE(says(active, "OMP_WAIT_POLICY = 'ACTIVE'")) << active;
  EXPECT_FALSE(says(active, "GOMP_SPINCOUNT = '2000'")) << active;
}

TEST_F(CliThreads, AreStartedWithTheArgumentsAndTheNameThatWereGiven) {
  const Result result = run("no-such-verb 'two words'");
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err, "perceiver: unknown verb 'no-such-verb'; see 'perceiver -h'\n");
}

}  // namespace
}  // namespace perceiver
