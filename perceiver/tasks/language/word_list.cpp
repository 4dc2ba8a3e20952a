#include "perceiver/tasks/language/word_list.h"

#include <ATen/ATen.h>

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

}  // namespace perceiver
