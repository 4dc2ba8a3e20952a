// Pictures in memory: PNG, JPEG, PPM and what FFmpeg reads (other_picture.h) to pixels, and PNG
// back.
#pragma once

#include <filesystem>

#include "perceiver/core/file.h"
#include "perceiver/core/tensor.h"

namespace perceiver {

// Any of the formats, told by its first bytes -> uint8 [3, H, W], RGB. Grey becomes three equal
// channels, 16 bits their upper 8, alpha is dropped (as Pillow's convert("RGB") does), and a
// picture is turned as its EXIF orientation says. Of an animation it is the first picture.
Tensor decode_image(const File& file);

// The same with the alpha channel, 255 where the format has none: uint8 [4, H, W].
Tensor decode_image_with_alpha(const File& file);

// uint8 [1, H, W], [3, H, W] or [4, H, W] -> the bytes of a PNG.
std::string encode_png(const Tensor& pixels);

// Whether the name ends as pictures do, in any case: .png, .jpg, .jpeg, .ppm, .pgm, .webp, .gif,
// .bmp, .tif, .tiff, .avif, .heic, .heif.
bool has_image_ending(const std::filesystem::path& path);

// The pictures of a folder in the order of their names; fails when there is none.
std::vector<std::filesystem::path> images_in(const std::filesystem::path& folder);

}  // namespace perceiver
