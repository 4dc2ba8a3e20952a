#include "perceiver/train/duration.h"

#include <gtest/gtest.h>

namespace perceiver {
namespace {

TEST(AboutTime, IsInTheUnitOneWouldSayItIn) {
  EXPECT_EQ(about_time(0.2), "1 second");
  EXPECT_EQ(about_time(89.0), "89 seconds");
  EXPECT_EQ(about_time(100.0), "2 minutes");
  EXPECT_EQ(about_time(29.2 * 3600), "29 hours");
  EXPECT_EQ(about_time(3.1 * 86400), "3 days");
}

TEST(RestLine, NamesEvaluationsWhereTheyMatter) {
  EXPECT_EQ(rest_line({.steps = 10, .seconds_per_step = 2.0}), "");
  EXPECT_EQ(rest_line({.steps = 1000, .seconds_per_step = 10.0}),
            "1000 steps to go: about 3 hours");
  EXPECT_EQ(rest_line({.steps = 1000,
                       .evaluations = 2,
                       .seconds_per_step = 10.0,
                       .seconds_per_evaluation = 3600.0}),
            "1000 steps to go: about 5 hours, 2 hours of that for 2 evaluations");
  EXPECT_EQ(rest_line({.steps = 1000,
                       .evaluations = 1,
                       .seconds_per_step = 10.0,
                       .seconds_per_evaluation = 1.0}),
            "1000 steps to go: about 3 hours");
}

TEST(CpuAdvice, NamesWhatTheConfigCanChangeAndOnlyForALongRun) {
  const RestOfRun brief{.steps = 10, .seconds_per_step = 1.0},
      lengthy{.steps = 10'000, .seconds_per_step = 10.0};
  TrainConfig config;
  config.batch = 64;
  config.dtype = Precision::kBFloat16;
  EXPECT_EQ(cpu_advice(brief, config), "");
  EXPECT_EQ(cpu_advice(lengthy, config),
            "that is long for a CPU; quicker, for a first look: --dtype float32, train.batch=8, "
            "fewer train.steps");
  config.batch = 4;
  config.dtype = Precision::kFloat32;
  EXPECT_EQ(cpu_advice(lengthy, config),
            "that is long for a CPU; quicker, for a first look: fewer train.steps");
}

}  // namespace
}  // namespace perceiver
