#include "perceiver/train/checkpoint.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"
#include "perceiver/train/tiny_test.h"
#include "perceiver/zoo/find.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

class CheckpointTest : public TrainTest {
 protected:
  void save(int64_t step) {
    const Tensor moment = at::full({3}, static_cast<double>(step), at::kFloat);
    save_last(folder, model, {.step = step, .best = 1.5, .tensors = {{"first.bias", moment}}});
  }

  Model model = make();
};

TEST_F(CheckpointTest, ThereIsNoneAtFirst) { EXPECT_FALSE(find_checkpoint(folder)); }

TEST_F(CheckpointTest, LastComesBackAndIsAWholeModel) {
  save(3);
  const std::optional<Checkpoint> found = find_checkpoint(folder);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->folder, folder / "last");
  EXPECT_EQ(found->step, 3);
  EXPECT_EQ(found->best, 1.5);
  EXPECT_EQ(found->note, "");
  EXPECT_TRUE(found->tensors.at("first.bias").equal(at::full({3}, 3.0)));
  Model loaded = load_model(find_model(folder.string()));
  EXPECT_EQ(loaded.source, (folder / "last" / "model.safetensors").string());
  const auto parameters = model.task->model().named_parameters();
  for (const auto& item : loaded.task->model().named_parameters()) {
    EXPECT_TRUE(item.value().equal(parameters[item.key()])) << item.key();
  }
}

TEST_F(CheckpointTest, BestIsAWholeModelToo) {
  save_best(folder, model);
  save_best(folder, model);
  EXPECT_EQ(damage(folder / "best"), "");
  EXPECT_EQ(find_model(folder.string()), folder / "best");
}

// Every file of a checkpoint, cut at several places: found out, and the one before it taken.
TEST_F(CheckpointTest, OneThatWasCutShortIsNoticedAndTheOneBeforeItTaken) {
  save(1);
  for (const char* name : {"model.safetensors", "state.safetensors", "config.json"}) {
    save(2);
    const fs::path path = folder / "last" / name;
    const std::string bytes = read_file(path).bytes;
    for (const size_t length : {size_t{0}, bytes.size() / 2, bytes.size() - 1}) {
      write_file(path, bytes.substr(0, length));
      const std::optional<Checkpoint> found = find_checkpoint(folder);
      ASSERT_TRUE(found);
      EXPECT_EQ(found->folder, folder / "previous");
      EXPECT_EQ(found->note, fmt::format("{}: has {} bytes, {} were written", path.string(), length,
                                         bytes.size()));
    }
    write_file(path, bytes);
    EXPECT_EQ(find_checkpoint(folder)->step, 2);
  }
}

TEST_F(CheckpointTest, AFlippedBitIsNoticed) {
  save(1);
  save(2);
  const fs::path path = folder / "last" / "state.safetensors";
  std::string bytes = read_file(path).bytes;
  bytes.back() ^= 1;
  write_file(path, bytes);
  const std::optional<Checkpoint> found = find_checkpoint(folder);
  EXPECT_EQ(found->step, 1);
  EXPECT_EQ(found->note, path.string() + ": its checksum is not what was written");
}

TEST_F(CheckpointTest, AnEndBetweenTheTwoRenamesLosesNothing) {
  save(1);
  save(2);
  fs::rename(folder / "last", folder / ".new");  // as if the second had not come
  EXPECT_EQ(find_checkpoint(folder)->step, 1);
  save(2);
  EXPECT_EQ(find_checkpoint(folder)->step, 2);

  save_best(folder, model);
  fs::rename(folder / "best", folder / ".best.old");
  find_checkpoint(folder);
  EXPECT_EQ(damage(folder / "best"), "");
}

TEST_F(CheckpointTest, WhenAllAreBrokenItIsSaid) {
  save(1);
  fs::remove(folder / "last" / "config.json");
  EXPECT_EQ(
      error_of([&] { find_checkpoint(folder); }),
      (folder / "last" / "config.json").string() + ": is missing; the run has no other checkpoint");
  write_file(folder / "last" / "manifest.json", "{\"files\": [");
  EXPECT_EQ(error_of([&] { find_checkpoint(folder); }),
            (folder / "last" / "manifest.json").string() +
                ": is damaged; the run has no other checkpoint");
  fs::remove(folder / "last" / "manifest.json");
  EXPECT_EQ(error_of([&] { find_checkpoint(folder); }),
            (folder / "last" / "manifest.json").string() +
                ": is missing; the run has no other checkpoint");
}

TEST_F(CheckpointTest, AStateThatNobodyWroteIsAnError) {
  save(1);
  write_file(folder / "last" / "manifest.json", R"({"files": {}})");
  const fs::path path = folder / "last" / "state.safetensors";
  const auto error_with = [&](const std::string& metadata) {
    const std::string header = R"({"__metadata__": {)" + metadata + "}}";
    std::string length(8, '\0');
    length[0] = static_cast<char>(header.size());  // under 128
    write_file(path, length + header);
    return error_of([&] { find_checkpoint(folder); });
  };
  EXPECT_EQ(error_with(""), path.string() + ": has no 'step'");
  EXPECT_EQ(error_with(R"("step": "x")"), path.string() + ": 'step' must be a number, got 'x'");
  EXPECT_EQ(error_with(R"("step": "99999999999999999999")"),
            path.string() + ": 'step' must be a number, got '99999999999999999999'");
  EXPECT_EQ(error_with(R"("step": "-1")"), path.string() + ": 'step' must be at least 0, got -1");
  EXPECT_EQ(error_with(R"("step": "1", "best": "")"),
            path.string() + ": 'best' must be a number, got ''");
  EXPECT_EQ(error_with(R"("step": "1", "best": "inf")"), "no error");
}

}  // namespace
}  // namespace perceiver
