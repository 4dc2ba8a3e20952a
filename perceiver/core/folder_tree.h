// Folders of folders.
#pragma once

#include <filesystem>
#include <vector>

namespace perceiver {

// The files of a folder and of the folders inside it, in the order of their paths, without those
// whose name begins with a dot. Links to folders are not followed: they may lead in a circle.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder);

}  // namespace perceiver
