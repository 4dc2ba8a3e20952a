// Missing words of a user's texts, by a model that is loaded.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>

#include "perceiver/tasks/hooks.h"
#include "perceiver/tasks/language/fill.h"
#include "perceiver/tasks/model.h"

namespace perceiver {

// `text` with a word for each [MASK] in it. Where the model's folder has a words.txt, a word a
// line, whole words are taken from it.
FilledText fill(Model& model, const std::string& text, const FillOptions& options = {});

// A text to fill, and how messages call it: "standard input:3: ".
struct NamedText {
  std::string name, text;
};

// Gives one text after another, and nothing after the last.
using TextSource = std::function<std::optional<NamedText>()>;

// The lines of a stream that are not empty, as they come.
TextSource lines_from(std::istream& stream, const std::string& name);

struct FillCallbacks {
  Hooks hooks = {};
  std::function<void(const NamedText& text, const FilledText& filled)> ready = {};
  std::function<void(const std::string& error)> failed = {};  // of a text that cannot be filled
};

struct FillCounts {
  int64_t texts = 0, failed = 0;
};

// Fills each text before it asks for the next, and goes on past those that cannot be filled.
FillCounts fill(Model& model, const TextSource& next, const FillOptions& options,
                const FillCallbacks& callbacks = {});

// Of the word, at its place (fill.h).
double probability(const Word& word);

// The text as it was given, filled, and the candidates for each mask.
nlohmann::ordered_json filled_json(const std::string& text, const FilledText& filled);

// The candidates for each mask, for people to read.
std::string filled_table(const FilledText& filled);

// The filled text in pieces: words that were filled in, and what stands between them. Of a long
// text what is near the words, and "…".
struct TextPiece {
  std::string text;
  bool filled;
};
std::vector<TextPiece> shown_pieces(const FilledText& filled);

}  // namespace perceiver
