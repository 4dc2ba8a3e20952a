#include "perceiver/kernels/hardware.h"

#include <algorithm>
#include <array>

#include "perceiver/core/error.h"
#include "perceiver/kernels/cpu/tiles.h"
#include "perceiver/kernels/cuda/gpu_torch.h"

namespace perceiver {
namespace {

constexpr int64_t kKibibyte = 1024, kMebibyte = 1024 * kKibibyte;

// As the makers' tables and programs have them: what a block can have of shared memory is the
// multiprocessor's less a kibibyte, and what a program can have of the memory less than what is
// sold.
constexpr Gpu kA100{.compute_capability = 80,
                    .multiprocessors = 108,
                    .shared_memory = 163 * kKibibyte,
                    .memory = 81'153 * kMebibyte,
                    .has_kernels = true};
constexpr Gpu kH100{.compute_capability = 90,
                    .multiprocessors = 132,
                    .shared_memory = 227 * kKibibyte,
                    .memory = 81'079 * kMebibyte,
                    .has_kernels = true};
constexpr Gpu kH200{.compute_capability = 90,
                    .multiprocessors = 132,
                    .shared_memory = 227 * kKibibyte,
                    .memory = 143'156 * kMebibyte,
                    .has_kernels = true};

struct Named {
  std::string_view name;
  Hardware hardware;
};

const auto& assumable() {
  static const std::array all = {
      Named{"avx2", {"a CPU with AVX2", "avx2", ""}},
      Named{"avx512", {"a CPU with AVX-512", "avx512", ""}},
      Named{"avx512_bf16", {"a CPU with AVX-512 and bfloat16", "avx512", "avx512_bf16"}},
      Named{"amx", {"a CPU with AMX", "avx512", "amx"}},
      Named{"sm_80", {"an A100", kA100}},
      Named{"sm_90", {"an H200", kH200}},
      Named{"a100", {"an A100", kA100}},
      Named{"h100", {"an H100", kH100}},
      Named{"h200", {"an H200", kH200}},
  };
  return all;
}

}  // namespace

Hardware::Hardware(at::Device device) : device(device) {
  if (device.is_cpu()) {
    float_tiles = perceiver::float_tiles().name;
    if (const Tiles<Bf16>* tiles = perceiver::bf16_tiles()) bf16_tiles = tiles->name;
  } else if (device.is_cuda()) {
    gpu = gpu_here(device);
  }
}

std::vector<std::string> assumable_hardware() {
  std::vector<std::string> names;
  for (const Named& named : assumable()) names.emplace_back(named.name);
  return names;
}

const Hardware& assumed_hardware(std::string_view name) {
  const auto found = std::ranges::find(assumable(), name, &Named::name);
  if (found == assumable().end()) fail("unknown hardware '{}'", name);
  return found->hardware;
}

}  // namespace perceiver
