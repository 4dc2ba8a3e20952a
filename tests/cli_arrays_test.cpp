// A task over arrays of one's own through a shell, as a user would: begun, looked at, trained,
// measured and run.
#include <nlohmann/json.hpp>

#include "perceiver/weights/arrays.h"
#include "tests/program.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class CliArrays : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const std::string& name) const { return (folder / name).string(); }

  // As in the folder that `new` has made.
  Result in_folder(const std::string& arguments) const {
    return run(arguments, "cd " + path("my") + " &&");
  }

  const fs::path folder = fs::path(testing::TempDir()) / ("cli_arrays_" + std::to_string(getpid()));
};

TEST_F(CliArrays, FromAnEmptyFolderToAnswers) {
  ASSERT_EQ(run("new table " + path("my")).code, 0);
  const Result inspected = in_folder("inspect config.toml --json");
  ASSERT_EQ(inspected.code, 0) << inspected.err;
  const Json arrays = Json::parse(inspected.out)["arrays"];
  EXPECT_EQ(arrays["inputs"]["person"]["elements"], 5);
  EXPECT_EQ(arrays["queries"]["paid"]["output"], Json({2}));
  const Result trained = in_folder(
      "train config.toml -q --threads 1 -o run train.steps=60 train.learning_rate=3e-3 "
      "train.warmup_steps=5 train.eval_every=60 model.encoder.self_attends_per_block=1");
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Result measured = in_folder("eval run --json -q --threads 1 --data held_out.csv");
  ASSERT_EQ(measured.code, 0) << measured.err;
  const Json figures = Json::parse(measured.out);
  EXPECT_EQ(figures["examples"], 800);
  EXPECT_GT(figures["accuracy"], 0.65) << "the more frequent answer is right less often";

  // Probabilities of both words for each row, without the answers' column.
  write_file(folder / "my/new.csv",
             "age,income,years,job,home\n60,80,1,doctor,own\n20,,19,student,rent\n");
  const Result ran = in_folder("run run new.csv -o answers.npz");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Tensor paid = read_arrays(folder / "my/answers.npz").at("paid");
  ASSERT_EQ(paid.sizes().vec(), (std::vector<int64_t>{2, 2}));
  EXPECT_GT(paid[0][1].item<float>(), paid[1][1].item<float>()) << "'yes' is the second word";
}

TEST_F(CliArrays, ARunGoesOnWithoutTheDataItLearnedFromBeingReadAgain) {
  ASSERT_EQ(run("new points " + path("my")).code, 0);
  const std::string small =
      " model.encoder.self_attends_per_block=1 train.batch=4 eval.examples=16 eval.batch=8";
  ASSERT_EQ(in_folder("train config.toml -q --threads 1 -o run train.steps=2" + small).code, 0);
  const Result resumed = in_folder("train -q --threads 1 --resume run train.steps=4");
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  const Result ran = in_folder("run run held_out.npz");
  EXPECT_EQ(ran.out, "solid [400, 5]\n");
}

TEST_F(CliArrays, MistakesAreOneLine) {
  expect_complaint("new pionts " + path("my"),
                   "unknown kind 'pionts'; did you mean 'points'?; there are points, series, "
                   "table, field, sensors, events");
  ASSERT_EQ(run("new field " + path("my")).code, 0);
  expect_complaint("new field " + path("my"),
                   path("my/config.toml") + ": is there already; name a new folder");
  const std::string config = path("my/config.toml");
  expect_complaint("inspect " + config + " data.train=[]",
                   config +
                       ": model: 'inputs.seen' has no shape yet; name the data that have it "
                       "(data.train=FILE)");
  expect_complaint(
      "inspect " + config + " inputs.seen.patch=[5] data.train=" + path("my/train.npz"),
      config +
          ": model: 'inputs.seen.patch' has 5 along an axis of 48, which it does "
          "not divide");
}

}  // namespace
}  // namespace perceiver
