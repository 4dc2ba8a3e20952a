#include "perceiver/bench/workload.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"
#include "perceiver/weights/safetensors.h"

namespace perceiver {
namespace {

const std::vector<std::string> kTinyLanguage = {
    "model.num_inputs=32", "model.encoder.num_latents=8", "model.encoder.self_attends_per_block=1"};

TEST(Workload, EveryNamedOneHasAConfigThatIsThere) {
  for (const NamedWorkload& workload : named_workloads()) {
    EXPECT_EQ(error_of([&] { check_workload(std::string(workload.name), {}); }), "no error")
        << workload.name;
  }
}

TEST(Workload, CountsWhatTheModelSays) {
  Workload workload("configs/language_bytes_mini.toml", {.batch = 3, .overrides = kTinyLanguage});
  workload.pass();
  EXPECT_EQ(workload.examples(), 3);
  EXPECT_EQ(workload.flops(), 3.0 * static_cast<double>(workload.summary().flops()));
}

TEST(Workload, ATrainingStepChangesTheWeights) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> trained = {
      {"configs/language_bytes_mini.toml", kTinyLanguage},
      {"configs/imagenet_mini.toml", {"model.encoder.num_latents=8"}},
      {"configs/flow_mini.toml",
       {"model.height=16", "model.width=16", "model.encoder.num_latents=8"}}};
  for (const auto& [config, overrides] : trained) {
    Workload workload(config, {.batch = 2, .train = true, .overrides = overrides});
    std::vector<Tensor> before;
    for (const Tensor& p : workload.model().task->model().parameters()) {
      before.push_back(p.detach().clone());
    }
    // Some schedules begin with a rate of zero.
    for (int i = 0; i < 2; ++i) workload.pass();
    const std::vector<Tensor> after = workload.model().task->model().parameters();
    bool changed = false;
    for (size_t i = 0; i < after.size(); ++i) changed |= !after[i].equal(before[i]);
    EXPECT_TRUE(changed) << config;
  }
}

TEST(Workload, TilesCoverTheFrame) {
  Workload workload(
      "flow-conv-small-tiled",
      {.overrides = {"model.encoder.num_latents=8", "model.encoder.self_attends_per_block=1"}});
  EXPECT_EQ(workload.flops(), 6.0 * static_cast<double>(workload.summary().flops()));
  EXPECT_STREQ(workload.examples_are(), "frames");
}

TEST(Workload, GivenInputsGiveTheReferencesOutputs) {
  const std::filesystem::path folder = "tests/golden/huggingface/text-classifier";
  TensorMap inputs, expected;
  for (const auto& [name, tensor] : read_safetensors(folder / "io.safetensors").tensors) {
    (name.starts_with("input.") ? inputs : expected)[name.substr(name.find('.') + 1)] = tensor;
  }
  Workload workload(folder.string(), {.inputs = inputs});
  workload.pass();
  EXPECT_EQ(workload.examples(), expected.at("logits").size(0));
  EXPECT_TRUE(workload.outputs().at("logits").allclose(expected.at("logits"), 0.0, 1e-5));
}

TEST(Workload, WhatCannotBeMeasuredIsSaid) {
  const auto error = [](const std::string& name, const WorkloadOptions& options = {}) {
    return error_of([&] { check_workload(name, options); });
  };
  EXPECT_EQ(error("langage"), "unknown model 'langage'; did you mean 'language'?");
  EXPECT_EQ(error("language-mini"), "no error");  // a shipped model, by its name
  EXPECT_EQ(error("xyzzy"),
            "unknown model 'xyzzy'; 'perceiver bench --list' shows those with a name");
  EXPECT_EQ(error("flow-tiled", {.train = true}),
            "flow-tiled: frames in tiles have no training step; take flow");
  EXPECT_EQ(error("flow-tiled", {.batch = 2}),
            "flow-tiled: takes frames one at a time, not --batch");
  EXPECT_EQ(error("language", {.overrides = {"model.num_inputs=0"}}),
            "command line: 'model.num_inputs' must be at least 1, got 0");
  EXPECT_EQ(error_of([] {
              Workload("tests/golden/huggingface/text-classifier", {.overrides = {"a=1"}});
            }),
            "tests/golden/huggingface/text-classifier: a model with weights has its settings; "
            "'a=1' is for configs");
}

}  // namespace
}  // namespace perceiver
