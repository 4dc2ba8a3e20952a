// Words that a byte model is known to know. Its letters do not know of each other, and where
// several words fit they mix ("dor" for "door"); a list tells those mixtures from words.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "perceiver/core/file.h"
#include "perceiver/modalities/text.h"

namespace perceiver {

struct Word;

class WordList {
 public:
  WordList() = default;
  explicit WordList(const File& file);  // a word a line

  bool empty() const { return words_.empty(); }

  // log_probabilities [bytes, vocabulary], float, on the CPU -> every word of so many bytes.
  std::vector<Word> scored(const Tensor& log_probabilities) const;

  // Whether there is a word of these bytes; a mask is any.
  bool has_like(std::span<const int64_t> ids) const;

 private:
  std::map<size_t, std::vector<std::string>> words_;  // by their bytes
};

}  // namespace perceiver
