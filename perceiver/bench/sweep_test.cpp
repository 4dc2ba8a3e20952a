#include "perceiver/bench/sweep.h"

#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"

namespace perceiver {
namespace {

const SweepConfig kTiny = {.channels = 16,
                           .num_layers = 1,
                           .num_heads = 2,
                           .num_inputs = 32,
                           .num_latents = 8,
                           .num_outputs = 32,
                           .decode_slice = 16,
                           .smallest = 16,
                           .largest = 64};

std::vector<int64_t> sizes(const SweepCurve& curve) {
  std::vector<int64_t> all;
  for (const SweepPoint& point : curve.points) all.push_back(point.size);
  return all;
}

TEST(Sweep, MeasuresBothAtSizesThatDouble) {
  for (const SweepAxis axis : {SweepAxis::kInputs, SweepAxis::kOutputs, SweepAxis::kLatents}) {
    const SweepResult result = sweep(axis, kTiny, {});
    EXPECT_EQ(sizes(result.perceiver_io), (std::vector<int64_t>{16, 32, 64}));
    EXPECT_EQ(sizes(result.transformer), (std::vector<int64_t>{16, 32, 64}));
    EXPECT_EQ(result.transformer.ended, "");
    for (const SweepPoint& point : result.perceiver_io.points) EXPECT_GT(point.seconds.median, 0.0);
  }
}

TEST(Sweep, EndsBeforeAPassThatWouldTakeTooLongAndSaysSo) {
  SweepConfig config = kTiny;
  config.longest = 0.0;
  const SweepResult result = sweep(SweepAxis::kInputs, config, {});
  EXPECT_EQ(sizes(result.transformer), (std::vector<int64_t>{16}));
  EXPECT_EQ(result.transformer.ended, "32 would take about 0 s a pass, longest is 0");
}

TEST(Sweep, KeepsWhatItHasWhenItIsInterrupted) {
  int asked = 0;
  const SweepResult result =
      sweep(SweepAxis::kInputs, kTiny, {.stop = [&] { return ++asked > 3; }});
  EXPECT_EQ(sizes(result.perceiver_io), (std::vector<int64_t>{16}));
  EXPECT_EQ(result.perceiver_io.ended, "interrupted");
}

TEST(Sweep, ImpossibleSizesAreAnError) {
  SweepConfig config = kTiny;
  config.num_heads = 3;
  EXPECT_EQ(error_of([&] { sweep(SweepAxis::kInputs, config, {}); }),
            "channels (16) must be a multiple of num_heads (3)");
  config = kTiny;
  config.smallest = 128;
  EXPECT_EQ(error_of([&] { sweep(SweepAxis::kInputs, config, {}); }),
            "smallest (128) is more than largest (64)");
}

TEST(Sweep, CsvHasALineForEachSizeAndNothingWhereNothingWasMeasured) {
  const Spread half = {.median = 0.5, .lower_quartile = 0.25, .upper_quartile = 0.75};
  const SweepResult result = {.perceiver_io = {{{16, half, 1024}, {32, half, 2048}}},
                              .transformer = {{{16, half, 4096}}}};
  EXPECT_EQ(to_csv(SweepAxis::kInputs, result),
            "inputs,perceiver_io_seconds,perceiver_io_seconds_lower,perceiver_io_seconds_upper,"
            "perceiver_io_bytes,transformer_seconds,transformer_seconds_lower,"
            "transformer_seconds_upper,transformer_bytes\n"
            "16,0.5,0.25,0.75,1024,0.5,0.25,0.75,4096\n"
            "32,0.5,0.25,0.75,2048,,,,\n");
}

}  // namespace
}  // namespace perceiver
