// Names of classes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "perceiver/core/file.h"

namespace perceiver {

// A name a line.
std::vector<std::string> read_labels(const File& file);

// The names of a model's classes: of a labels.txt in its folder, else `from_config`, else of the
// list the project ships for the data set the task is named after, where the number of classes is
// that data set's. Empty: the model has no classes, or nobody knows their names.
std::vector<std::string> find_labels(const std::filesystem::path& folder, const File& settings,
                                     const std::vector<std::string>& from_config = {});

}  // namespace perceiver
