#include "perceiver/media/orientation.h"

namespace perceiver {
namespace {

constexpr uint32_t kOrientation = 0x0112, kShort = 3;

// TIFF as EXIF has it: numbers in either byte order. What lies outside reads as 0.
struct Tiff {
  uint32_t number(size_t offset, size_t size) const {
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      const size_t at = offset + (big_endian ? i : size - 1 - i);
      value = value << 8 | (at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0u);
    }
    return value;
  }

  std::string_view bytes;
  bool big_endian;
};

}  // namespace

int exif_orientation(std::string_view segment) {
  constexpr std::string_view kStart("Exif\0\0", 6);
  if (!segment.starts_with(kStart)) return 1;
  const std::string_view bytes = segment.substr(kStart.size());
  const Tiff tiff{bytes, bytes.starts_with("MM")};
  const size_t directory = tiff.number(4, 4);
  if (directory >= bytes.size()) return 1;
  const uint32_t num_entries = tiff.number(directory, 2);
  for (uint32_t i = 0; i < num_entries; ++i) {
    const size_t entry = directory + 2 + i * size_t{12};
    if (tiff.number(entry, 2) != kOrientation || tiff.number(entry + 2, 2) != kShort) continue;
    const uint32_t orientation = tiff.number(entry + 8, 2);
    return orientation >= 1 && orientation <= 8 ? static_cast<int>(orientation) : 1;
  }
  return 1;
}

Tensor upright(const Tensor& pixels, int orientation) {
  // 5 to 8 lie on their side.
  const Tensor standing = orientation > 4 ? pixels.transpose(1, 2) : pixels;
  switch (orientation) {
    case 2:
    case 6:
      return standing.flip({2});
    case 3:
    case 7:
      return standing.flip({1, 2});
    case 4:
    case 8:
      return standing.flip({1});
    default:
      return standing;
  }
}

}  // namespace perceiver
