#include "perceiver/tasks/arrays/starter.h"

#include "perceiver/tasks/arrays/files_test.h"
#include "perceiver/tasks/settings.h"
#include "perceiver/tasks/task.h"
#include "perceiver/tasks/training.h"

namespace perceiver {
namespace {

class Starters : public ArrayFiles {};

TEST_F(Starters, OfEveryKindAreReadMeasuredAndLearnedFrom) {
  for (const StarterKind& kind : starter_kinds()) {
    for (const File& file : starter_files(kind.name, 0)) write_file(folder / file.name, file.bytes);
    // From any folder: with absolute paths.
    const auto of = [&](const char* key, const char* stem) {
      const bool csv = std::filesystem::exists(folder / (std::string(stem) + ".csv"));
      return fmt::format("data.{}='{}'", key,
                         (folder / (std::string(stem) + (csv ? ".csv" : ".npz"))).string());
    };
    const std::vector<std::string> overrides = {of("train", "train"), of("held_out", "held_out")};
    const std::unique_ptr<Task> task = make_task(read_file(folder / "config.toml"), overrides);
    Training& training = *task->training();
    for (const Split split : {Split::kTrain, Split::kEval}) {
      const std::unique_ptr<Dataset> data = training.dataset(split);
      EXPECT_GT(data->size(), 200) << kind.name;
      Rng rng(0);
      const Example batch = data->batch({data->get(0, rng), data->get(1, rng)}, rng);
      const Loss loss = training.loss(batch);
      EXPECT_TRUE(loss.sum.isfinite().item<bool>()) << kind.name;
    }
    SetUp();  // an empty folder
  }
}

TEST(StarterFiles, AreTheSameForASeedAndOthersForAnother) {
  for (const char* kind : {"points", "table"}) {
    EXPECT_EQ(starter_files(kind, 1)[1].bytes, starter_files(kind, 1)[1].bytes);
    EXPECT_NE(starter_files(kind, 1)[1].bytes, starter_files(kind, 2)[1].bytes);
  }
}

TEST(StarterFiles, AnUnknownKindIsNamed) {
  EXPECT_EQ(error_of([] { starter_files("point", 0); }),
            "unknown kind 'point'; did you mean 'points'?; there are points, series, table, field, "
            "sensors, events");
}

}  // namespace
}  // namespace perceiver
