// Where a verb's output is to go: all that can be wrong with the place is found out in advance.
#pragma once

#include <filesystem>

namespace perceiver {

// Fails where a file or a folder of this name could not be made.
void check_writable(const std::filesystem::path& path);

}  // namespace perceiver
