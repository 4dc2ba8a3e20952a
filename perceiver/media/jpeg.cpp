#include "perceiver/media/jpeg.h"

#include <ATen/ATen.h>  // brings FILE too, which jpeglib.h needs
#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <array>
#include <csetjmp>

#include "perceiver/core/error.h"
#include "perceiver/media/orientation.h"
#include "perceiver/media/picture_size.h"

namespace perceiver {
namespace {

// A block of 8 x 8 takes two bits at least, and a component may have one for 32 x 32 pixels.
constexpr int64_t kMostPixelsPerByte = 4096;

// Each scan is a pass over the whole picture: a small file of many would take minutes. Encoders
// make about ten.
constexpr int64_t kMaxScans = 500;
constexpr int64_t kMaxScannedPixels = 32 * kMaxPixels;

struct Reader {
  explicit Reader(std::string_view bytes) : bytes(bytes) {
    jpeg.err = jpeg_std_error(&errors);
    jpeg.client_data = this;
    errors.error_exit = [](j_common_ptr jpeg) { reader(jpeg).stop(); };
    errors.emit_message = [](j_common_ptr jpeg, int level) {
      if (level < 0) reader(jpeg).on_warning();
    };
    progress.progress_monitor = [](j_common_ptr jpeg) { reader(jpeg).on_progress(); };
  }
  ~Reader() { jpeg_destroy_decompress(&jpeg); }
  Reader(const Reader&) = delete;

  static Reader& reader(j_common_ptr jpeg) { return *static_cast<Reader*>(jpeg->client_data); }

  // libjpeg ends a failing call by a jump, so `calls` must hold nothing that has a destructor.
  template <typename Calls>
  bool succeeds(const Calls& calls) {
    if (setjmp(back)) return false;
    calls();
    return true;
  }

  [[noreturn]] void stop() {
    errors.format_message(reinterpret_cast<j_common_ptr>(&jpeg), message.data());
    std::longjmp(back, 1);
  }

  // The others are harmless, bytes between segments for instance.
  void on_warning() {
    for (const int broken : {JWRN_JPEG_EOF, JWRN_HIT_MARKER, JWRN_HUFF_BAD_CODE}) {
      if (errors.msg_code == broken) stop();
    }
  }

  void on_progress() {
    const int64_t pixels = int64_t{jpeg.image_height} * jpeg.image_width;
    const int64_t max_scans = std::min(kMaxScans, kMaxScannedPixels / pixels);
    if (jpeg.input_scan_number <= max_scans) return;
    std::snprintf(message.data(), message.size(), "more than %d scans",
                  static_cast<int>(max_scans));
    std::longjmp(back, 1);
  }

  jpeg_decompress_struct jpeg = {};
  jpeg_error_mgr errors = {};
  jpeg_progress_mgr progress = {};
  std::jmp_buf back = {};
  std::array<char, JMSG_LENGTH_MAX> message = {};
  std::string_view bytes;
};

int orientation_of(const jpeg_decompress_struct& jpeg) {
  for (jpeg_saved_marker_ptr marker = jpeg.marker_list; marker; marker = marker->next) {
    const std::string_view segment(reinterpret_cast<const char*>(marker->data),
                                   marker->data_length);
    if (segment.starts_with("Exif")) return exif_orientation(segment);
  }
  return 1;
}

void check_header(const File& file, const jpeg_decompress_struct& jpeg) {
  check_picture_size(file.name, jpeg.image_height, jpeg.image_width);
  if (jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK) {
    fail("{}: JPEG in {}, expected grey, YCbCr or RGB; convert it to RGB", file.name,
         jpeg.jpeg_color_space == JCS_CMYK ? "CMYK" : "YCCK");
  }
  const int64_t pixels = int64_t{jpeg.image_height} * jpeg.image_width;
  const auto in_file = static_cast<int64_t>(file.bytes.size());
  if (!jpeg.arith_code && pixels / kMostPixelsPerByte > in_file) {
    fail("{}: broken JPEG: {} x {} pixels do not fit in {} bytes", file.name, jpeg.image_width,
         jpeg.image_height, in_file);
  }
}

std::string in_lower_case(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(text[0]));
  return text;
}

}  // namespace

bool is_jpeg(std::string_view bytes) { return bytes.starts_with("\xff\xd8\xff"); }

Tensor decode_jpeg(const File& file) {
  Reader reader(file.bytes);
  jpeg_decompress_struct& jpeg = reader.jpeg;
  const auto check = [&](bool done) {
    if (!done) fail("{}: broken JPEG: {}", file.name, in_lower_case(reader.message.data()));
  };
  check(reader.succeeds([&] {
    jpeg_create_decompress(&jpeg);
    jpeg.progress = &reader.progress;
    jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(file.bytes.data()),
                 file.bytes.size());
    jpeg_save_markers(&jpeg, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&jpeg, TRUE);
  }));
  check_header(file, jpeg);
  const int orientation = orientation_of(jpeg);  // jpeg_finish_decompress() frees the segments

  jpeg.out_color_space = jpeg.jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
  const int64_t channels = jpeg.out_color_space == JCS_RGB ? 3 : 1;
  const Tensor pixels =
      at::empty({int64_t{jpeg.image_height}, int64_t{jpeg.image_width}, channels}, at::kByte);
  uint8_t* const first = pixels.data_ptr<uint8_t>();
  check(reader.succeeds([&] {
    jpeg_start_decompress(&jpeg);
    while (jpeg.output_scanline < jpeg.output_height) {
      JSAMPROW row = first + int64_t{jpeg.output_scanline} * jpeg.output_width * channels;
      jpeg_read_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_decompress(&jpeg);
  }));
  return upright(pixels.permute({2, 0, 1}), orientation);
}

}  // namespace perceiver
