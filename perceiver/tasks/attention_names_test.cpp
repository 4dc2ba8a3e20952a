#include <gtest/gtest.h>

#include <set>

#include "perceiver/tasks/small_models_test.h"

namespace perceiver {
namespace {

// Whether an attention that was counted is of the part; decoders ask for a slice of its queries.
bool is_of(const CountedAttention& counted, const Part& part) {
  const AttentionCase &a = counted.attention, &b = *part.attention;
  return a.heads == b.heads && a.keys == b.keys && a.qk_channels == b.qk_channels &&
         a.v_channels == b.v_channels && a.queries <= b.queries;
}

// What ran for most of the part's queries at a time.
std::string ran(const std::vector<CountedAttention>& counted, const Part& part) {
  const CountedAttention* most = nullptr;
  for (const CountedAttention& c : counted) {
    const bool more = !most || c.attention.queries > most->attention.queries;
    if (is_of(c, part) && more) most = &c;
  }
  return most ? most->kernel : "nothing";
}

// What inference forms executed for as many of the part's queries at a time, one word each.
std::set<std::string> executed(const std::vector<AttendPlan>& plans, const AttendPlan& told) {
  std::set<std::string> words;
  for (const AttendPlan& plan : plans) {
    const AttentionCase &a = plan.attention, &b = told.attention;
    const bool same = a.heads == b.heads && a.keys == b.keys && a.queries == b.queries &&
                      a.qk_channels == b.qk_channels && a.v_channels == b.v_channels;
    if (same)
      words.insert(fmt::format("{}, {}, {}", to_word(plan.form), plan.kernel, plan.product));
  }
  return words;
}

// Every model runs, and what was told of it before is what was executed. -> all forms
std::set<std::string> expect_told_plans(const at::TensorOptions& place) {
  std::set<std::string> forms;
  const at::NoGradGuard no_grad;
  for (const SmallModel& model : small_models(place, 1)) {
    SCOPED_TRACE(model.name);
    std::vector<AttendPlan> plans;
    {
      const AttendPlanObserver observer([&](const AttendPlan& plan) { plans.push_back(plan); });
      model.forward();
    }
    for (Part part : model.summary.parts) {
      if (!part.attention) continue;
      if (part.name.starts_with("decoder") && model.name == "flow") part.attention->queries = 100;
      const AttendPlan told =
          plan_attend(part, {.device = place.device(),
                             .dtype = place.dtype().toScalarType(),
                             .batch = plans.empty() ? 1 : plans[0].attention.batch});
      if (told.way != AttendWay::kInference) {
        EXPECT_TRUE(executed(plans, told).empty()) << part.name;
        continue;
      }
      if (part.name == "decoder.cross_attend" && model.name == "multimodal") continue;  // two grids
      EXPECT_EQ(executed(plans, told),
                (std::set<std::string>{
                    fmt::format("{}, {}, {}", to_word(told.form), told.kernel, told.product)}))
          << part.name;
      forms.emplace(to_word(told.form));
    }
  }
  return forms;
}

// Runs every model, and compares with what was told before. -> all names
std::set<std::string> expect_told_names(const at::TensorOptions& place, bool gradients,
                                        const std::string& kernel = "auto") {
  std::set<std::string> names;
  const at::AutoGradMode mode(gradients);
  const AttentionKernelScope scope(kernel);
  for (const SmallModel& model : small_models(place, 1)) {
    SCOPED_TRACE(model.name);
    const auto counted = attentions_of([&] { model.forward(); });
    for (const Part& part : model.summary.parts) {
      if (!part.attention) continue;
      const AttendPlace there{.device = place.device(),
                              .dtype = place.dtype().toScalarType(),
                              .batch = counted.at(0).attention.batch,
                              .mode = {.kernel = kernel, .gradients = gradients}};
      const std::string told(plan_attend(part, there).kernel);
      EXPECT_EQ(ran(counted, part), told) << part.name;
      names.insert(told);
    }
  }
  return names;
}

using Names = std::set<std::string>;

TEST(AttentionNames, AreOfWhatRunsOnACpu) {
  // Transformers have no inference form.
  EXPECT_EQ(expect_told_names(at::kFloat, /*gradients=*/false), (Names{"streamed", "tiled"}));
  EXPECT_EQ(expect_told_names(at::kFloat, /*gradients=*/true), Names{"tiled"});
  EXPECT_EQ(expect_told_names(at::kFloat, false, "tiled"), Names{"tiled"});
  EXPECT_EQ(expect_told_names(at::kFloat, false, "reference"), Names{"reference"});
  expect_told_names(at::kBFloat16, false);  // as the CPU has tiles for it or not
}

TEST(AttendPlans, AreWhatRunsOnACpu) {
  EXPECT_EQ(expect_told_plans(at::kFloat),
            (std::set<std::string>{"keys absorbed", "plain", "queries absorbed"}));
  expect_told_plans(at::kBFloat16);  // as the CPU has tiles for it or not
}

TEST(AttendPlans, AreWhatRunsOnAGpu) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    expect_told_plans(at::TensorOptions(at::kCUDA).dtype(dtype));
  }
}

TEST(AttentionNames, AreOfWhatRunsOnAGpu) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const auto place = at::TensorOptions(at::kCUDA).dtype(dtype);
    EXPECT_FALSE(expect_told_names(place, false).contains("streamed"));
    expect_told_names(place, true);
  }
  EXPECT_TRUE(expect_told_names(at::TensorOptions(at::kCUDA), false).contains("wide_blocks"));
}

TEST(AttentionNames, OfAGpuAreToldWithoutOne) {
  for (const SmallModel& model : small_models(at::kFloat, 1)) {
    for (const Part& part : model.summary.parts) {
      if (!part.attention) continue;
      for (const bool gradients : {false, true}) {
        const AttendPlace gpu{.device = at::kCUDA, .mode = {.gradients = gradients}};
        EXPECT_FALSE(plan_attend(part, gpu).kernel.empty());
      }
    }
  }
}

// The encoder's cross-attend is seen; nothing after it is computed, whatever the task.
TEST(AttentionObserver, EndsThePassOfEveryModelEarly) {
  const at::NoGradGuard no_grad;
  for (const SmallModel& model : small_models(at::kFloat, 1)) {
    SCOPED_TRACE(model.name);
    const Tensor whole = model.forward();
    int seen = 0;
    Tensor early;
    const auto counted = attentions_of([&] {
      const AttentionObserver observer([&](const AttentionInputs&) {
        ++seen;
        return Observed::kEnough;
      });
      EXPECT_NO_THROW(early = model.forward());
    });
    EXPECT_EQ(seen, 1);
    EXPECT_TRUE(counted.empty());
    EXPECT_EQ(early.sizes(), whole.sizes());
    EXPECT_TRUE(model.forward().equal(whole));
  }
}

}  // namespace
}  // namespace perceiver
