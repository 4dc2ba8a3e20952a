// Numbers as a reader of the paper writes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perceiver {

std::string amount(double value);                    // "201.1M", "7.47T"
std::string bytes(int64_t value);                    // "1.5 GiB"
std::string grouped(int64_t value);                  // "182,528"
std::string array(int64_t index, int64_t channels);  // "182,528 x 322"

// Columns as wide as their widest cell, the first to the left and the others to the right.
std::string table(const std::vector<std::vector<std::string>>& rows);

// Lines of at most `width`, each behind `indent` spaces.
std::string wrapped(const std::string& text, size_t indent, size_t width = 100);

// Whether the standard output is a terminal, and the user has not set NO_COLOR, which counts when
// it is not empty (no-color.org).
bool colours_wanted();

}  // namespace perceiver
