// The built program, driven through a shell as a user would.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/program.h"

namespace perceiver {
namespace {

using Json = nlohmann::json;

TEST(Cli, HelpComesWithExamplesFirstAndIsNoError) {
  for (const std::string verb : {"", "paper ", "inspect "}) {
    const Result result = run(verb + "-h");
    EXPECT_EQ(result.code, 0);
    EXPECT_TRUE(result.out.starts_with("Examples:\n  perceiver ")) << result.out;
    EXPECT_EQ(result.err, "");
  }
}

TEST(Cli, UnknownWordsGetTheNearestOne) {
  expect_complaint("", "a verb is missing; see 'perceiver -h'");
  expect_complaint("papr", "unknown verb 'papr'; did you mean 'paper'?");
  expect_complaint("xyzzy", "unknown verb 'xyzzy'; see 'perceiver -h'");
  expect_complaint("paper --jsn", "unknown option '--jsn'; did you mean '--json'?");
  expect_complaint("inspect --jsn", "unknown option '--jsn'; did you mean '--json'?");
}

TEST(Cli, MistakesInAConfigAreOneLine) {
  expect_complaint("inspect", "CONFIG is missing; see 'perceiver inspect -h'");
  expect_complaint("inspect nowhere.toml",
                   "nowhere.toml: no such file, and no shipped config of that name");
  expect_complaint("inspect /tmp", "/tmp/config.json: cannot open: No such file or directory");
  const std::string flow = config("flow_patches.toml");
  expect_complaint("inspect " + flow + " model.encoder.num_latent=3",
                   "command line: unknown key 'model.encoder.num_latent'; did you mean "
                   "'model.encoder.num_latents'?");
  expect_complaint("inspect " + flow + " model.encoder.num_latents=many",
                   "command line: 'model.encoder.num_latents' must be an integer");
  expect_complaint("inspect " + flow + " model.encoder.num_latents=0",
                   "command line: 'model.encoder.num_latents' must be at least 1, got 0");
  expect_complaint("inspect " + flow + " model.encoder.self_attend.num_heads=7",
                   flow +
                       ": model.encoder.self_attend: qk_channels (512) and v_channels (512) "
                       "must be multiples of num_heads (7)");
}

TEST(Cli, InspectGivesTheReleasedModelsSizes) {
  const std::map<std::string, int64_t> parameters = {
      {"language_bytes", 201'108'230},  {"imagenet_fourier", 48'440'627},
      {"imagenet_learned", 62'255'848}, {"imagenet_conv", 48'646'522},
      {"flow_patches", 41'057'134},     {"multimodal_784", 19'858'855}};
  for (const auto& [name, count] : parameters) {
    const Result result = run("inspect --json " + config(name + ".toml"));
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(Json::parse(result.out)["parameters"], count) << name;
  }
}

TEST(Cli, InspectSaysWhichKernelAndWhyNotAFasterOne) {
  const Json eval = Json::parse(run("inspect --json " + config("flow_patches.toml")).out);
  const Json train =
      Json::parse(run("inspect --split train --json " + config("flow_patches.toml")).out);
  const auto encoder = [](const Json& document) {
    for (const Json& part : document["parts"]) {
      if (part["name"] == "encoder.cross_attend") return part["attention"];
    }
    return Json();
  };
  EXPECT_EQ(encoder(eval)["kernel"], "streamed");  // by the inference form
  EXPECT_EQ(encoder(eval)["refusals"], Json::array());
  EXPECT_EQ(encoder(eval)["queries"], 2048);
  EXPECT_EQ(encoder(eval)["keys"], 182'528);
  EXPECT_EQ(encoder(train)["kernel"], "tiled");
  EXPECT_EQ(encoder(train)["refusals"][4], "library: needs the GPU, the tensors are on cpu");
}

TEST(Cli, InspectOfAGpuNeedsNone) {
  for (const char* name :
       {"flow_patches", "imagenet_fourier", "imagenet_conv", "multimodal_784", "language_bytes"}) {
    for (const char* how : {"--split eval", "--split train", "--dtype bfloat16"}) {
      const Result result = run(fmt::format("inspect --device cuda --json {} {}", how,
                                            config(std::string(name) + ".toml")));
      EXPECT_EQ(result.code, 0) << name << result.err;
    }
  }
}

TEST(Cli, AKernelOfAnotherDeviceIsRefusedBeforeTheModelIsLoaded) {
  for (const char* name : {"resident", "narrow"}) {
    expect_complaint(fmt::format("attend -m nowhere --device cpu --attention {}", name),
                     fmt::format("attention kernel '{}' needs a GPU, the device is cpu; known "
                                 "there: auto, check, tiled, reference",
                                 name));
  }
}

TEST(Cli, SessionsSayWhatComputesAttention) {
  const Result usual = run("attend --json --device cpu -o " + testing::TempDir() + "usual.png");
  EXPECT_EQ(usual.code, 0) << usual.err;
  EXPECT_NE(usual.err.find(", attention: streamed\n"), std::string::npos) << usual.err;
  const Result named = run("classify --device cpu --attention tiled samples/pictures/ship.png");
  EXPECT_EQ(named.code, 0) << named.err;
  EXPECT_NE(named.err.find(", attention: tiled, without the inference form\n"), std::string::npos)
      << named.err;
}

constexpr const char* kGolden = "tests/golden/huggingface/text-classifier";

TEST(Cli, RunComparesWithTheReferenceAndSaysBySoMuch) {
  const std::string io = std::string(kGolden) + "/io.safetensors";
  const Result good = run("run --check " + std::string(kGolden) + " " + io);
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_TRUE(good.out.starts_with("logits: largest difference ")) << good.out;
  EXPECT_NE(good.err.find("text_classifier, weights from Hugging Face, "), std::string::npos)
      << good.err;
  const Result bad =
      run("run --check --semantics deepmind --atol 1e-9 " + std::string(kGolden) + " " + io);
  EXPECT_EQ(bad.code, 1);
  EXPECT_TRUE(bad.err.ends_with("differs by more than 1e-09 (--atol)\n")) << bad.err;
}

TEST(Cli, WhatConvertWritesRunsAlike) {
  const std::string out = testing::TempDir() + "perceiver_cli_converted";
  const Result converted = run("convert " + std::string(kGolden) + " " + out);
  EXPECT_EQ(converted.code, 0) << converted.err;
  EXPECT_EQ(converted.out, out + "\n");
  const Result again = run("run --check " + out + " " + std::string(kGolden) + "/io.safetensors");
  EXPECT_EQ(again.code, 0) << again.err;
  const Result inspected = run("inspect --json " + out);
  EXPECT_EQ(inspected.code, 0) << inspected.err;
  EXPECT_EQ(Json::parse(inspected.out)["latents"], (std::vector<int64_t>{8, 32}));
  std::filesystem::remove_all(out);
}

TEST(Cli, MistakesOfRunAreOneLine) {
  expect_complaint("run " + std::string(kGolden) + " README.md",
                   "README.md: header of 7594585689609478179 bytes, expected at most 100000000");
  expect_complaint("run nowhere " + std::string(kGolden) + "/io.safetensors",
                   "no model 'nowhere'; looked at nowhere, " +
                       (shipped("models") / "nowhere").string() +
                       "; PERCEIVER_MODELS can name a folder of models");
}

TEST(Cli, PaperAsJsonHasEveryRowAndNothingElseOnStdout) {
  const Result result = run("paper --json");
  EXPECT_EQ(result.code, 0) << result.err;
  const Json rows = Json::parse(result.out);
  EXPECT_GE(rows.size(), 38);
  for (const Json& row : rows) {
    for (const char* key : {"name", "paper", "built", "verdict", "note"}) {
      EXPECT_TRUE(row.contains(key)) << row;
    }
    for (const char* key : {"params", "flops"}) {
      if (row["verdict"] != "match" || row["paper"][key].is_null()) continue;
      const double ratio = row["built"][key].get<double>() / row["paper"][key].get<double>();
      EXPECT_LE(std::abs(ratio - 1.0), 0.005) << row;
    }
    if (row["verdict"] == "explained") {
      EXPECT_FALSE(row["note"].get<std::string>().empty()) << row;
    }
  }
}

TEST(Cli, PaperAsATableEndsWithTheCount) {
  const Result result = run("paper");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("Perceiver IO, configuration A"), std::string::npos);
  EXPECT_NE(result.out.find(" match within 0.5 %, "), std::string::npos);
  EXPECT_NE(result.out.find("ImageNet, top-1"), std::string::npos);
  EXPECT_NE(result.out.find("The paper's claims, run small"), std::string::npos);
}

TEST(Cli, PaperAsAPageHasTablesRecipesAndClaims) {
  const std::filesystem::path page =
      std::filesystem::temp_directory_path() / "perceiver_paper.html";
  const Result result = run("paper --html " + page.string());
  EXPECT_EQ(result.code, 0) << result.err;
  const std::string html = read_file(page).bytes;
  for (const char* part : {"<!doctype html>", "<td>79.0 %</td>", "<td>train.batch=2048</td>",
                           "Perceiver IO in place of AlphaStar's Transformer", "</html>"}) {
    EXPECT_NE(html.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(html.find("<td>differs</td>"), std::string::npos);
  std::filesystem::remove(page);
}

}  // namespace
}  // namespace perceiver
