#include "perceiver/core/tensor.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>

namespace perceiver {
namespace {

TEST(ToString, WritesSizesAndStarsForAny) { EXPECT_EQ(to_string({2, kAny}), "[2, *]"); }

// What MKL knows of the CPU is a variable of its own, -1 until the first call of a vector function:
// the first instruction of the function that asks for the CPU loads it.
TEST(Mkl, KnowsTheCpuBeforeThereAreThreads) {
#ifdef __x86_64__
  const auto* code = static_cast<const uint8_t*>(dlsym(RTLD_DEFAULT, "mkl_vml_serv_cpu_detect"));
  constexpr uint8_t kLoadRelative[] = {0x8b, 0x05};  // mov distance(%rip), %eax
  if (!code || std::memcmp(code, kLoadRelative, 2) != 0) GTEST_SKIP() << "another MKL, or none";
  int32_t distance = 0, cpu = 0;
  std::memcpy(&distance, code + 2, 4);
  std::memcpy(&cpu, code + 6 + distance, 4);
  EXPECT_NE(cpu, -1);
#else
  GTEST_SKIP() << "MKL is for x86";
#endif
}

}  // namespace
}  // namespace perceiver
