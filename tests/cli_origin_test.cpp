// Where weights come from, and configs by their names: what the program says of itself.
#include <nlohmann/json.hpp>

#include "tests/program.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kWarning =
    "the weights are random, so the answers mean nothing; train the model, or name one with -m\n";

class CliOrigin : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder);
    std::string text;
    for (int i = 0; i < 40; ++i) text += "a line of a text, number " + std::to_string(i) + "\n";
    write_file(folder / "text.txt", text);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const std::string& name) const { return (folder / name).string(); }

  // Two steps of a very small model.
  Result train(const std::string& name, const std::string& more = "") const {
    return run("train language_bytes_mini --threads 1 --dtype float32 --data " + path("text.txt") +
               " -o " + path(name) + " " + more +
               " train.steps=2 train.batch=2 train.accumulate=1 model.num_inputs=32"
               " model.encoder.num_latents=4 model.encoder.self_attends_per_block=1");
  }

  const fs::path folder = fs::path(testing::TempDir()) / ("cli_origin_" + std::to_string(getpid()));
};

TEST_F(CliOrigin, RandomWeightsAreCalledRandomBeforeAnyResult) {
  const Result result = run("classify --threads 1 -m imagenet_mini samples/pictures/frog.png");
  ASSERT_EQ(result.code, 0) << result.err;
  const std::string first = result.err.substr(0, result.err.find('\n'));
  EXPECT_NE(first.find("imagenet_mini: imagenet, new model, random weights, "), first.npos)
      << first;
  EXPECT_EQ(first.find("deepmind"), first.npos) << first;
  EXPECT_NE(result.err.find(kWarning), result.err.npos) << result.err;
}

TEST_F(CliOrigin, RandomWeightsStayRandomInWhatConvertWrites) {
  const Result converted = run("convert language_bytes_mini " + path("random"));
  ASSERT_EQ(converted.code, 0) << converted.err;
  const Result filled =
      run("fill --threads 1 --json --bytes 2 \"a [MASK] b\" -m " + path("random"));
  ASSERT_EQ(filled.code, 0) << filled.err;
  EXPECT_NE(filled.err.find("language, new model, random weights, "), filled.err.npos);
  EXPECT_NE(filled.err.find(kWarning), filled.err.npos) << filled.err;
  EXPECT_EQ(Json::parse(filled.out)[0]["origin"], "random");
}

TEST_F(CliOrigin, RunsAreTrainedHere) {
  const Result begun = train("mine");
  ASSERT_EQ(begun.code, 0) << begun.err;
  EXPECT_NE(begun.err.find("language, new model, random weights, "), begun.err.npos) << begun.err;
  const Result used = run("fill --threads 1 --jsonl --bytes 2 \"a [MASK] b\" -m " + path("mine"));
  ASSERT_EQ(used.code, 0) << used.err;
  EXPECT_NE(used.err.find("language, trained here (run mine, 2 steps), "), used.err.npos)
      << used.err;
  EXPECT_EQ(used.err.find(kWarning), used.err.npos) << used.err;
  EXPECT_EQ(Json::parse(used.out)["origin"], "trained");

  const Result again = train("again", "--from " + path("mine"));
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.err.find("language, new model, weights from " + path("mine") + ", "),
            again.err.npos)
      << again.err;
}

TEST_F(CliOrigin, ShippedModelsAreCalledShippedAndNameTheirClasses) {
  const Result result = run("classify --threads 1 --jsonl samples/pictures/frog.png");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(
      result.err.starts_with("image-mini: imagenet, shipped small model trained by this "
                             "project, not DeepMind's weights, "))
      << result.err;
  EXPECT_NE(result.err.find("\n10 classes: airplane, automobile, bird, cat, deer, dog, frog, "
                            "horse, ship, truck\n"),
            result.err.npos)
      << result.err;
  EXPECT_EQ(result.err.find(kWarning), result.err.npos) << result.err;
  EXPECT_EQ(Json::parse(result.out)["origin"], "shipped");
}

TEST_F(CliOrigin, ACopyOfAShippedModelIsStillTheProjects) {
  ASSERT_EQ(run("convert image-mini " + path("copy")).code, 0);
  const Result copy = run("inspect --json " + path("copy"));
  ASSERT_EQ(copy.code, 0) << copy.err;
  EXPECT_EQ(Json::parse(copy.out)["origin"], "shipped");
}

TEST_F(CliOrigin, LatentsAndAnswersCarryTheOrigin) {
  const Result encoded = run("encode --threads 1 --json --text \"a text\" -o " +
                             path("latents.safetensors") + " -m language_bytes_mini");
  ASSERT_EQ(encoded.code, 0) << encoded.err;
  EXPECT_EQ(Json::parse(encoded.out)["origin"], "random");
  const Result asked = run("query --threads 1 --json " + path("latents.safetensors"));
  ASSERT_EQ(asked.code, 0) << asked.err;
  EXPECT_EQ(Json::parse(asked.out)["origin"], "random");
}

TEST_F(CliOrigin, SemanticsAreNamedAsSemantics) {
  const Result quiet = run("inspect flow-mini");
  EXPECT_NE(quiet.out.find("not DeepMind's weights; computes as DeepMind's code does\n"),
            quiet.out.npos)
      << quiet.out;
  const Result other = run("inspect tests/golden/huggingface/language");
  EXPECT_NE(other.out.find("weights from Hugging Face; computes as Hugging Face's code does\n"),
            other.out.npos)
      << other.out;
}

TEST_F(CliOrigin, ConfigsHaveNamesWhereverTheProgramIs) {
  for (const char* name :
       {"imagenet_fourier", "imagenet_fourier.toml", "configs/imagenet_fourier.toml"}) {
    const Result result = run("inspect --json " + std::string(name), "cd " + folder.string() + ";");
    EXPECT_EQ(result.code, 0) << result.err;
  }
  write_file(folder / "imagenet_fourier.toml", "task = \"imagenet\"\n[model]\nimage_size = 64\n");
  const Result own = run("inspect --json imagenet_fourier.toml", "cd " + folder.string() + ";");
  ASSERT_EQ(own.code, 0) << own.err;
  EXPECT_EQ(Json::parse(own.out)["inputs"][0], 64 * 64);
  expect_complaint("train flow_mni",
                   "flow_mni: no such file, and no shipped config of that name; did you mean "
                   "'flow_mini'?");
}

TEST_F(CliOrigin, TrainShowsTheKeysOfAConfigAndTrainsNothing) {
  const Result result = run("train flow_mini --keys train.steps=7", "cd " + folder.string() + ";");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("\n  train.steps=7  (default 1000; integer, at least 0)\n"),
            result.out.npos)
      << result.out;
  EXPECT_NE(result.out.find("\n  data.generator.textures="), result.out.npos);
  EXPECT_FALSE(fs::exists(folder / "runs"));
}

}  // namespace
}  // namespace perceiver
