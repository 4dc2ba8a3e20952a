#include "perceiver/modalities/text_pair.h"

#include <algorithm>

namespace perceiver {

Ids pair_ids(Ids a, Ids b, int64_t sep, int64_t length) {
  if (b.empty()) {
    a.resize(std::min(std::ssize(a), length));
    return a;
  }
  const int64_t room = length - 1, half = room / 2;
  const int64_t first = std::min(std::ssize(a), std::max(half, room - std::ssize(b)));
  const int64_t second = std::min(std::ssize(b), room - first);
  a.resize(first);
  a.push_back(sep);
  a.insert(a.end(), b.begin(), b.begin() + second);
  return a;
}

TokenBatch pad_together(const std::vector<Tensor>& texts, int64_t max_length, int64_t pad_id) {
  // Few sizes of batch, so that a GPU can be told of each once (RecordedPass).
  const int64_t step = std::max<int64_t>(1, max_length / 8);
  std::vector<Ids> rows;
  int64_t longest = 1;
  for (const Tensor& text : texts) {
    const auto* ids = text.const_data_ptr<int64_t>();
    rows.emplace_back(ids, ids + text.numel());
    longest = std::max(longest, text.numel());
  }
  return pad_or_crop(rows, std::min(max_length, (longest + step - 1) / step * step), pad_id);
}

}  // namespace perceiver
