// The latents of a text in a file, asked for the tokens of its words.
#pragma once

#include "perceiver/modalities/tokenizer.h"
#include "perceiver/tasks/language/model.h"
#include "perceiver/tasks/query.h"

namespace perceiver {

// As Task::answer(); the file has the text's "ids" beside its latents.
Answer answer_words(LanguageImpl& model, const Tokenizer& tokenizer, const LatentsFile& file,
                    const Query& query);

}  // namespace perceiver
