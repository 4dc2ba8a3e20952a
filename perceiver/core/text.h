// Numbers and tables for people to read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perceiver {

std::string grouped(int64_t value);                  // "182,528"
std::string array(int64_t index, int64_t channels);  // "182,528 x 322"

// Columns as wide as their widest cell, the first to the left and the others to the right.
std::string table(const std::vector<std::vector<std::string>>& rows);

}  // namespace perceiver
