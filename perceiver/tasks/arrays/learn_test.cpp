#include "perceiver/tasks/arrays/learn.h"

#include "perceiver/tasks/arrays/files_test.h"
#include "perceiver/tasks/settings.h"

namespace perceiver {
namespace {

class Learn : public ArrayFiles {
 protected:
  ArraysConfig learned(const std::string& text, const std::string& data) const {
    return *read_settings(arrays_config(text, data))->model<ArraysConfig>();
  }
  std::string error_with(const std::string& text, const std::string& data) const {
    return error_of([&] { learned(text, data); });
  }
};

constexpr const char* kRow = "[inputs.x]\n[queries.y]\n";

TEST_F(Learn, ShapesFieldsAndStatisticsComeFromTheTrainingShare) {
  // Of ten rows, the last is held out: its 1000 is not learned from.
  const Tensor x = at::arange(10, at::kFloat).unsqueeze(1);
  const Tensor y = at::cat({at::ones({9}), at::full({1}, 1000.0)});
  const ArraysConfig config =
      learned(kRow, write("a.npz", {{"x", at::cat({x, 7 - 2 * x}, 1)}, {"y", y}}));
  const ArrayInput& input = config.inputs.at("x");
  EXPECT_EQ(input.shape, std::vector<int64_t>{2});
  ASSERT_EQ(input.parts.size(), 1u) << "no index axes, no positions";
  EXPECT_EQ(input.parts[0].mean, (std::vector<double>{4.0, -1.0}));  // of 0 … 8
  const double deviation = std::sqrt(60.0 / 9.0);                    // their squares sum to 60
  EXPECT_NEAR(input.parts[0].scale[0], deviation, 1e-12);
  EXPECT_NEAR(input.parts[0].scale[1], 2 * deviation, 1e-12);
  EXPECT_FALSE(input.missing);
  const ArrayQuery& query = config.queries.at("y");
  EXPECT_EQ(query.target_shape, std::vector<int64_t>{1});
  EXPECT_EQ(query.mean, std::vector<double>{1.0});
  EXPECT_EQ(query.scale, std::vector<double>{1.0}) << "a constant is left as wide as it is";
}

TEST_F(Learn, StatisticsOfLargeNumbersThatDifferLittleAreExact) {
  const Tensor x = 1.6e9 + at::arange(20, at::kDouble).remainder(2);
  const std::string data = write("a.npz", {{"x", x.unsqueeze(1)}, {"y", at::rand({20})}});
  const ArraysConfig config = learned(std::string(kRow) + "[data]\nheld_out_share = 0.0\n", "");
  EXPECT_TRUE(config.inputs.at("x").shape.empty()) << "no data, nothing learned";
  const ArrayField field = learned(kRow, data).inputs.at("x").parts[0];
  EXPECT_NEAR(field.mean[0] - 1.6e9, 0.5, 0.06);
  EXPECT_NEAR(field.scale[0], 0.5, 0.01);
}

TEST_F(Learn, CategoriesAndClassesAreCountedInAllExamples) {
  Tensor unit = at::zeros({40, 3}, at::kLong), y = at::zeros({40}, at::kLong);
  unit[20][1] = 11;
  y[5] = 4;
  const ArraysConfig config = learned(
      "[inputs.unit]\nhas_channels = false\nfields = [{category = ':'}, {position = 'learned'}]\n"
      "[queries.y]\nloss = 'cross_entropy'\n",
      write("a.npz", {{"unit", unit}, {"y", y}}));
  EXPECT_EQ(config.inputs.at("unit").parts[0].size, 12);
  EXPECT_EQ(config.queries.at("y").classes, 5);
}

TEST_F(Learn, WhatIsLearnedIsWrittenAndNotLearnedAgain) {
  const std::string data = write("a.npz", {{"x", at::rand({10, 2})}, {"y", at::rand({10})}});
  const auto settings = read_settings(arrays_config(kRow, data));
  std::filesystem::remove(data);
  const auto again = read_settings({"again.toml", settings->text()});
  EXPECT_EQ(again->text(), settings->text());
  EXPECT_EQ(read_settings({"model", settings->model_text()})->model_text(), settings->model_text());
}

TEST_F(Learn, NamesOfClassesMayBeAFilesLines) {
  write_file(folder / "labels.txt", "cat\ndog\n");
  const std::string data =
      write("a.npz", {{"x", at::rand({10, 2})}, {"y", at::arange(10, at::kLong).remainder(2)}});
  const std::string text =
      fmt::format("[inputs.x]\n[queries.y]\nloss = 'cross_entropy'\nnames = '{}'\n",
                  (folder / "labels.txt").string());
  EXPECT_EQ(learned(text, data).queries.at("y").names, (std::vector<std::string>{"cat", "dog"}));
}

TEST_F(Learn, MistakesInTheDataAreNamed) {
  const Tensor x = at::rand({10, 2}), y = at::rand({10});
  const std::string good = write("a.npz", {{"x", x}, {"y", y}});
  EXPECT_EQ(error_with("[inputs.zebra]\n[queries.y]\n", good),
            "x.toml: " + good + ": has no array 'zebra'; there are x, y");
  EXPECT_EQ(error_with("[inputs.x]\nfields = [{number = 'speed'}]\n[queries.y]\n", good),
            "x.toml: " + good + ": has no array 'speed'; there are x, y");
  const std::string uneven = write("b.npz", {{"x", x}, {"y", at::rand({9})}});
  EXPECT_EQ(error_with(kRow, uneven),
            "x.toml: " + uneven + ": array 'x' has 10 examples, 'y' has 9");
  const std::string empty =
      write("c.npz", {{"x", at::cat({x, at::full({10, 1}, NAN)}, 1)}, {"y", y}});
  EXPECT_EQ(error_with(kRow, empty), "x.toml: " + empty +
                                         ": 'inputs.x.fields[0]' (:): every number of channel 2 is "
                                         "missing (NaN)");
  const std::string wide = write("d.npz", {{"x", x}, {"y", at::rand({10, 3, 4})}});
  EXPECT_EQ(error_with(kRow, wide),
            "x.toml: " + wide +
                ": array 'y', the target of 'queries.y', has shape [*, 3, "
                "4], expected [*], or that and channels; learned = 3 asks for so "
                "many");
  const std::string halves = write("h.npz", {{"x", x}, {"y", at::full({10}, 0.5)}});
  EXPECT_EQ(error_with("[inputs.x]\n[queries.y]\nloss = 'cross_entropy'\n", halves),
            "x.toml: " + halves +
                ": the target of 'queries.y' has numbers such as 0.5, expected whole ones from 0");
  const std::string scalar = write("e.npz", {{"x", at::ones({})}, {"y", y}});
  EXPECT_EQ(error_with(kRow, scalar),
            "x.toml: " + scalar + ": array 'x' is one number, expected one of examples");
}

}  // namespace
}  // namespace perceiver
