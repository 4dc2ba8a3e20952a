#include "perceiver/train/meter.h"

#include <gtest/gtest.h>

namespace perceiver {
namespace {

TEST(ClockTime, HasHoursOnlyWhereThereAreAny) {
  EXPECT_EQ(clock_time(0.0), "0:00");
  EXPECT_EQ(clock_time(64.6), "1:05");
  EXPECT_EQ(clock_time(3599.4), "59:59");
  EXPECT_EQ(clock_time(3599.5), "1:00:00");
  EXPECT_EQ(clock_time(90'061.0), "25:01:01");
}

TEST(StepLine, HasAsManyFiguresAsThereIsRoomFor) {
  const Metrics figures = {{"loss", 0.0403},          {"learning_rate", 1.98e-5},
                           {"gradient_norm", 0.214},  {"examples_per_second", 1.01},
                           {"peak_share", 0.23},      {"memory_bytes", 0x1p30},
                           {"seconds_left", 20'741.0}};
  EXPECT_EQ(step_line(34, 10'500, figures, 120),
            "step 34/10500  loss 0.0403  rate 1.98e-05  norm 0.214  1.01 examples/s  23 % of peak  "
            "1.00 GiB  5:45:41 left");
  EXPECT_EQ(step_line(34, 10'500, figures, 60),
            "step 34/10500  loss 0.0403  1.01 examples/s  5:45:41 left");
  for (size_t width = 10; width < 120; ++width) {
    EXPECT_LE(step_line(34, 10'500, figures, width).size(), width);
  }
}

}  // namespace
}  // namespace perceiver
