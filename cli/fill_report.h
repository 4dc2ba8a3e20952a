// What `perceiver fill` says of its results: the text with its words, a table, or JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "perceiver/tasks/language/fill.h"

namespace perceiver {

// How sure the model is of a token of the word, whatever the word's length.
double probability(const Word& word);

// The text as it was given, filled, and the candidates for each mask.
nlohmann::ordered_json filled_json(const std::string& text, const FilledText& filled);

// To the standard output, the words of the text bold where it is a terminal.
void print_filled(const FilledText& filled, const WordTokens& tokens);

}  // namespace perceiver
