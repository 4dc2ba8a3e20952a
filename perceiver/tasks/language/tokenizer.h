// What turns a user's text into a model's ids: bytes, or the SentencePiece model in its folder.
#pragma once

#include "perceiver/tasks/language/words.h"
#include "perceiver/tasks/model.h"

namespace perceiver {

// By the size of the model's vocabulary. Other than bytes need a file spiece.model, tokenizer.model
// or sentencepiece.model beside the weights.
Tokenizer find_tokenizer(const Model& model, int64_t vocabulary_size);

}  // namespace perceiver
