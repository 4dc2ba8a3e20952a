#include "perceiver/kernels/run.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <thread>

#include "perceiver/core/autocast.h"
#include "perceiver/kernels/attention/attention.h"

namespace perceiver {
namespace {

AttentionInputs small_attention() {
  return {at::randn({1, 2, 3, 4}), at::randn({1, 2, 5, 4}), at::randn({1, 2, 5, 6})};
}

TEST(RunScope, ChangesWhatItNamesAndRestoresIt) {
  const RunScope outer([](perceiver::Run& run) { run.recompute = true; });
  {
    const RunScope inner([](perceiver::Run& run) { run.kernel = "reference"; });
    EXPECT_TRUE(current_run().recompute);
    EXPECT_EQ(current_run().kernel, "reference");
  }
  EXPECT_TRUE(current_run().recompute);
  EXPECT_EQ(current_run().kernel, "auto");
}

TEST(RunScope, OfOneThreadIsUnknownToAnother) {
  int64_t counted = 0;
  const AttentionCounter counter([&](const AttentionCase&, std::string_view) { ++counted; });
  const AttentionObserver observer([](const AttentionInputs&) {
    ADD_FAILURE() << "called on another thread";
    return Observed::kEnough;
  });
  const AttentionKernelScope kernel("reference");
  std::thread([] {
    EXPECT_EQ(current_run().kernel, "auto");
    EXPECT_FALSE(attention_must_be_plain());
    attend(small_attention());
  }).join();
  EXPECT_EQ(counted, 0);
}

TEST(RunScope, AWorkerTakesOverAllSwitches) {
  std::vector<std::string> counted;
  const AttentionCounter counter(
      [&](const AttentionCase&, std::string_view kernel) { counted.emplace_back(kernel); });
  const AttentionKernelScope kernel("reference");
  const at::NoGradGuard no_grad;
  const AutocastScope autocast(at::kCPU, at::kBFloat16);
  std::thread([run = run_of_this_thread()] {
    EXPECT_TRUE(at::GradMode::is_enabled());
    {
      const RunScope scope(run);
      EXPECT_FALSE(at::GradMode::is_enabled());
      EXPECT_TRUE(at::autocast::is_autocast_enabled(at::kCPU));
      EXPECT_EQ(at::autocast::get_autocast_dtype(at::kCPU), at::kBFloat16);
      EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCUDA));
      attend(small_attention());
      // A scope that changes something else leaves LibTorch's switches to whoever sets them.
      at::GradMode::set_enabled(true);
      const RunScope inner([](perceiver::Run& r) { r.recompute = true; });
      EXPECT_TRUE(at::GradMode::is_enabled());
    }
    EXPECT_TRUE(at::GradMode::is_enabled());
    EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
    EXPECT_EQ(current_run().kernel, "auto");
  }).join();
  EXPECT_EQ(counted, std::vector<std::string>{"reference"});
}

TEST(AttentionObserver, StopsThePassWithoutAnException) {
  int seen = 0, counted = 0;
  const AttentionCounter counter([&](const AttentionCase&, std::string_view) { ++counted; });
  {
    const AttentionObserver observer(
        [&](const AttentionInputs&) { return ++seen < 2 ? Observed::kGoOn : Observed::kEnough; });
    const AttentionInputs in = small_attention();
    attend(in);
    EXPECT_FALSE(pass_is_over());
    attend(in);
    EXPECT_TRUE(pass_is_over());
    const Tensor out = attend(in);
    EXPECT_EQ(out.sizes(), (std::vector<int64_t>{1, 2, 3, 6}));
    EXPECT_TRUE(out.eq(0).all().item<bool>());
  }
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(counted, 1);  // before enough was seen
  EXPECT_FALSE(pass_is_over());
}

TEST(AttentionsOf, KeepsAPassToCountItAtEachReplay) {
  std::vector<std::string> told;
  const AttentionCounter counter([&](const AttentionCase& c, std::string_view kernel) {
    told.push_back(fmt::format("{} {} x {}", kernel, c.queries, c.keys));
  });
  const auto recorded = attentions_of([] {
    attend(small_attention());
    attend(small_attention(), "reference");
  });
  EXPECT_TRUE(told.empty());
  count_attentions(recorded);
  count_attentions(recorded);
  EXPECT_EQ(told, (std::vector<std::string>{"tiled 3 x 5", "reference 3 x 5", "tiled 3 x 5",
                                            "reference 3 x 5"}));
}

}  // namespace
}  // namespace perceiver
