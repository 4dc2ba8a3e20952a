#include "perceiver/media/image.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "perceiver/core/error.h"
#include "perceiver/media/ending.h"
#include "perceiver/media/jpeg.h"
#include "perceiver/media/other_picture.h"
#include "perceiver/media/png.h"
#include "perceiver/media/ppm.h"

namespace perceiver {
namespace {

constexpr std::string_view kFormats = "PNG, JPEG, PPM, WebP, GIF, BMP, TIFF or AVIF";
constexpr std::array<std::string_view, 13> kEndings = {".png",  ".jpg",  ".jpeg", ".ppm", ".pgm",
                                                       ".webp", ".gif",  ".bmp",  ".tif", ".tiff",
                                                       ".avif", ".heic", ".heif"};

// uint8 [C, H, W], C as in decode_png()
Tensor decode(const File& file) {
  if (file.bytes.empty()) fail("{}: is empty, expected a picture", file.name);
  if (is_png(file.bytes)) {
    const Tensor pixels = decode_png(file);
    return pixels.scalar_type() == at::kInt ? pixels.bitwise_right_shift(8).to(at::kByte) : pixels;
  }
  if (is_jpeg(file.bytes)) return decode_jpeg(file);
  if (is_ppm(file.bytes)) return decode_ppm(file);
  if (!other_picture_format(file.bytes).empty()) return decode_other_picture(file);
  fail("{}: not a picture: expected {}", file.name, kFormats);
}

Tensor colours(const Tensor& pixels) {
  const int64_t height = pixels.size(1), width = pixels.size(2);
  return pixels.size(0) < 3 ? pixels.narrow(0, 0, 1).expand({3, height, width})
                            : pixels.narrow(0, 0, 3);
}

}  // namespace

Tensor decode_image(const File& file) { return colours(decode(file)).contiguous(); }

Tensor decode_image_with_alpha(const File& file) {
  const Tensor pixels = decode(file);
  const bool has_alpha = pixels.size(0) % 2 == 0;
  const Tensor last = pixels.narrow(0, pixels.size(0) - 1, 1);
  return at::cat({colours(pixels), has_alpha ? last : at::full_like(last, 255)});
}

bool has_image_ending(const std::filesystem::path& path) { return has_ending(path, kEndings); }

std::vector<std::filesystem::path> images_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths = sorted_entries(folder);
  std::erase_if(paths, [](const auto& path) { return !has_image_ending(path); });
  if (paths.empty()) fail("{}: no picture in it, expected {}", folder.string(), kFormats);
  return paths;
}

}  // namespace perceiver
