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
      AttentionCase c = *part.attention;
      c.device = place.device(), c.dtype = place.dtype().toScalarType();
      c.batch = counted.at(0).attention.batch, c.needs_grad = gradients;
      const std::string told = choose_attention(c, part.inference, kernel).name;
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
        const AttentionChoice choice = choose_attention(
            part, {.device = at::kCUDA, .dtype = at::kFloat, .needs_grad = gradients});
        EXPECT_FALSE(choice.name.empty());
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
