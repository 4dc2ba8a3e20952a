#include "perceiver/kernels/cpu/tiles.h"

#include <cstdlib>
#include <string_view>

namespace perceiver {

// tiles_*.cpp
const Tiles<float>& tiles_any();
const Tiles<float>& tiles_avx2();
const Tiles<float>& tiles_avx512();
const Tiles<Bf16>& tiles_avx512_bf16();

namespace {

// What the user holds the program to, to compare or to look for a fault.
bool allowed(std::string_view isa) {
  const char* wanted = std::getenv("PERCEIVER_ISA");
  return !wanted || isa == wanted;
}

const Tiles<float>& pick() {
#ifdef __x86_64__
  if (allowed("avx512") && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq")) {
    return tiles_avx512();
  }
  if (allowed("avx2") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return tiles_avx2();
  }
#endif
  return tiles_any();
}

const Tiles<Bf16>* pick_bf16() {
#ifdef __x86_64__
  if (allowed("avx512") && __builtin_cpu_supports("avx512bf16")) return &tiles_avx512_bf16();
#endif
  return nullptr;
}

}  // namespace

const Tiles<float>& float_tiles() {
  static const Tiles<float>& tiles = pick();
  return tiles;
}

const Tiles<Bf16>* bf16_tiles() {
  static const Tiles<Bf16>* tiles = pick_bf16();
  return tiles;
}

}  // namespace perceiver
