// Pictures in formats that FFmpeg's libraries read for us: WebP, GIF, BMP, TIFF and AVIF.
#pragma once

#include <string_view>

#include "perceiver/core/file.h"
#include "perceiver/core/tensor.h"

namespace perceiver {

// "WebP", "GIF", "BMP", "TIFF", "AVIF" or "HEIC", told by the first bytes; empty for all else.
std::string_view other_picture_format(std::string_view bytes);

// The first picture of a file in one of these formats: uint8 [3, H, W], RGB, or [4, H, W] where the
// format has an alpha channel. Turned as its EXIF orientation says. HEIC is refused: the pictures
// of telephones are made of tiles, which FFmpeg does not put together.
Tensor decode_other_picture(const File& file);

}  // namespace perceiver
