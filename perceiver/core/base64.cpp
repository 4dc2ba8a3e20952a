#include "perceiver/core/base64.h"

#include <algorithm>
#include <cstdint>

namespace perceiver {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64_text(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t group = 0;
    const size_t count = std::min<size_t>(3, bytes.size() - at);
    for (size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0);
    }
    for (size_t i = 0; i < 4; ++i) {
      text.push_back(i <= count ? kDigits[group >> (18 - 6 * i) & 63] : '=');
    }
  }
  return text;
}

std::optional<std::string> base64_bytes(std::string_view text) {
  while (!text.empty() && (text.back() == '=' || text.back() == '\n' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 3);
  uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ') continue;
    const size_t digit = kDigits.find(c);
    if (digit == kDigits.npos) return {};
    group = group << 6 | static_cast<uint32_t>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<char>(group >> bits & 255));
  }
  if (bits == 6) return {};  // a digit alone stands for no byte
  return bytes;
}

}  // namespace perceiver
