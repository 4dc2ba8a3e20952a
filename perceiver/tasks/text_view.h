#pragma once

#include "perceiver/modalities/tokenizer.h"
#include "perceiver/tasks/application.h"

namespace perceiver {

// The first row of read_texts() as a person reads it, byte by byte or piece by piece; marks show as
// [CLS]. `before` is what the model puts in front of the text, as it is to be shown; empty:
// nothing.
InputView view_of_text(const Example& inputs, const Tokenizer& tokenizer,
                       const std::string& before = "");

}  // namespace perceiver
