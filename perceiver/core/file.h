#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace perceiver {

// The content of a file, from disk or from a request. The name is for messages.
struct File {
  std::string name;
  std::string bytes;
};

File read_file(const std::filesystem::path& path);

// All at once, as AtomicFile.
void write_file(const std::filesystem::path& path, std::string_view bytes);

// The files of a folder in the order of their names; fails when there is no such folder.
std::vector<std::filesystem::path> sorted_entries(const std::filesystem::path& folder);

// Something the project ships (configs/, models/, samples/): beside the executable's tree, else
// in the installed share folder. Fails with the places looked at.
std::filesystem::path shipped(const std::filesystem::path& name);

}  // namespace perceiver
