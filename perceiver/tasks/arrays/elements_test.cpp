#include "perceiver/tasks/arrays/elements.h"

#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"

namespace perceiver {
namespace {

TEST(ArraySource, NamesChannelsOrAnArrayOrSomeOfItsChannels) {
  struct Case {
    std::string text, array;
    int64_t begin, end;
  };
  for (const Case& c : {Case{":", "", 0, -1},
                        {"0:3", "", 0, 3},
                        {"2:", "", 2, -1},
                        {"4", "", 4, 5},
                        {"speed", "speed", 0, -1},
                        {"speed[1:3]", "speed", 1, 3},
                        {"speed[2]", "speed", 2, 3},
                        {"3d", "3d", 0, -1}}) {
    const ArraySource source = read_source(c.text, "key");
    EXPECT_EQ(source.array, c.array) << c.text;
    EXPECT_EQ(source.begin, c.begin) << c.text;
    EXPECT_EQ(source.end, c.end) << c.text;
  }
  EXPECT_EQ(read_source("1:", "key").count(5), 4);
}

TEST(ArraySource, AnythingElseIsRefused) {
  for (const char* text :
       {"3:3", "[1:2]", "x[", "x[a]", "x[1", "x[3:1]", "99999999999999999999:"}) {
    EXPECT_EQ(error_of([&] { read_source(text, "inputs.x.fields[0]"); }),
              std::string("'inputs.x.fields[0]' is '") + text +
                  "', expected channels such as '0:3', or an array such as 'x' or 'x[0:3]'")
        << text;
  }
}

}  // namespace
}  // namespace perceiver
