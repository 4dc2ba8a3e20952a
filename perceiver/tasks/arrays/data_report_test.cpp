#include "perceiver/tasks/arrays/data_report.h"

#include "perceiver/tasks/arrays/files_test.h"

namespace perceiver {
namespace {

class DataReport : public ArrayFiles {};

TEST_F(DataReport, SaysWhatAFileHas) {
  Tensor x = at::arange(24, at::kFloat).reshape({4, 3, 2}) / 8;
  x[1][2] = NAN;
  EXPECT_EQ(data_report(write("a.npz", {{"x", x}, {"y", at::arange(4, at::kLong)}})),
            "  array      shape     of       holds  missing\n"
            "  x      [4, 3, 2]  float  0 to 2.875        2\n"
            "  y            [4]   long      0 to 3        0\n");
  write_file(folder / "t.csv", "age, job\n30,clerk\n,nurse\n41.5,?\n");
  EXPECT_EQ(data_report((folder / "t.csv").string()),
            "  array  shape      of                  holds  missing\n"
            "  age      [3]  double             30 to 41.5        1\n"
            "  job      [3]   words  2 words: clerk, nurse        1\n");
}

}  // namespace
}  // namespace perceiver
