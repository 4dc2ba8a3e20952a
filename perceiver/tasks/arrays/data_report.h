// What a file of arrays has, before there is a config.
#pragma once

#include <string>

namespace perceiver {

// Whether a file holds arrays and cannot be a model: .npz, .npy, .csv and .tsv.
bool is_data_file(const std::string& path);

// Each array, or column, with its sizes, what it holds, from where to where it goes, and how much
// of it is missing.
std::string data_report(const std::string& path);

}  // namespace perceiver
