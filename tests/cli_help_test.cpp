// Help, version, models, and what is printed to a full disk.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "perceiver/core/lines.h"
#include "tests/program.h"

namespace perceiver {
namespace {

using Json = nlohmann::json;

const std::vector<std::string>& verbs() {
  static const std::vector<std::string> all = {
      "demo",   "fill",  "classify", "flow",      "autoencode",
      "encode", "query", "attend",   "train",     "sweep",
      "eval",   "new",   "data",     "data flow", "data sentencepiece",
      "run",    "serve", "convert",  "models",    "inspect",
      "bench",  "paper", "help",     "version"};
  return all;
}

TEST(CliHelp, OfEveryVerbFitsTheTerminal) {
  for (const int width : {60, 80, 100}) {
    for (const std::string& verb :
         {std::string(), std::string("flow"), std::string("train"), std::string("sweep")}) {
      const Result help = run(verb + " -h", "COLUMNS=" + std::to_string(width));
      for (const std::string& line : lines_of(help.out)) {
        EXPECT_LE(line.size(), static_cast<size_t>(width)) << line;
      }
    }
  }
}

TEST(CliHelp, HasNoneOfTheParsersWords) {
  for (const std::string& verb : verbs()) {
    const Result help = run(verb + " -h");
    EXPECT_EQ(help.code, 0) << verb;
    for (const char* word : {"INT", "UINT", "FLOAT", "REQUIRED", "Excludes:", "Needs:", "x)",
                             " in [", "POSITIVE", "SUBCOMMAND"}) {
      EXPECT_EQ(help.out.find(word), std::string::npos) << verb << ": " << word;
    }
    EXPECT_NE(help.out.find("Usage: perceiver " + verb), std::string::npos) << help.out;
  }
}

TEST(CliHelp, BeginsWithWhatMostPeopleWant) {
  const std::string help = run("-h").out;
  for (const char* verb : {"fill", "classify", "flow", "train"}) {
    EXPECT_LT(help.find("\n  perceiver " + std::string(verb)), help.find("Usage:")) << verb;
  }
}

TEST(CliHelp, IsAVerbToo) {
  EXPECT_EQ(run("help").out, run("-h").out);
  EXPECT_EQ(run("help fill").out, run("fill -h").out);
  EXPECT_EQ(run("help data flow").out, run("data flow -h").out);
  EXPECT_EQ(run("version").out, run("--version").out);
}

TEST(CliHelp, ExamplesBrokenForANarrowTerminalAreStillOneCommand) {
  const std::string narrow = run("flow -h", "COLUMNS=50").out,
                    wide = run("flow -h", "COLUMNS=120").out;
  std::string joined = narrow.substr(0, narrow.find("\n\n"));
  for (size_t at = joined.find(" \\\n    "); at != joined.npos; at = joined.find(" \\\n    ")) {
    joined.replace(at, 7, " ");
  }
  EXPECT_EQ(joined, wide.substr(0, wide.find("\n\n")));
}

TEST(CliModels, ListsWhatIsHereWhatIsNotAndTheConfigs) {
  const Result listed = run("models", "env -u PERCEIVER_MODELS HF_HUB_CACHE=/nonexistent");
  EXPECT_EQ(listed.code, 0) << listed.err;
  for (const char* expected : {"  language-mini ", "  image-mini ", "  flow-mini ", "  flow_mini ",
                               "  deepmind/language-perceiver\n", "https://huggingface.co/"}) {
    EXPECT_NE(listed.out.find(expected), std::string::npos) << expected << listed.out;
  }
  const Json document = Json::parse(run("models --json").out);
  for (const Json& config : document["configs"]) {
    EXPECT_GT(config["parameters"], 0) << config;
    EXPECT_TRUE(std::filesystem::exists(config["path"].get<std::string>())) << config;
  }
}

TEST(CliModels, SaysWhereAModelIsFromItsSizeAndItsScore) {
  const Json document = Json::parse(run("models --json").out);
  ASSERT_GE(document["models"].size(), 3U);
  for (const Json& model : document["models"]) {
    if (model["from"] != "shipped") continue;
    EXPECT_GT(model["bytes"], 100'000) << model;
    EXPECT_NE(model["score"], "") << model;
  }
  const std::string listed = run("models").out;
  EXPECT_NE(listed.find("Models that come with the program, "), std::string::npos) << listed;
  EXPECT_NE(listed.find(" MiB  "), std::string::npos) << listed;
}

TEST(CliModels, NamesAloneAreAllThatMTakes) {
  const std::string names = "\n" + run("models --names").out;
  for (const char* name : {"language-mini", "flow_mini", "imagenet_fourier"}) {
    EXPECT_NE(names.find("\n" + std::string(name) + "\n"), std::string::npos) << names;
  }
}

TEST(CliVersion, SaysWhatTheProgramWasBuiltOf) {
  const Result version = run("--version");
  EXPECT_EQ(version.code, 0);
  EXPECT_TRUE(version.out.starts_with("perceiver ")) << version.out;
  for (const char* fact :
       {"compiler ", "LibTorch ", "CUDA ", "FFmpeg ", "instruction sets ", "server "}) {
    EXPECT_NE(version.out.find("\n  " + std::string(fact)), std::string::npos) << version.out;
  }
}

TEST(CliDoctor, FindsWhatIsHere) {
  const Result found = run("doctor", "HF_HUB_CACHE=/nonexistent");
  EXPECT_EQ(found.code, 0) << found.err;
  for (const char* line : {"  processors ", "  GPUs ", "  LibTorch ", "language-mini",
                           "/nonexistent: no such folder"}) {
    EXPECT_NE(found.out.find(line), std::string::npos) << line << found.out;
  }
  const Json document = Json::parse(run("doctor --json").out);
  for (const char* part : {"machine", "libraries", "models"}) {
    EXPECT_FALSE(document[part].empty()) << part;
  }
}

TEST(CliDoctor, SaysWhatToDo) {
  const Result lost = run("doctor", "PERCEIVER_MODELS=/nonexistent");
  EXPECT_NE(lost.out.find("To do:\n"), std::string::npos) << lost.out;
  EXPECT_NE(lost.out.find("PERCEIVER_MODELS names a folder that is not there"), std::string::npos)
      << lost.out;
  const Result wrong = run("doctor", "PERCEIVER_ISA=sse");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_EQ(wrong.err, "perceiver: PERCEIVER_ISA is sse; expected any, avx2, avx512 or amx\n");
}

TEST(CliOutput, ThatCannotBeWrittenIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  const std::string errors = testing::TempDir() + "perceiver_full_err";
  for (const char* arguments : {"paper", "-h", "--version", "models --json", "bench --list",
                                "fill -q 'a [MASK]' --json", "classify -q"}) {
    const int status = std::system((std::string(std::getenv("PERCEIVER_PROGRAM")) + " " +
                                    arguments + " >/dev/full 2>" + errors)
                                       .c_str());
    EXPECT_EQ(WEXITSTATUS(status), 1) << arguments;
    const std::string said = read_file(errors).bytes;
    EXPECT_TRUE(said.starts_with("perceiver: standard output: cannot write")) << arguments << said;
    EXPECT_EQ(said.find('\n'), said.size() - 1) << said;
  }
  std::filesystem::remove(errors);
}

TEST(CliOutput, AReaderThatHasEnoughIsNoError) {
  const Result first = run("paper | head -n 1");
  EXPECT_EQ(first.code, 0);
  EXPECT_EQ(first.err, "");
}

TEST(CliConvert, WritesOverNothingUnasked) {
  const std::string out = testing::TempDir() + "perceiver_convert_twice";
  std::filesystem::remove_all(out);
  ASSERT_EQ(run("convert image-mini " + out).code, 0);
  write_file(out + "/config.json", "mine");
  expect_complaint("convert image-mini " + out,
                   out + ": is there already, expected a new or empty folder, or --overwrite");
  EXPECT_EQ(read_file(out + "/config.json").bytes, "mine");
  EXPECT_EQ(run("convert --overwrite image-mini " + out).code, 0);
  EXPECT_EQ(run("inspect " + out).code, 0);
  std::filesystem::remove_all(out);
}

TEST(CliBenchNames, ShippedModelsHaveTheirs) {
  for (const char* arguments : {"language-mini", "-m language-mini"}) {
    const Result result = run("bench --json --repeat 1 --threads 1 " + std::string(arguments));
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(Json::parse(result.out)["results"][0]["name"], "language-mini");
  }
  const Json list = Json::parse(run("bench --list --json").out);
  EXPECT_EQ(list[0]["name"], "language");
}

}  // namespace
}  // namespace perceiver
