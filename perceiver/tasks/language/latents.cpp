#include "perceiver/tasks/language/latents.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "perceiver/tasks/language/masks.h"

namespace perceiver {

// How a byte continues the text of a word: a run of masks is one "[MASK]".
static std::string shown(int64_t id, const PlacedWord& word) {
  if (id != ByteTokenizer::kMask) {
    return std::string(1, static_cast<char>(id - ByteTokenizer::kNumSpecial));
  }
  const bool goes_on = !word.ids.empty() && word.ids.back() == ByteTokenizer::kMask;
  return goes_on ? "" : std::string(kMissingWord);
}

std::vector<PlacedWord> words_of(const Tensor& ids) {
  const Tensor rows = ids.to(at::kLong).contiguous();
  const auto id = rows.accessor<int64_t, 2>();
  std::vector<PlacedWord> words;
  bool inside = false;
  for (int64_t row = 0; row < id.size(0); ++row) {
    for (int64_t position = 0; position < id.size(1); ++position) {
      const int64_t here = id[row][position], byte = here - ByteTokenizer::kNumSpecial;
      if (byte < 0 && here != ByteTokenizer::kMask) continue;
      const bool space = byte == ' ' || (byte >= '\t' && byte <= '\r');
      if (!space && !inside) words.emplace_back();
      inside = !space;
      if (space) continue;
      words.back().text += shown(here, words.back());
      words.back().ids.push_back(here);
      words.back().bytes.push_back({row, position});
    }
  }
  return words;
}

Tensor log_probabilities_at(LanguageImpl& model, const Tensor& latents,
                            std::span<const BytePlace> places) {
  const at::NoGradGuard no_grad;
  const at::TensorOptions place = model.parameters().front().options();
  Tensor all = at::empty({std::ssize(places), model.config().vocabulary_size});
  for (int64_t row = 0; row < latents.size(0); ++row) {
    std::vector<int64_t> positions, here;
    for (int64_t i = 0; i < std::ssize(places); ++i) {
      if (places[i].row != row) continue;
      positions.push_back(places[i].position);
      here.push_back(i);
    }
    if (here.empty()) continue;
    const Tensor logits = model.decode(latents.narrow(0, row, 1).to(place), at::tensor(positions));
    all.index_copy_(0, at::tensor(here), logits[0].to(at::kFloat).log_softmax(-1).cpu());
  }
  return all;
}

}  // namespace perceiver
