// What a user gives a model on the command line: names of files, "-" for the standard input, or a
// text itself.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "perceiver/tasks/application.h"

namespace perceiver {

// The shipped model of the kind that these seem to be of: pictures, pairs of frames, clips, sounds,
// texts.
std::string shipped_model_for(std::span<const std::string> arguments);

// Whether an argument is a text itself, by its white space or a [MASK] in it.
bool is_given_text(const std::string& argument);

// The files, or the text as one. What has white space or a [MASK] in it and names no file is a
// text; for a model that `reads` texts, so is a single word without an ending.
std::vector<File> given_files(std::span<const std::string> arguments, InputKind reads);

}  // namespace perceiver
