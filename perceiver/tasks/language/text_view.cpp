#include "perceiver/tasks/language/text_view.h"

#include <ATen/ATen.h>

#include "perceiver/modalities/text.h"

namespace perceiver {

static std::string text_of(int64_t id) {
  switch (id) {
    case ByteTokenizer::kMask:
      return "_";  // one for each letter of a missing word
    case ByteTokenizer::kCls:
      return "[CLS]";
    case ByteTokenizer::kSep:
      return "[SEP]";
    default:
      if (id < ByteTokenizer::kNumSpecial) return "[]";
      return std::string(1, static_cast<char>(id - ByteTokenizer::kNumSpecial));
  }
}

InputView view_of_bytes(const Example& inputs) {
  const Tensor ids = inputs.at("ids")[0].masked_select(inputs.at("mask")[0]);
  InputView view{.modality = "text", .grid = {ids.size(0)}};
  for (int64_t i = 0; i < ids.size(0); ++i) view.texts.push_back(text_of(ids[i].item<int64_t>()));
  return view;
}

}  // namespace perceiver
