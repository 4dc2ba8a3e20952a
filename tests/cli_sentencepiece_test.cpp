// Models on SentencePiece through every verb that reads texts.
#include <nlohmann/json.hpp>

#include "tests/program.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kTiny = R"(
[model]
vocabulary_size = 44
num_inputs = 48
input_channels = 16
[model.encoder]
num_latents = 4
latent_channels = 16
self_attends_per_block = 1
cross_attend = { num_heads = 2, qk_channels = 8, v_channels = 16 }
self_attend = { num_heads = 2, qk_channels = 8, v_channels = 16 }
)";

// A tokenizer of a few lines, and models of every task of texts that were trained with it.
class CliSentencePiece : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder);
    std::string text, csv = "text,label\n";
    for (int i = 0; i < 60; ++i) {
      const std::string line = i % 2 ? "the queries attend to the latents"
                                     : "outputs are what the inputs ask for " + std::to_string(i);
      text += line + "\n";
      csv += line + (i % 2 ? ",even\n" : ",odd\n");
    }
    write_file(folder / "texts.txt", text);
    write_file(folder / "texts.csv", csv);
    const Result made = run("data sentencepiece " + path("texts.txt") + " -o " +
                            path("spiece.model") + " --vocabulary 44");
    ASSERT_EQ(made.code, 0) << made.err;
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const std::string& name) const { return (folder / name).string(); }

  void train(const std::string& task, const std::string& data, const std::string& more = "") const {
    write_file(path(task + ".toml"), "task = \"" + task + "\"\n" + more);
    const Result result = run(
        "train " + path(task + ".toml") + " --threads 1 --data " + path(data) + " -o " +
        path(task) + " data.tokenizer=" + path("spiece.model") + " train.steps=2 train.batch=4");
    ASSERT_EQ(result.code, 0) << result.err;
  }

  fs::path folder = fs::path(testing::TempDir()) / ("cli_pieces_" + std::to_string(getpid()));
};

TEST_F(CliSentencePiece, ALanguageModelIsLookedAtEncodedQueriedAndMeasured) {
  train(
      "language", "texts.txt",
      std::string(kTiny) +
          "[model.decoder]\ncross_attend = { num_heads = 2, qk_channels = 8, v_channels = 16 }\n");
  const std::string model = " -q -m " + path("language");

  // Pieces are shown, a missing word as [MASK].
  const Result attended = run("attend \"the [MASK] attend\" --clusters 1" + model);
  ASSERT_EQ(attended.code, 0) << attended.err;
  EXPECT_NE(attended.out.find("the[MASK] attend"), std::string::npos) << attended.out;

  const Result encoded = run("encode --text \"the queries attend to the [MASK]\" -o " +
                             path("latents.safetensors") + model);
  ASSERT_EQ(encoded.code, 0) << encoded.err;
  const Result asked = run("query " + path("latents.safetensors") + " -q --words 2,6 -k 3 --json");
  ASSERT_EQ(asked.code, 0) << asked.err;
  const Json words = Json::parse(asked.out)["words"];
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(words[0]["word"], "queries");
  ASSERT_FALSE(words[0]["pieces"].empty());
  EXPECT_EQ(words[0]["pieces"][0]["top"].size(), 3u);
  EXPECT_EQ(words[1]["word"], "[MASK]");
  EXPECT_FALSE(words[1]["candidates"].empty());

  EXPECT_EQ(run("fill \"the [MASK] attend\"" + model).code, 0);
  const Result measured = run("eval " + path("language") + " --json --data " + path("texts.txt"));
  ASSERT_EQ(measured.code, 0) << measured.err;
  EXPECT_TRUE(Json::parse(measured.out).contains("bits_per_byte"));

  fs::remove(fs::canonical(folder / "language" / "best") / "spiece.model");
  const Result lost = run("attend \"the [MASK] attend\" --clusters 1" + model);
  EXPECT_EQ(lost.code, 1);
  EXPECT_NE(lost.err.find(": a vocabulary of 44 is not that of bytes (262), and there is no "
                          "spiece.model, tokenizer.model or sentencepiece.model in "),
            std::string::npos)
      << lost.err;
}

TEST_F(CliSentencePiece, AClassifierOfTextsIsAskedInItsPieces) {
  train("text_classifier", "texts.csv", kTiny);
  const std::string model = " -q -m " + path("text_classifier");
  const Result asked = run("classify \"the queries attend\" --json" + model);
  ASSERT_EQ(asked.code, 0) << asked.err;
  EXPECT_EQ(Json::parse(asked.out)[0]["top"].size(), 2u);
  const Result pair = run("classify \"the queries\" --pair \"the latents\" --json" + model);
  ASSERT_EQ(pair.code, 0) << pair.err;
  EXPECT_NE(Json::parse(pair.out)[0]["top"], Json::parse(asked.out)[0]["top"]);
  const Result attended = run("attend \"the queries attend\" --clusters 1" + model);
  ASSERT_EQ(attended.code, 0) << attended.err;
  EXPECT_NE(attended.out.find("[CLS] the queries attend[SEP]"), std::string::npos) << attended.out;
  EXPECT_EQ(run("eval " + path("text_classifier") + " --json").code, 0);
}

}  // namespace
}  // namespace perceiver
