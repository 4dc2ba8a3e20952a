// Inputs that somebody else made, to hurt: one sentence, exit 1, and nothing a terminal obeys.
#include <sys/stat.h>

#include "tests/program.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

class HostileTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const std::string& name) const { return (folder / name).string(); }

  const fs::path folder =
      fs::path(testing::TempDir()) / ("perceiver_hostile_cli_" + std::to_string(getpid()));
};

TEST_F(HostileTest, WhatATerminalObeysIsSpeltOut) {
  write_file(folder / "x.toml", "task = \"\\u001b[2Jlanguage\"\n");
  const Result result = run("inspect " + path("x.toml"));
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(
      result.err.starts_with("perceiver: " + path("x.toml") + ": unknown task '\\x1b[2Jlanguage'"))
      << result.err;
}

TEST_F(HostileTest, ALinkToItselfIsOneSentence) {
  fs::create_symlink("loop", folder / "loop");
  const std::string text = (shipped("samples") / "sentences.txt").string();
  for (const std::string& arguments :
       {"classify -q " + path("loop"), "run " + path("loop") + " x",
        "convert " + path("loop") + " y", "eval language-mini -q --data " + path("loop"),
        "classify -q " + text + " -m " + path("loop")}) {
    const Result result = run(arguments);
    EXPECT_EQ(result.code, 1) << arguments;
    EXPECT_TRUE(result.err.starts_with("perceiver: ")) << arguments << "\n" << result.err;
  }
}

TEST_F(HostileTest, APictureMayComeThroughAPipeThatSomebodyWritesTo) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const std::string picture = (shipped("samples") / "pictures/cat.png").string();
  const Result result =
      run("classify -q -k 1 " + path("pipe"), "(cat " + picture + " >" + path("pipe") + " &);");
  EXPECT_EQ(result.code, 0) << result.err;
  const auto answer = [](const std::string& out) { return out.substr(out.find('\n')); };
  EXPECT_EQ(answer(result.out), answer(run("classify -q -k 1 " + picture).out));
}

TEST_F(HostileTest, NoVerbWritesOverItsInput) {
  const std::string picture = path("cat.png");
  fs::copy_file(shipped("samples") / "pictures/cat.png", picture);
  fs::create_symlink("cat.png", folder / "link.png");
  const std::string before = read_file(picture).bytes;
  for (const std::string verb : {"encode -q ", "attend -q "}) {
    for (const std::string& output : {picture, path("link.png")}) {
      expect_complaint(verb + picture + " -o " + output,
                       output + ": is an input and would be overwritten; give another output");
    }
  }
  EXPECT_EQ(read_file(picture).bytes, before);
}

TEST_F(HostileTest, NoVerbWritesOverTheModelItReads) {
  const fs::path model = folder / "model";
  fs::copy("tests/golden/huggingface/text-classifier", model);
  const std::string weights = (model / "model.safetensors").string();
  const std::string config = (model / "config.json").string();
  const std::string before = read_file(weights).bytes, settings = read_file(config).bytes;
  const std::string io = (model / "io.safetensors").string();
  for (const std::string& output : {weights, config}) {
    expect_complaint("run " + model.string() + " " + io + " -o " + output,
                     output + ": is an input and would be overwritten; give another output");
  }
  const std::string text = path("text.txt");
  write_file(text, "It was a dark and stormy night.\n");
  expect_complaint("eval language-mini -q --data " + text + " eval.examples=1 -o " + text,
                   text + ": is an input and would be overwritten; give another output");
  EXPECT_EQ(read_file(weights).bytes, before);
  EXPECT_EQ(read_file(config).bytes, settings);
  EXPECT_EQ(read_file(text).bytes, "It was a dark and stormy night.\n");
}

TEST_F(HostileTest, NamesThatAreNoUtf8AreShownAndRefusedWhereAConfigWouldHoldThem) {
  const std::string bad = path("\xff"), model = path("model\xff");
  fs::create_directories(bad);
  fs::copy("tests/golden/huggingface/text-classifier", model);
  const Result shown = run("inspect --json " + model);
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(shown.out.find("model\xEF\xBF\xBD"), std::string::npos) << shown.out;
  const std::string complaint = ": its name is no UTF-8, which a config's text must be; rename it";
  for (const std::string verb :
       {"eval language-mini -q --data ", "train language_bytes_mini --data "}) {
    const Result refused = run(verb + bad);
    EXPECT_EQ(refused.code, 1) << verb << refused.err;
    EXPECT_NE(refused.err.find(complaint), std::string::npos) << refused.err;
  }
}

}  // namespace
}  // namespace perceiver
