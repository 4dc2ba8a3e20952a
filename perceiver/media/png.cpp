#include "perceiver/media/png.h"

#include <ATen/ATen.h>
#include <png.h>

#include <array>
#include <csetjmp>
#include <cstring>

#include "perceiver/core/error.h"
#include "perceiver/media/image.h"
#include "perceiver/media/picture_size.h"

namespace perceiver {
namespace {

// What deflate can reach: 258 bytes from two bits.
constexpr int64_t kMostExpansion = 1032;

// Of 16 bits: what is decoded takes six bytes a sample, and becomes numbers of other kinds.
constexpr int64_t kMaxWidePixels = kMaxPixels / 8;

using Message = std::array<char, 128>;

// libpng ends a failing call by a jump, so `calls` must hold nothing that has a destructor.
template <typename Calls>
bool succeeds(png_structp png, const Calls& calls) {
  if (setjmp(png_jmpbuf(png))) return false;
  calls();
  return true;
}

void keep_message(png_structp png, png_const_charp text) {
  auto& message = *static_cast<Message*>(png_get_error_ptr(png));
  std::strncpy(message.data(), text, message.size() - 1);
  png_longjmp(png, 1);
}

void ignore_warning(png_structp, png_const_charp) {}

struct Reader {
  explicit Reader(std::string_view bytes) : rest(bytes) {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &message, keep_message, ignore_warning);
    info = png ? png_create_info_struct(png) : nullptr;
    if (!info) throw std::bad_alloc();
    png_set_read_fn(png, &rest, take);
  }
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
  Reader(const Reader&) = delete;

  static void take(png_structp png, png_bytep out, size_t size) {
    auto& rest = *static_cast<std::string_view*>(png_get_io_ptr(png));
    if (size > rest.size()) png_error(png, "cut short");
    std::memcpy(out, rest.data(), size);
    rest.remove_prefix(size);
  }

  png_structp png = nullptr;
  png_infop info = nullptr;
  std::string_view rest;
  Message message = {};
};

struct Writer {
  Writer() {
    png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &message, keep_message, ignore_warning);
    info = png ? png_create_info_struct(png) : nullptr;
    if (!info) throw std::bad_alloc();
    png_set_write_fn(png, &bytes, put, nullptr);
  }
  ~Writer() { png_destroy_write_struct(&png, &info); }
  Writer(const Writer&) = delete;

  static void put(png_structp png, png_bytep data, size_t size) {
    static_cast<std::string*>(png_get_io_ptr(png))
        ->append(reinterpret_cast<const char*>(data), size);
  }

  png_structp png = nullptr;
  png_infop info = nullptr;
  std::string bytes;
  Message message = {};
};

// Rows of samples as libpng takes and gives them, 16 bits as two bytes in this machine's order.
std::vector<png_bytep> row_pointers(const Tensor& pixels) {
  std::vector<png_bytep> rows(pixels.size(0));
  auto* first = static_cast<png_bytep>(pixels.data_ptr());
  const int64_t row_bytes = pixels.stride(0) * static_cast<int64_t>(pixels.element_size());
  for (size_t y = 0; y < rows.size(); ++y) rows[y] = first + y * row_bytes;
  return rows;
}

// pixels [H, W, C], uint8 or short
std::string encode(const Tensor& pixels) {
  static constexpr std::array kColours = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                          PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGBA};
  Writer writer;
  const int colours = kColours.at(pixels.size(2) - 1);
  const bool wide = pixels.element_size() == 2;
  std::vector<png_bytep> rows = row_pointers(pixels);
  const bool done = succeeds(writer.png, [&] {
    png_set_IHDR(writer.png, writer.info, static_cast<png_uint_32>(pixels.size(1)),
                 static_cast<png_uint_32>(pixels.size(0)), wide ? 16 : 8, colours,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(writer.png, writer.info);
    if (wide) png_set_swap(writer.png);
    png_write_image(writer.png, rows.data());
    png_write_end(writer.png, writer.info);
  });
  if (!done) fail("cannot encode a PNG: {}", writer.message.data());
  return std::move(writer.bytes);
}

void check_pixels(const Tensor& pixels) {
  check_shape(pixels, {kAny, kAny, kAny}, "picture");
  const int64_t channels = pixels.size(0);
  if (pixels.numel() == 0 || channels == 2 || channels > 4) {
    fail("picture has shape {}, expected [1, H, W], [3, H, W] or [4, H, W]",
         to_string(pixels.sizes()));
  }
}

}  // namespace

bool is_png(std::string_view bytes) { return bytes.starts_with("\x89PNG\r\n\x1a\n"); }

Tensor decode_png(const File& file) {
  Reader reader(file.bytes);
  const auto check = [&](bool done) {
    if (!done) fail("{}: broken PNG: {}", file.name, reader.message.data());
  };
  check(succeeds(reader.png, [&] { png_read_info(reader.png, reader.info); }));
  const int64_t height = png_get_image_height(reader.png, reader.info);
  const int64_t width = png_get_image_width(reader.png, reader.info);
  check_picture_size(file.name, height, width);
  if (png_get_bit_depth(reader.png, reader.info) == 16 && height > kMaxWidePixels / width) {
    fail("{}: picture of {} x {} pixels of 16 bits, more than the {} that are read", file.name,
         width, height, kMaxWidePixels);
  }
  const auto stored = static_cast<int64_t>(png_get_rowbytes(reader.png, reader.info)) * height;
  const auto in_file = static_cast<int64_t>(file.bytes.size());
  if (stored / kMostExpansion > in_file) {
    fail("{}: broken PNG: {} x {} pixels do not fit in {} bytes", file.name, width, height,
         in_file);
  }

  check(succeeds(reader.png, [&] {
    png_set_expand(reader.png);
    png_set_swap(reader.png);
    png_set_interlace_handling(reader.png);
    png_read_update_info(reader.png, reader.info);
  }));
  const bool wide = png_get_bit_depth(reader.png, reader.info) == 16;
  const Tensor pixels = at::empty({height, width, png_get_channels(reader.png, reader.info)},
                                  wide ? at::kShort : at::kByte);
  std::vector<png_bytep> rows = row_pointers(pixels);
  check(succeeds(reader.png, [&] {
    png_read_image(reader.png, rows.data());
    png_read_end(reader.png, nullptr);
  }));
  const Tensor planes = pixels.permute({2, 0, 1});
  return wide ? planes.to(at::kInt).bitwise_and_(0xffff) : planes;
}

std::string encode_png(const Tensor& pixels) {
  check_pixels(pixels);
  if (pixels.scalar_type() != at::kByte) {
    fail("picture has elements of type {}, expected uint8", c10::toString(pixels.scalar_type()));
  }
  return encode(pixels.cpu().permute({1, 2, 0}).contiguous());
}

std::string encode_png_of_16_bits(const Tensor& pixels) {
  check_pixels(pixels);
  return encode(pixels.cpu().permute({1, 2, 0}).to(at::kShort).contiguous());
}

}  // namespace perceiver
