#include "perceiver/zoo/weights_report.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "perceiver/core/error_test.h"
#include "perceiver/weights/safetensors.h"
#include "perceiver/weights/sharded.h"
#include "perceiver/zoo/golden_test.h"
#include "perceiver/zoo/model.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Kind = WeightsProblem::Kind;
using Json = nlohmann::json;

WeightsReport report_of(const fs::path& model) {
  return report_weights(model, *read_settings(settings_file(model)));
}

class GoldenWeightsTest : public testing::TestWithParam<const char*> {};

TEST_P(GoldenWeightsTest, AreAllThere) {
  const fs::path folder = golden(GetParam());
  if (!fs::exists(folder)) GTEST_SKIP() << "PERCEIVER_GOLDENS does not hold " << GetParam();
  const WeightsReport report = report_of(folder);
  EXPECT_EQ(count_problems(report.problems), "");
  EXPECT_GT(report.tensors, 0);
  EXPECT_GT(report.bytes, 0);
}

INSTANTIATE_TEST_SUITE_P(Goldens, GoldenWeightsTest, kGoldens, golden_test_name);

// A copy of a small model, to be spoilt.
class WeightsReportTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder);
    fs::create_directories(folder);
    fs::copy_file(kSource / "config.json", folder / "config.json");
    for (const auto& [name, tensor] : read_safetensors(kSource / "model.safetensors").tensors) {
      tensors[name] = tensor.clone();
    }
    write();
  }
  void TearDown() override { fs::remove_all(folder); }

  void write() {
    write_safetensors(folder / "model.safetensors", {tensors.begin(), tensors.end()});
  }

  std::string error_with(const char* key, int64_t value) {
    Json json = Json::parse(read_file(kSource / "config.json").bytes);
    json.erase("id2label");  // would win over num_labels
    json[key] = value;
    write_file(folder / "config.json", json.dump());
    return error_of([&] { report_of(folder); });
  }

  const fs::path kSource = "tests/golden/huggingface/text-classifier";
  const fs::path folder =
      fs::path(testing::TempDir()) / ("weights_report_" + std::to_string(getpid()));
  TensorMap tensors;
};

TEST_F(WeightsReportTest, CountsTensorsDtypesAndBytes) {
  const WeightsReport report = report_of(folder);
  EXPECT_EQ(report.source, (folder / "model.safetensors").string());
  EXPECT_EQ(report.tensors, 74);
  EXPECT_EQ(report.bytes, 60'102);  // two of each of 30,051 parameters
  EXPECT_EQ(report.dtypes, (std::map<std::string, int64_t>{{"float16", 74}}));
  EXPECT_TRUE(report.problems.empty());
}

TEST_F(WeightsReportTest, FindsEveryProblemAndNotTheFirstAlone) {
  const std::string latents = "perceiver.embeddings.latents";
  tensors.erase("perceiver.input_preprocessor.embeddings.weight");
  tensors["extra"] = at::zeros({1}, at::kInt);
  tensors["another"] = at::zeros({1});
  tensors[latents] = at::zeros({3, 32});
  write();
  const WeightsReport report = report_of(folder);
  std::vector<std::string> words;
  for (const WeightsProblem& problem : report.problems) words.push_back(to_string(problem));
  std::sort(words.begin(), words.end());
  EXPECT_EQ(words, (std::vector<std::string>{
                       "tensor 'another' is not one of this model's",
                       "tensor 'extra' is not one of this model's",
                       "tensor 'perceiver.embeddings.latents' has shape [3, 32], expected [8, 32]",
                       "tensor 'perceiver.input_preprocessor.embeddings.weight' is missing"}));
  EXPECT_EQ(count_problems(report.problems), "1 missing, 2 superfluous, 1 of another shape");
  EXPECT_EQ(report.dtypes,
            (std::map<std::string, int64_t>{{"float16", 72}, {"float32", 2}, {"int32", 1}}));
}

TEST_F(WeightsReportTest, ReadsSeveralFilesThroughTheirIndex) {
  write_sharded(folder, {tensors.begin(), tensors.end()}, {}, /*max_shard_bytes=*/20'000);
  const WeightsReport report = report_of(folder);
  EXPECT_EQ(report.source, (folder / "model.safetensors.index.json").string());
  EXPECT_EQ(report.tensors, 74);
  EXPECT_TRUE(report.problems.empty());
}

// Also of what would take for ever or all memory to build, and of a file that is none.
TEST_F(WeightsReportTest, HostileFilesAreOneLine) {
  const std::string config = (folder / "config.json").string();
  EXPECT_EQ(error_with("num_labels", 10'000'000),
            config +
                ": 10000000 classes, more than the file's largest tensor has numbers "
                "(6288)");
  EXPECT_EQ(error_of([&] { load_model(folder); }),
            config +
                ": 10000000 classes, more than the file's largest tensor has numbers "
                "(6288)");
  EXPECT_EQ(error_with("num_self_attends_per_block", 1'000'000),
            config + ": 1000000 self-attends a block, more than the file has tensors (74)");
  EXPECT_EQ(
      error_with("d_latents", int64_t{1} << 60),
      config + ": 'd_latents' must be an integer from 1 to 16777216, got 1152921504606846976");
  fs::copy_file(kSource / "config.json", folder / "config.json",
                fs::copy_options::overwrite_existing);
  const fs::path weights = folder / "model.safetensors";
  fs::resize_file(weights, 100);
  EXPECT_EQ(error_of([&] { report_of(folder); }).substr(0, weights.string().size() + 15),
            weights.string() + ": header ends a");
  fs::remove(weights);
  fs::create_symlink("model.safetensors", weights);
  EXPECT_EQ(error_of([&] { report_of(folder); }),
            weights.string() + ": cannot open: Too many levels of symbolic links");
  fs::remove(weights);
  EXPECT_EQ(error_of([&] { report_of(folder); }),
            folder.string() +
                ": no weights; looked for model.safetensors, "
                "model.safetensors.index.json, pytorch_model.bin, "
                "pytorch_model.bin.index.json");
}

}  // namespace
}  // namespace perceiver
