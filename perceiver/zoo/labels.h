// Names of classes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "perceiver/tasks/settings.h"

namespace perceiver {

// A name a line, as many as there are classes; of a longer file no more is read than that. Fails
// for another number, and for a name that is no text or longer than a line of a table.
std::vector<std::string> read_labels(const std::filesystem::path& path, int64_t classes);

// Whether they are names: transformers writes "LABEL_3" where it was told none.
bool are_names(const std::vector<std::string>& labels);

// The names of a model's classes: of a labels.txt in its folder, else `from_config`, else of the
// list the project ships for the data set the task is named after, where the number of classes is
// that data set's. Empty: the model has no classes, or nobody knows their names.
std::vector<std::string> find_labels(const std::filesystem::path& folder, const Settings& settings,
                                     const std::vector<std::string>& from_config = {});

}  // namespace perceiver
