// Several values in one word: "16,32,64".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace perceiver {

// Without the spaces and tabs around it.
std::string trimmed(std::string_view text);

// What commas separate; commas within brackets, braces and quotes do not. A text in which one of
// these is not closed is one alternative.
std::vector<std::string> alternatives_of(std::string_view value);

}  // namespace perceiver
