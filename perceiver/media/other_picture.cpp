#include "perceiver/media/other_picture.h"

#include <algorithm>
#include <array>

namespace perceiver {
namespace {

using namespace std::string_view_literals;

// The brand of an ISO file ("....ftypavif") says what is in it.
std::string_view iso_picture(std::string_view bytes) {
  constexpr std::array kAvif = {"avif"sv, "avis"sv};
  constexpr std::array kHeic = {"heic"sv, "heix"sv, "heim"sv, "heis"sv,
                                "hevc"sv, "hevx"sv, "mif1"sv, "msf1"sv};
  if (bytes.size() < 12 || bytes.substr(4, 4) != "ftyp") return "";
  const std::string_view brand = bytes.substr(8, 4);
  const auto among = [&](const auto& brands) {
    return std::find(brands.begin(), brands.end(), brand) != brands.end();
  };
  return among(kAvif) ? "AVIF" : among(kHeic) ? "HEIC" : "";
}

// Two letters are little: the header that follows them has one of a few sizes, below 256.
bool is_bmp(std::string_view bytes) {
  return bytes.size() >= 18 && bytes.starts_with("BM") && bytes.substr(15, 3) == "\0\0\0"sv;
}

}  // namespace

std::string_view other_picture_format(std::string_view bytes) {
  if (bytes.starts_with("RIFF") && bytes.size() >= 12 && bytes.substr(8, 4) == "WEBP") {
    return "WebP";
  }
  if (bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a")) return "GIF";
  if (bytes.starts_with("II*\0"sv) || bytes.starts_with("MM\0*"sv)) return "TIFF";
  if (is_bmp(bytes)) return "BMP";
  return iso_picture(bytes);
}

}  // namespace perceiver
