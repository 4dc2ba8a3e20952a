// CRC-32C (Castagnoli): the checksum of checkpoints and of TensorBoard's event files.
#pragma once

#include <cstdint>
#include <string_view>

namespace perceiver {

// Of `bytes` after those that gave `before`: crc32c("ab") == crc32c("b", crc32c("a")).
uint32_t crc32c(std::string_view bytes, uint32_t before = 0);

}  // namespace perceiver
