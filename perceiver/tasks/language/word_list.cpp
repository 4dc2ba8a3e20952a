#include "perceiver/tasks/language/word_list.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/core/lines.h"
#include "perceiver/tasks/language/words.h"

namespace perceiver {

WordList::WordList(const File& file) {
  for (std::string& word : lines_of(file.bytes)) {
    if (!word.empty()) words_[word.size()].push_back(std::move(word));
  }
}

std::vector<Word> WordList::scored(const Tensor& log_probabilities) const {
  const auto found = words_.find(log_probabilities.size(0));
  if (found == words_.end()) return {};
  const auto value = log_probabilities.accessor<float, 2>();
  std::vector<Word> words;
  for (const std::string& word : found->second) {
    double sum = 0.0;
    for (size_t i = 0; i < word.size(); ++i) {
      sum += value[i][ByteTokenizer::kNumSpecial + static_cast<unsigned char>(word[i])];
    }
    words.push_back({word, sum});
  }
  return words;
}

bool WordList::has_like(std::span<const int64_t> ids) const {
  const auto found = words_.find(ids.size());
  if (found == words_.end()) return false;
  return std::ranges::any_of(found->second, [&](const std::string& word) {
    for (size_t i = 0; i < word.size(); ++i) {
      const int64_t id = ByteTokenizer::kNumSpecial + static_cast<unsigned char>(word[i]);
      if (ids[i] != ByteTokenizer::kMask && ids[i] != id) return false;
    }
    return true;
  });
}

}  // namespace perceiver
