// What a plan must know of a device: of one of this machine, or of one that is assumed, to tell
// what would run there.
#pragma once

#include <c10/core/Device.h>

#include <string>
#include <string_view>
#include <vector>

#include "perceiver/kernels/gpu.h"

namespace perceiver {

struct Hardware {
  at::Device device = at::kCPU;
  std::string_view name = {};  // "an H200", of what is assumed; empty: it is this machine's
  // Of a CPU, the instruction sets of its inner loops (cpu/tiles.h); empty: there are none.
  std::string_view float_tiles = {}, bf16_tiles = {};
  Gpu gpu = {};

  Hardware() : Hardware(at::Device(at::kCPU)) {}
  Hardware(at::Device device);  // this machine's
  Hardware(at::DeviceType type) : Hardware(at::Device(type)) {}
  Hardware(std::string_view name, std::string_view float_tiles, std::string_view bf16_tiles)
      : name(name), float_tiles(float_tiles), bf16_tiles(bf16_tiles) {}
  Hardware(std::string_view name, const Gpu& gpu) : device(at::kCUDA), name(name), gpu(gpu) {}

  bool is_cpu() const { return device.is_cpu(); }
  bool is_cuda() const { return device.is_cuda(); }
  std::string str() const { return device.str(); }
};

// By the name of a CPU's instruction set ("avx2", "avx512", "avx512_bf16", "amx"), of a GPU
// ("a100", "h100", "h200") or of its architecture ("sm_80", "sm_90"); fails where there is none of
// that name.
const Hardware& assumed_hardware(std::string_view name);
std::vector<std::string> assumable_hardware();  // the names

}  // namespace perceiver
