#include "perceiver/tasks/latents_file.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

const std::string kPath = testing::TempDir() + "perceiver_latents.safetensors";

LatentsFile small() {
  return {.task = "language",
          .model = "language-mini",
          .fingerprint = "0123456789abcdef",
          .input = "poem.txt",
          .arrays = {{"latents", at::arange(12, at::kFloat).view({1, 3, 4})},
                     {"ids", at::tensor({7, 8}).view({1, 2})}},
          .geometry = {{"tile_starts", {0, 20, -3}}}};
}

TEST(LatentsFile, ComesBack) {
  write_latents(kPath, small());
  const LatentsFile read = read_latents(kPath);
  EXPECT_EQ(read.task, "language");
  EXPECT_EQ(read.model, "language-mini");
  EXPECT_EQ(read.fingerprint, "0123456789abcdef");
  EXPECT_EQ(read.input, "poem.txt");
  EXPECT_TRUE(read.latents().equal(small().latents()));
  EXPECT_TRUE(read.arrays.at("ids").equal(small().arrays.at("ids")));
  EXPECT_EQ(read.geometry, small().geometry);
  fs::remove(kPath);
}

TEST(LatentsFile, InMemoryIsTheFile) {
  write_latents(kPath, small());
  const std::string bytes = read_file(kPath).bytes;
  fs::remove(kPath);
  EXPECT_EQ(encode_latents(small()), bytes);
  EXPECT_EQ(decode_latents({"the body", bytes}).name, "the body");
  EXPECT_EQ(error_of([] {
              decode_latents({"the body", "no latents"});
            }).substr(0, 23),
            "the body: not latents (");
}

// What reading a file says, whose metadata or arrays are these.
std::string error_of_file(const Metadata& changes, const Tensor& latents = at::zeros({1, 1, 1})) {
  Metadata metadata = {{"format", "perceiver latents"},
                       {"version", "1"},
                       {"task", "t"},
                       {"model", "m"},
                       {"fingerprint", "f"},
                       {"input", "i"}};
  for (const auto& [key, value] : changes) {
    if (value.empty()) {
      metadata.erase(key);
    } else {
      metadata[key] = value;
    }
  }
  write_safetensors(kPath, {{"latents", latents}}, metadata);
  const std::string error = error_of([] { read_latents(kPath); });
  fs::remove(kPath);
  return error.starts_with(kPath) ? error.substr(kPath.size()) : error;
}

TEST(LatentsFile, AnythingElseIsRefused) {
  EXPECT_EQ(error_of_file({}), "no error");
  EXPECT_EQ(error_of_file({{"format", "pt"}}),
            ": no file of latents; make one with 'perceiver encode'");
  EXPECT_EQ(error_of_file({{"version", "2"}}), ": version 2 of the format, this program reads 1");
  EXPECT_EQ(error_of_file({{"task", ""}}), ": its metadata have no 'task'");
  EXPECT_EQ(error_of_file({{"geometry.x", "1,b"}}),
            ": geometry.x: expected numbers with commas between, got '1,b'");
  EXPECT_EQ(error_of_file({}, at::zeros({2, 2})), ": latents has shape [2, 2], expected [*, *, *]");
  EXPECT_EQ(error_of_file({}, at::zeros({1, 0, 1})), ": its latents are empty");
  EXPECT_EQ(error_of_file({}, at::zeros({1, 1, 1}, at::kLong)),
            ": 'latents' is of I64, expected F32");
}

}  // namespace
}  // namespace perceiver
