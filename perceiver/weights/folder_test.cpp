#include "perceiver/weights/folder.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "perceiver/weights/sharded.h"
#include "perceiver/weights/weights_test.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

const NamedTensors kTensors = {
    {"a", at::ones({2})}, {"b", at::ones({3})}, {"large", at::ones({10})}, {"c", at::ones({1})}};

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::path& path : sorted_entries(folder)) names.push_back(path.filename().string());
  return names;
}

TEST(Sharded, ShardsStayBelowTheSizeAndReadBack) {
  const fs::path folder = empty_folder("sharded");
  write_sharded(folder, kTensors, {{"format", "pt"}}, /*max_shard_bytes=*/20);
  EXPECT_EQ(names_in(folder),
            std::vector<std::string>(
                {"model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors",
                 "model-00003-of-00003.safetensors", "model.safetensors.index.json"}));
  const auto index =
      nlohmann::json::parse(read_file(folder / "model.safetensors.index.json").bytes);
  EXPECT_EQ(index["metadata"]["total_size"], 64);
  EXPECT_EQ(index["weight_map"]["large"], "model-00002-of-00003.safetensors");
  const TensorMap tensors = read_folder_weights(folder);
  EXPECT_EQ(tensors.size(), 4);
  EXPECT_EQ(tensors.at("large").numel(), 10);
}

TEST(Sharded, OneFileIsWrittenWhenItFitsAndReplacesAnIndex) {
  const fs::path folder = empty_folder("unsharded");
  write_sharded(folder, kTensors, {}, 20);
  write_sharded(folder, {{"a", at::zeros({2})}});
  EXPECT_EQ(find_folder_weights(folder), folder / "model.safetensors");
  EXPECT_EQ(read_folder_weights(folder).size(), 1);
  write_sharded(folder, kTensors, {}, 20);
  EXPECT_EQ(read_folder_weights(folder).size(), 4);
}

TEST(Sharded, ShardsOutsideTheFolderAreRefused) {
  const fs::path folder = empty_folder("traversal");
  const fs::path index = folder / "model.safetensors.index.json";
  for (const std::string name :
       {"../a.safetensors", "/etc/passwd", "..", "", "b/c", "b\\\\c", "a\\u0000"}) {
    write_file(index, R"({"weight_map": {"a": ")" + name + R"("}})");
    const std::string error = error_of([&] { read_sharded(index); });
    EXPECT_NE(error.find("expected the name of a file in the same folder"), std::string::npos)
        << error;
  }
}

TEST(Sharded, IndexAndFilesMustAgree) {
  const fs::path folder = empty_folder("disagree");
  const fs::path index = folder / "model.safetensors.index.json";
  const std::string shard = (folder / "s").string();
  write_safetensors(folder / "s", {{"a", at::ones({1})}, {"b", at::ones({1})}});
  const auto error = [&](const std::string& json) {
    write_file(index, json);
    return error_of([&] { read_sharded(index); });
  };
  EXPECT_EQ(error(R"({"weight_map": {"a": "s"}})"),
            shard + ": tensor 'b' is not in model.safetensors.index.json");
  EXPECT_EQ(error(R"({"weight_map": {"a": "s", "b": "s", "c": "s"}})"),
            shard + ": has no tensor 'c', which model.safetensors.index.json says is there");
  EXPECT_EQ(error(R"({"weight_map": {"a": "t"}})"),
            (folder / "t").string() + ": cannot open: No such file or directory");
  EXPECT_EQ(error(R"({"weight_map": {"a": "s", "a": "s"}})"), index.string() + ": has 'a' twice");
  EXPECT_EQ(error(R"({"weight_map": {"a": 1}})"),
            index.string() + ": tensor 'a' is not in a file but in number");
  EXPECT_EQ(error("[]"), index.string() + ": has no weight_map");
  EXPECT_EQ(error("{"), index.string() + ": not JSON at byte 2");
  EXPECT_EQ(error(std::string(1'000'000, '[')), index.string() + ": nested more than 8 deep");
  EXPECT_EQ(error(R"({"weight_map": {"a": "s", "b": "s"}})"), "no error");
}

TEST(FolderWeights, AreTakenInOrderOfPreference) {
  const fs::path folder = empty_folder("preference");
  EXPECT_EQ(error_of([&] { read_folder_weights(folder); }),
            folder.string() +
                ": no weights; looked for model.safetensors, model.safetensors.index.json, "
                "pytorch_model.bin, pytorch_model.bin.index.json");
  EXPECT_EQ(error_of([] { read_folder_weights("/nope"); }), "/nope: no such folder");
  fs::copy(fixture("small.bin"), folder / "pytorch_model-00001-of-00001.bin");
  write_file(folder / "pytorch_model.bin.index.json",
             R"({"weight_map": {"a": "pytorch_model-00001-of-00001.bin"}})");
  EXPECT_EQ(read_folder_weights(folder).at("a").numel(), 2);
  fs::copy(fixture("state_dict.bin"), folder / "pytorch_model.bin");
  EXPECT_TRUE(read_folder_weights(folder).contains("shared"));
  write_sharded(folder, kTensors, {}, 20);
  EXPECT_TRUE(read_folder_weights(folder).contains("large"));
  write_sharded(folder, {{"only", at::ones({1})}});
  EXPECT_TRUE(read_folder_weights(folder).contains("only"));
}

TEST(FolderWeights, GoldensLoad) {
  if (goldens().empty()) GTEST_SKIP() << "PERCEIVER_GOLDENS is not set";
  for (const fs::path& folder : sorted_entries(goldens() / "huggingface")) {
    EXPECT_GT(read_folder_weights(folder).size(), 20) << folder;
  }
}

}  // namespace
}  // namespace perceiver
