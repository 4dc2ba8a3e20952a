// Text within HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace perceiver {

// With the characters that mean something there as entities; also right within quoted attributes.
std::string escaped(std::string_view text);

}  // namespace perceiver
