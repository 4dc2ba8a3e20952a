// Small models of both references with their inputs and outputs: what they computed, we compute.
#include "perceiver/zoo/golden_test.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/error.h"
#include "perceiver/nn/layers.h"
#include "perceiver/weights/safetensors.h"
#include "perceiver/zoo/reference_io.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

struct Io {
  TensorMap inputs, outputs;
  std::vector<std::string> names;
};

Io read_io(const fs::path& folder) {
  Io io;
  for (const auto& [name, tensor] : read_safetensors(folder / "io.safetensors").tensors) {
    if (name.starts_with("input.")) io.inputs[name.substr(6)] = tensor;
    if (name.starts_with("output.")) io.outputs[name.substr(7)] = tensor;
  }
  for (const auto& [name, tensor] : io.outputs) io.names.push_back(name);
  return io;
}

double difference(const TensorMap& a, const TensorMap& b) {
  double largest = 0.0;
  for (const auto& [name, tensor] : b) {
    EXPECT_EQ(a.at(name).sizes(), tensor.sizes()) << name;
    const Tensor apart = (a.at(name) - tensor).abs().max();
    largest = std::max(largest, apart.isnan().item<bool>() ? INFINITY : apart.item<double>());
  }
  return largest;
}

class GoldenTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    folder = golden(GetParam());
    if (!fs::exists(folder)) GTEST_SKIP() << "PERCEIVER_GOLDENS does not hold " << GetParam();
    io = read_io(folder);
    tolerance = std::string(GetParam()).ends_with("flow") ? 1e-5 : 1e-4;
  }

  fs::path folder;
  Io io;
  double tolerance;
};

TEST_P(GoldenTest, OutputsAreTheReferences) {
  Model model = load_model(folder);
  EXPECT_LE(difference(run_reference(model, io.inputs, io.names), io.outputs), tolerance);
}

TEST_P(GoldenTest, OutputsAreTheReferencesAfterConversion) {
  const fs::path converted = fs::path(testing::TempDir()) / "perceiver_golden_converted";
  fs::remove_all(converted);
  save_model(load_model(folder), converted, at::kFloat);
  Model again = load_model(converted);
  EXPECT_LE(difference(run_reference(again, io.inputs, io.names), io.outputs), tolerance);
  EXPECT_TRUE(std::string(GetParam()).starts_with(to_word(again.reference)));
  fs::remove_all(converted);
}

// Twice round the references' differences is where we began.
TEST_P(GoldenTest, OtherSemanticsChangeTheOutputsAndBackAgainDoesNot) {
  const bool deepmind = std::string(GetParam()).starts_with("deepmind");
  const auto own = deepmind ? Reference::kDeepMind : Reference::kHuggingFace;
  const auto other = deepmind ? Reference::kHuggingFace : Reference::kDeepMind;
  Model same = load_model(folder, own);
  EXPECT_LE(difference(run_reference(same, io.inputs, io.names), io.outputs), tolerance);
  Model changed = load_model(folder, other);
  EXPECT_GT(difference(run_reference(changed, io.inputs, io.names), io.outputs), tolerance);

  // The other's way is kept with the model, and is left again.
  const fs::path converted = fs::path(testing::TempDir()) / "perceiver_golden_other";
  fs::remove_all(converted);
  save_model(changed, converted, at::kFloat);
  Model kept = load_model(converted), back = load_model(converted, own);
  EXPECT_GT(difference(run_reference(kept, io.inputs, io.names), io.outputs), tolerance);
  EXPECT_LE(difference(run_reference(back, io.inputs, io.names), io.outputs), tolerance);
  fs::remove_all(converted);
}

TEST_P(GoldenTest, UnknownInputIsNamed) {
  Model model = load_model(folder);
  io.inputs["pixls"] = at::zeros({1});
  try {
    run_reference(model, io.inputs, io.names);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with("unknown input 'pixls'")) << e.what();
  }
}

INSTANTIATE_TEST_SUITE_P(References, GoldenTest, kGoldens, golden_test_name);

// Each switch of the semantics alone, on a model whose numbers it should change, and on one whose
// numbers it should not.
Tensor logits(const char* name, const std::vector<std::string>& overrides) {
  const fs::path folder = golden(name);
  const Model base = load_model(folder);
  Model model = load_model(folder);
  model.settings = base.settings->with(overrides);
  {
    const ConstructScope scope(Construct::kEmpty);
    model.task = model.settings->make();
  }
  at::NoGradGuard no_grad;
  for (const auto& p : base.task->model().named_parameters()) {
    model.task->model().named_parameters()[p.key()].copy_(p.value());
  }
  for (const auto& p : base.task->model().named_buffers()) {
    model.task->model().named_buffers()[p.key()].copy_(p.value());
  }
  model.task->model().eval();
  const Io io = read_io(folder);
  return run_reference(model, io.inputs, {}).begin()->second;
}

bool changes(const char* name, const std::string& override_) {
  const Tensor before = logits(name, {}), after = logits(name, {override_});
  return before.sizes() != after.sizes() || !at::allclose(before, after, 1e-6, 1e-7);
}

TEST(Semantics, EachSwitchChangesItsOwnPartAndNothingElse) {
  const char* kText = "deepmind/language";
  const char* kFourier = "deepmind/image-fourier";
  const char* kConv = "deepmind/image-conv";
  const char* kFlow = "huggingface/optical-flow";
  EXPECT_TRUE(changes(kText, "model.semantics.gelu=erf"));
  EXPECT_TRUE(changes(kFourier, "model.semantics.gelu=erf"));
  EXPECT_TRUE(changes(kText, "model.semantics.query_mask=false"));
  EXPECT_FALSE(changes(kFourier, "model.semantics.query_mask=false"));
  EXPECT_TRUE(changes(kConv, "model.semantics.conv_padding=symmetric"));
  EXPECT_FALSE(changes(kFourier, "model.semantics.conv_padding=symmetric"));
  EXPECT_FALSE(changes(kText, "model.semantics.conv_padding=symmetric"));
  EXPECT_TRUE(changes(kFlow, "model.semantics.flow_in_pixels=true"));
  EXPECT_FALSE(changes(kText, "model.semantics.flow_in_pixels=false"));
  EXPECT_FALSE(changes(kText, "model.semantics.zero_masked_rows=false"));  // no row is all masked
}

}  // namespace
}  // namespace perceiver
