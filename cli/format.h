// Numbers as a reader of the paper writes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perceiver/core/text.h"

namespace perceiver {

std::string amount(double value);  // "201.1M", "7.47T"
std::string bytes(int64_t value);  // "1.5 GiB"

// Lines of at most `width`, each behind `indent` spaces.
std::string wrapped(const std::string& text, size_t indent, size_t width = 100);

// Whether the standard output is a terminal, and the user has not set NO_COLOR, which counts when
// it is not empty (no-color.org).
bool colours_wanted();

}  // namespace perceiver
