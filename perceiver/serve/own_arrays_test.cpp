// Models of arrays of one's own as the Open Inference Protocol sees them.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/serve/oip_model.h"

namespace perceiver {
namespace {

TEST(OwnArrays, HaveTheNamesOfTheirConfig) {
  ServedModel served{.name = "mine", .path = "mine", .model = new_model(File{"x.toml", R"(
task = "arrays"
[inputs.x]
has_channels = false
shape = [300]
fields = [{number = ":", normalise = "none"}]
[inputs.kind]
has_channels = false
shape = [7]
fields = [{category = ":", size = 5}]
[queries.y]
loss = "gaussian"
normalise = "none"
target_shape = [4]
[queries.where]
at = "places"
shape = [9, 2]
fields = [{fourier = ":", range = [0.0, 1.0]}]
target_shape = [9, 1]
normalise = "none"
)"})};
  const std::optional<OipModel> model = oip_model(served);
  ASSERT_TRUE(model.has_value());
  const auto shapes = [](const std::vector<OipModel::Array>& arrays) {
    std::map<std::string, std::vector<int64_t>> named;
    for (const OipModel::Array& array : arrays) named[array.name] = array.shape;
    return named;
  };
  using Shapes = std::map<std::string, std::vector<int64_t>>;
  EXPECT_EQ(shapes(model->inputs),
            (Shapes{{"x", {-1, 300}}, {"kind", {-1, 7}}, {"places", {-1, -1, 2}}}));
  EXPECT_EQ(shapes(model->outputs),
            (Shapes{{"y", {-1, 4}}, {"y.deviation", {-1, 4}}, {"where", {-1, -1, 1}}}));
  EXPECT_EQ(model->inputs[0].name, "kind");
  EXPECT_EQ(model->inputs[0].type, OipType::kInt64);
  EXPECT_EQ(model->inputs[2].type, OipType::kFp32);
}

}  // namespace
}  // namespace perceiver
