// `perceiver eval` of pictures through a shell.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tests/program.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// The ten classes of the shipped model, in its order.
constexpr const char* kClasses[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                    "dog",      "frog",       "horse", "ship", "truck"};

class CliEval : public testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder); }

  // So many times the shipped frog, as pictures of this class.
  void add_frogs(const fs::path& set, const std::string& name, int count) const {
    fs::create_directories(folder / set / name);
    for (int i = 0; i < count; ++i) {
      fs::copy_file(shipped("samples/pictures/frog.png"),
                    folder / set / name / fmt::format("{}.png", i));
    }
  }

  Json measured(const std::string& arguments) const {
    const Result result = run("eval image-mini --threads 1 --json --data " + arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    return Json::parse(result.out);
  }

  std::string path(const std::string& name) const { return (folder / name).string(); }

  fs::path folder = fs::path(testing::TempDir()) / ("cli_eval_" + std::to_string(getpid()));
};

// The first ten of these are of one class. Each holds the same frog, so one in ten is right.
TEST_F(CliEval, SomeExamplesAreOfAllClasses) {
  for (const char* name : kClasses) add_frogs("set", name, 10);
  const Json some = measured(path("set") + " eval.examples=10");
  EXPECT_EQ(some["examples"], 10);
  EXPECT_EQ(some["top_1"], 0.1);
  EXPECT_EQ(measured(path("set") + " eval.examples=10"), some);
}

TEST_F(CliEval, FoldersAreMatchedWithClassesByName) {
  for (const char* name : kClasses) add_frogs("set", name, std::string(name) == "frog" ? 5 : 1);
  EXPECT_NEAR(measured(path("set"))["top_1"].get<double>(), 5.0 / 14.0, 1e-9);
  fs::rename(folder / "set" / "airplane", folder / "set" / "plane");
  fs::rename(folder / "set" / "automobile", folder / "set" / "car");
  expect_complaint("eval -q image-mini --data " + path("set"),
                   path("set") +
                       ": folders and the model's classes must have the same names; folders "
                       "without a class: 'car', 'plane'; classes without a folder: 'airplane', "
                       "'automobile'");
}

TEST_F(CliEval, FiguresHaveTheirUnits) {
  for (const char* name : kClasses) add_frogs("set", name, 1);
  const Result result = run("eval -q image-mini --threads 1 --data " + path("set"));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("  examples      10\n")) << result.out;
  EXPECT_NE(result.out.find("\n  top-1     10.0 %\n  top-5     "), std::string::npos) << result.out;
}

// Of two classes the right one is always among the first five.
TEST_F(CliEval, AShareThatIsAlwaysOneIsLeftOut) {
  for (const char* name : {"cat", "dog"}) add_frogs("two", name, 2);
  std::string text = read_file(config("imagenet_mini.toml")).bytes;
  const std::string ten = "num_classes = 10";
  ASSERT_NE(text.find(ten), text.npos);
  write_file(folder / "two.toml", text.replace(text.find(ten), ten.size(), "num_classes = 2"));
  const Result result =
      run("eval --threads 1 --json " + path("two.toml") + " --data " + path("two"));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(Json::parse(result.out).contains("top_1"));
  EXPECT_FALSE(Json::parse(result.out).contains("top_5"));
}

}  // namespace
}  // namespace perceiver
