// flow and classify of a stream that this test serves over the loopback.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "perceiver/core/lines.h"
#include "perceiver/media/drawn_clip_test.h"
#include "perceiver/media/stream_server_test.h"
#include "tests/program.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using std::chrono::milliseconds;

class CliLive : public Video {
 protected:
  // Eight seconds of pictures, a few at a time.
  void SetUp() override {
    Video::SetUp();
    if (IsSkipped()) return;
    const fs::path path = empty_folder("cli_live") / "clip.ts";
    VideoWriter writer(path, {.height = 48, .width = 64, .frames_per_second = 25});
    for (int64_t i = 0; i < 200; ++i) writer.write(drawn(i % kFrames));
    writer.finish();
    server.emplace(read_file(path).bytes, 100, milliseconds(40));
  }

  std::optional<StreamServer> server;
};

TEST_F(CliLive, FlowOfAStreamComesPairByPair) {
  const fs::path out = empty_folder("cli_live_out") / "flow.mkv";
  const Result result =
      run("flow -q --jsonl --count 3 " + server->address() + " -o " + out.string());
  ASSERT_EQ(result.code, 0) << result.err;
  const std::vector<std::string> lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), 3U) << result.out;
  for (const std::string& line : lines) {
    const Json pair = Json::parse(line);
    const std::string first = pair["first"], second = pair["second"];
    EXPECT_TRUE(first.starts_with(server->address() + ", frame ")) << line;
    EXPECT_EQ(std::stoi(second.substr(second.rfind(' '))),
              std::stoi(first.substr(first.rfind(' '))) + 1);
  }
  VideoReader written(read_file(out));
  EXPECT_EQ(all_frames(written).size(), 3U);
}

TEST_F(CliLive, FlowInWords) {
  const Result result = run("flow -q --count 1 " + server->address());
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("frames ")) << result.out;
  EXPECT_NE(result.out.find(" pixels, "), std::string::npos) << result.out;
}

TEST_F(CliLive, ClassesOfAStream) {
  const Result result = run("classify -q --jsonl --count 2 -k 3 " + server->address());
  ASSERT_EQ(result.code, 0) << result.err;
  const std::vector<std::string> lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), 2U) << result.out;
  for (const std::string& line : lines) EXPECT_EQ(Json::parse(line)["top"].size(), 3U) << line;
}

TEST_F(CliLive, WhatCannotBeIsSaid) {
  expect_complaint("flow -q --json " + server->address(),
                   "--json: a stream has no end to wait for; --jsonl gives a line for each result");
  expect_complaint("flow -q --ranks 2 " + server->address(),
                   "--ranks: a stream is taken by one process");
  expect_complaint("flow -q http://127.0.0.1:1/none",
                   "http://127.0.0.1:1/none: cannot open: connection refused");
  expect_complaint("flow -q --ground-truth x.flo " + server->address(),
                   "--ground-truth: is for files; " + server->address() + " is a stream");
}

}  // namespace
}  // namespace perceiver
