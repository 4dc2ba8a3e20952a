#include "perceiver/tasks/settings.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "perceiver/core/error_test.h"
#include "perceiver/tasks/registry.h"

namespace perceiver {
namespace {

// The same model before and after somebody added an option.
struct OldConfig {
  int64_t width = 4;
};
struct NewConfig {
  int64_t width = 4;
  bool gated = false;
};

template <typename Visitor>
void fields(Visitor& visit, OldConfig& c) {
  visit("width", c.width, at_least(1));
}
template <typename Visitor>
void fields(Visitor& visit, NewConfig& c) {
  visit("width", c.width, at_least(1));
  visit("gated", c.gated);
}

template <typename ModelConfig>
class EmptyTask : public Task {
 public:
  using Config = ModelOnly<ModelConfig>;
  explicit EmptyTask(const Config&) {}

  torch::nn::Module& model() override { return module_; }
  ModelSummary summary(Split) const override { return {}; }
  Example random_inputs(int64_t) const override { return {}; }
  Tensor forward(const Example&, Split) override { return at::zeros({1, 1, 1}); }

 private:
  torch::nn::Module module_;
};

std::string identity_of(const TaskEntry& entry, const std::string& text) {
  ConfigReader reader({"x.toml", text}, {});
  return entry.read(reader, "x.toml")->identity();
}

TEST(Settings, AnOptionThatIsNewAndOffLeavesTheIdentityAlone) {
  const TaskEntry old = task_entry<EmptyTask<OldConfig>>("toy");
  const TaskEntry now = task_entry<EmptyTask<NewConfig>>("toy");
  for (const char* text : {"task = 'toy'", "task = 'toy'\nmodel.width = 7"}) {
    EXPECT_EQ(identity_of(old, text), identity_of(now, text));
  }
  EXPECT_NE(identity_of(now, "task = 'toy'"), identity_of(now, "task = 'toy'\nmodel.width = 7"));
  EXPECT_NE(identity_of(now, "task = 'toy'"), identity_of(now, "task = 'toy'\nmodel.gated = true"));
  EXPECT_NE(identity_of(now, "task = 'toy'"), identity_of(now, "task = 'doll'"));
}

TEST(Settings, OverridesChangeWhatTheyNameAndNothingElse) {
  const auto settings =
      read_settings({"x.toml", "task = 'language'\n[train]\nsteps = 7\n[model]\nnum_inputs = 64"});
  const std::vector<std::string> overrides = {"train.seed=3", "data.held_out=['a.txt']"};
  const auto changed = settings->with(overrides);
  EXPECT_EQ(changed->train()->seed, 3);
  EXPECT_EQ(changed->train()->steps, 7);
  EXPECT_EQ(settings->train()->seed, 0);
  EXPECT_EQ(changed->model_text(), settings->model_text());
  EXPECT_EQ(lines_not_in(changed->text(), settings->text()),
            "data.held_out = ['a.txt']\ntrain.seed = 3\n");
  const std::vector<std::string> wrong = {"train.sed=3"};
  EXPECT_EQ(error_of([&] { settings->with(wrong); }),
            "command line: unknown key 'train.sed'; did you mean 'train.seed'?");
}

TEST(Settings, TrainingOfATaskThatHasNoneIsRefusedWhereItStands) {
  const TaskEntry entry = task_entry<EmptyTask<OldConfig>>("toy");
  EXPECT_EQ(
      error_of([&] { identity_of(entry, "task = 'toy'\n[train]\nstep = 7"); }),
      "x.toml:2: 'train': models of the task toy cannot be trained or evaluated yet; those "
      "of alphastar_transformer, arrays, audioset, bert, glue, glue_bert, imagenet, language, "
      "multimodal, optical_flow, starcraft, text_classifier can");
}

TEST(Settings, PathsOfDataThatIsThereBecomeAbsolute) {
  const auto settings = read_settings({"x.toml",
                                       "task = 'language'\n[data]\n"
                                       "train = ['samples', '/x', 'nowhere']\n"
                                       "[train]\nfrom = 'language-mini'"});
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(lines_not_in(settings->with_absolute_paths()->text(), settings->text()),
            "data.train = ['" + here + "/samples', '/x', 'nowhere']\n");
}

// A column that is called as a folder here is no folder.
TEST(Settings, NamesOfColumnsStayAsTheyAre) {
  const auto settings = read_settings({"x.toml",
                                       "task = 'text_classifier'\n[data]\ntrain = ['samples']\n"
                                       "text_column = 'samples'\npair_column = 'docs'"});
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(lines_not_in(settings->with_absolute_paths()->text(), settings->text()),
            "data.train = ['" + here + "/samples']\n");
}

TEST(RegisterTask, ATaskIsReadByItsNameWhichIsTakenOnce) {
  register_task(task_entry<EmptyTask<NewConfig>>("toy_of_this_test"));
  const auto settings = read_settings({"x.toml", "task = 'toy_of_this_test'\nmodel.gated = true"});
  EXPECT_EQ(settings->model_text(),
            "task = 'toy_of_this_test'\nmodel.width = 4\nmodel.gated = true\n");
  EXPECT_TRUE(settings->model<NewConfig>()->gated);
  EXPECT_EQ(settings->model<OldConfig>(), nullptr);
  EXPECT_EQ(settings->train(), nullptr);
  EXPECT_EQ(settings->make()->training(), nullptr);
  EXPECT_EQ(error_of([] { register_task(task_entry<EmptyTask<OldConfig>>("toy_of_this_test")); }),
            "the task 'toy_of_this_test' is registered already; give yours another name");
}

}  // namespace
}  // namespace perceiver
