#include <algorithm>
#include <cctype>

#include "perceiver/media/live_video.h"

namespace perceiver {

bool is_live_address(const std::string& input) {
  if (input.starts_with("/dev/video")) return true;
  const size_t scheme_end = input.find("://");
  if (scheme_end == input.npos || scheme_end == 0) return false;
  return std::all_of(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(scheme_end),
                     [](unsigned char c) { return std::isalnum(c) || c == '+' || c == '-'; });
}

}  // namespace perceiver
