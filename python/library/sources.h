// What Python hands over to be looked at: a file or a text by its name, or an array.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "perceiver/tasks/application.h"
#include "perceiver/tasks/model.h"

namespace perceiver {

// A name alone is a file, or the text itself (tasks/given_inputs.h). With an array it is that
// array's name: a picture, uint8 [3, H, W], or a sound, float [S] at the model's own rate.
using Source = std::tuple<std::string, std::optional<Tensor>>;

// The bytes of a file that holds the same values.
File file_of(const Source& source, const Model& model);
std::vector<File> files_of(const std::vector<Source>& sources, const Model& model);

// Samples of sound in a second, as the model takes them; fails for models that hear nothing.
int64_t samples_per_second(const Model& model);

}  // namespace perceiver
