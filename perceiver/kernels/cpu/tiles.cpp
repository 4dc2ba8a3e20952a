#include "perceiver/kernels/cpu/tiles.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "perceiver/core/error.h"
#include "perceiver/kernels/cpu/instruction_sets.h"

namespace perceiver {

// tiles_*.cpp
const Tiles<float>& tiles_any();
const Tiles<float>& tiles_avx2();
const Tiles<float>& tiles_avx512();
const Tiles<Bf16>& tiles_avx512_bf16();
const Tiles<Bf16>& tiles_amx();

namespace {

#ifdef __x86_64__
// From the least to the most a CPU may have.
constexpr std::string_view kSets[] = {"any", "avx2", "avx512", "amx"};

// What the user holds the program to, to compare or to look for a fault.
bool allowed(std::string_view set) {
  const char* wanted = std::getenv("PERCEIVER_ISA");
  if (!wanted) return true;
  const auto most = std::find(kSets, std::end(kSets), wanted);
  if (most == std::end(kSets)) {
    fail("PERCEIVER_ISA is {}; expected any, avx2, avx512 or amx", wanted);
  }
  return std::find(kSets, most, set) != most || set == *most;
}

// The CPU's tile registers, and the system's word that this program may use them: it keeps their 8
// KiB for each of its threads from then on.
bool may_use_amx() {
  constexpr unsigned kBfloat16 = 1u << 22, kTile = 1u << 24;
  constexpr long kAskForState = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, its argument
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  return (d & kBfloat16) && (d & kTile) && syscall(SYS_arch_prctl, kAskForState, kTileData) == 0;
}

bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
#endif

const Tiles<float>& pick() {
#ifdef __x86_64__
  if (allowed("avx512") && has_avx512()) return tiles_avx512();
  if (allowed("avx2") && has_avx2()) return tiles_avx2();
#endif
  return tiles_any();
}

const Tiles<Bf16>* pick_bf16() {
#ifdef __x86_64__
  if (!allowed("avx512") || !__builtin_cpu_supports("avx512bf16")) return nullptr;
  return allowed("amx") && may_use_amx() ? &tiles_amx() : &tiles_avx512_bf16();
#else
  return nullptr;
#endif
}

}  // namespace

std::vector<InstructionSet> instruction_sets() {
#ifdef __x86_64__
  const bool bf16 = __builtin_cpu_supports("avx512bf16");
  return {{"any", true},
          {"avx2", has_avx2()},
          {"avx512", has_avx512()},
          {"avx512_bf16", bf16},
          {"amx", bf16 && may_use_amx()}};
#else
  return {{"any", true}};
#endif
}

const Tiles<float>& float_tiles() {
  static const Tiles<float>& tiles = pick();
  return tiles;
}

const Tiles<Bf16>* bf16_tiles() {
  static const Tiles<Bf16>* tiles = pick_bf16();
  return tiles;
}

}  // namespace perceiver
