#include "perceiver/tasks/text_view.h"

#include <ATen/ATen.h>

namespace perceiver {

InputView view_of_text(const Example& inputs, const Tokenizer& tokenizer,
                       const std::string& before) {
  const Tensor ids = inputs.at("ids")[0].masked_select(inputs.at("mask")[0]);
  InputView view{.modality = "text", .grid = {}};
  if (!before.empty()) view.texts.push_back(before);
  for (int64_t i = 0; i < ids.size(0); ++i) {
    view.texts.push_back(shown_token(tokenizer, ids[i].item<int64_t>()));
  }
  view.grid = {std::ssize(view.texts)};
  return view;
}

}  // namespace perceiver
