#include "perceiver/zoo/fingerprint.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace perceiver {
namespace {

TEST(Fingerprint, IsOfTheSettingsAndEveryWeight) {
  const auto load = [] { return load_model("tests/golden/huggingface/language"); };
  const Model model = load();
  const std::string own = fingerprint(model);
  EXPECT_EQ(own.size(), 16u);
  EXPECT_EQ(fingerprint(load()), own);
  Model other = load();
  const std::vector<std::string> overrides = {"model.semantics.gelu=tanh"};
  other.settings = other.settings->with(overrides);
  EXPECT_NE(fingerprint(other), own);
  at::NoGradGuard no_grad;
  for (auto& p : model.task->model().named_parameters()) {
    Tensor last = p.value().flatten()[-1];
    const float before = last.item<float>();
    last.add_(1e-3);
    EXPECT_NE(fingerprint(model), own) << p.key();
    last.fill_(before);
  }
  EXPECT_EQ(fingerprint(model), own);
  EXPECT_NE(fingerprint(load_model("tests/golden/deepmind/language")), own);
}

}  // namespace
}  // namespace perceiver
