// Where a verb's output is to go: all that can be wrong with the place is found out in advance.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace perceiver {

// Fails where a file or a folder of this name could not be made.
void check_writable(const std::filesystem::path& path);

// Fails where a folder of this name would not be new or empty.
void check_new_folder(const std::filesystem::path& path);

// Fails where the output is one of the inputs, by whatever name.
void check_not_input(const std::filesystem::path& output, const std::vector<std::string>& inputs);

}  // namespace perceiver
