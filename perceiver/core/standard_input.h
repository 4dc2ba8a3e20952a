// What a user names as an input: a file, or what is piped in.
#pragma once

#include "perceiver/core/file.h"

namespace perceiver {

// The file at a path; "-" is the standard input.
File read_input(const std::string& path);

}  // namespace perceiver
