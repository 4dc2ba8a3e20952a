// The plan of every released model on every kind of device, as tests/golden/released_plans.tsv has
// it. The table is written anew by this test with PERCEIVER_UPDATE=1 in the environment.
#include <gtest/gtest.h>

#include <cstdlib>

#include "perceiver/core/file.h"
#include "perceiver/nn/init.h"
#include "perceiver/tasks/task.h"
#include "perceiver/zoo/find.h"
#include "perceiver/zoo/model.h"

namespace perceiver {
namespace {

struct Column {
  const char* device;
  at::ScalarType dtype;
  bool trains = false;
};

// The attends whose plans differ: all self-attends of a model are alike.
bool is_shown(const Part& part) {
  const std::string& name = part.name;
  return part.attention && (name.find("self_attend") == name.npos || name.ends_with("_0"));
}

std::string words(const AttendPlan& plan) {
  const std::string_view form =
      plan.way == AttendWay::kInference ? to_word(plan.form) : to_word(plan.way);
  return fmt::format("{}, {}, {}", form, plan.kernel, plan.product);
}

std::string table() {
  const Column columns[] = {{"avx2", at::kFloat},           {"avx512", at::kFloat},
                            {"amx", at::kBFloat16},         {"sm_80", at::kBFloat16},
                            {"sm_90", at::kBFloat16},       {"sm_90", at::kFloat},
                            {"sm_80", at::kBFloat16, true}, {"sm_90", at::kBFloat16, true}};
  std::string text = "model\tpart\tdevice\tform, attention, products\n";
  const ConstructScope scope(Construct::kWithoutMemory);
  for (const std::string& id : released_models()) {
    const auto settings = read_settings(read_file(config_of_released(id)));
    const auto task = settings->make();
    for (const Column& c : columns) {
      const ModelSummary s = task->summary(c.trains ? Split::kTrain : Split::kEval);
      const AttendPlace place{.device = assumed_hardware(c.device),
                              .dtype = c.dtype,
                              .mode = {.gradients = c.trains, .autocast = c.trains}};
      for (const Part& part : s.parts) {
        if (!is_shown(part)) continue;
        text += fmt::format("{}\t{}\t{} {}{}\t{}\n", id.substr(id.find('/') + 1), part.name,
                            c.device, c.dtype == at::kFloat ? "float32" : "bfloat16",
                            c.trains ? " training" : "", words(plan_attend(part, place)));
      }
    }
  }
  return text;
}

TEST(ReleasedPlans, AreThoseOfTheTable) {
  const std::filesystem::path golden = "tests/golden/released_plans.tsv";
  if (std::getenv("PERCEIVER_UPDATE")) write_file(golden, table());
  EXPECT_EQ(table(), read_file(golden).bytes);
}

// A plan is of what it is told alone: this machine has one CPU, and perhaps no GPU.
TEST(ReleasedPlans, OfAnAssumedDeviceDoNotAskThisOne) {
  const Hardware& gpu = assumed_hardware("h200");
  Hardware larger("a larger GPU", gpu.gpu);
  larger.gpu.multiprocessors = 200;
  const AttentionCase c{.device = gpu,
                        .dtype = at::kBFloat16,
                        .heads = 16,
                        .queries = 2048,
                        .keys = 2048,
                        .qk_channels = 32,
                        .v_channels = 32};
  EXPECT_EQ(select_attention_kernel(c).name, "narrow");
  AttentionCase there = c;
  there.device = larger;
  EXPECT_EQ(select_attention_kernel(there).name, "library");
  EXPECT_EQ(attention_refusals(there)[2],
            "narrow: needs queries and heads for most multiprocessors");
}

}  // namespace
}  // namespace perceiver
