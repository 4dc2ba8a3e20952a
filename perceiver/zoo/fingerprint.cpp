#include "perceiver/zoo/fingerprint.h"

#include <ATen/ATen.h>

#include <array>
#include <cstring>

namespace perceiver {
namespace {

// Words of eight bytes, mixed in by a product in four lanes, which a processor has under way at
// once: a gigabyte of weights takes a fraction of a second. Against accidents, not against attacks.
class Hash {
 public:
  void add(const void* data, size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    size_t i = 0;
    for (; i + 32 <= size; i += 32) {
      for (size_t lane = 0; lane < 4; ++lane) mix(lane, bytes + i + 8 * lane, 8);
    }
    for (size_t lane = 0; i < size; i += 8, ++lane) mix(lane, bytes + i, std::min(size - i, 8ul));
    lanes_[0] = (lanes_[0] ^ size) * kPrime;  // "ab", "c" is not "a", "bc"
  }
  void add(std::string_view text) { add(text.data(), text.size()); }

  uint64_t value() const {
    uint64_t all = 0;
    for (const uint64_t lane : lanes_) all = (all ^ lane ^ (lane >> 29)) * kPrime;
    return all ^ (all >> 32);
  }

 private:
  // Odd, and about the golden ratio of 2^64: its product reaches every upper bit.
  static constexpr uint64_t kPrime = 0x9E3779B97F4A7C15;

  void mix(size_t lane, const unsigned char* bytes, size_t size) {
    uint64_t word = 0;
    std::memcpy(&word, bytes, size);
    uint64_t& state = lanes_[lane];
    state = (state ^ word) * kPrime;
    state ^= state >> 32;
  }

  std::array<uint64_t, 4> lanes_ = {1, 2, 3, 4};
};

void add(Hash& hash, const std::string& name, const Tensor& tensor) {
  hash.add(name);
  hash.add(to_string(tensor.sizes()));
  const Tensor values = tensor.detach().to(at::kCPU, at::kFloat).contiguous();
  hash.add(values.data_ptr(), values.nbytes());
}

}  // namespace

std::string fingerprint(const Model& model) {
  Hash hash;
  hash.add(model.settings->identity());
  const torch::nn::Module& module = model.task->model();
  for (const auto& p : module.named_parameters()) add(hash, p.key(), p.value());
  for (const auto& b : module.named_buffers()) add(hash, b.key(), b.value());
  return fmt::format("{:016x}", hash.value());
}

}  // namespace perceiver
