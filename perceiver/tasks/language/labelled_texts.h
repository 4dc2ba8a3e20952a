// Texts with a class each, in a user's files: CSV, TSV or JSON lines.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "perceiver/tasks/train_config.h"

namespace perceiver {

// What the columns, or the keys of the objects, are called.
struct TextColumns {
  std::string text = "text", label = "label";
  std::optional<std::string> pair = {};  // not set: "text_b" where there is one
};

struct LabelledText {
  std::string text = {}, pair = {}, label = {};  // pair is "" where there is one text
  std::shared_ptr<const std::string> file = {};
  int64_t line = 0;        // of the file, where it begins
  std::string error = {};  // why it cannot be read: "FILE:LINE: got, expected"
};

// By the file's ending: .csv as RFC 4180 has it, .tsv, in which quotes are letters like others, or
// .jsonl. The first row of a .csv or .tsv names the columns. The first text that cannot be read is
// an Error, or, to be skipped, such texts are kept with theirs.
std::vector<LabelledText> read_labelled_texts(const std::filesystem::path& path,
                                              const TextColumns& columns,
                                              Unreadable unreadable = Unreadable::kStop);

}  // namespace perceiver
