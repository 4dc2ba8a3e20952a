#include "perceiver/zoo/catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "perceiver/core/file.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

class Catalogue : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root);
    fs::create_directories(root);
  }
  void TearDown() override { fs::remove_all(root); }

  const fs::path root = fs::path(testing::TempDir()) / "perceiver_catalogue";
};

TEST_F(Catalogue, ShippedModelsHaveTaskSizeAndASentence) {
  const std::vector<CatalogueEntry> models = models_in({.shipped = shipped("models")});
  std::map<std::string, std::string> tasks;
  for (const CatalogueEntry& model : models) {
    tasks[model.name] = model.task;
    EXPECT_FALSE(model.about.empty()) << model.name;
    EXPECT_FALSE(model.score.empty()) << model.name;
    EXPECT_GT(model.parameters, 100'000) << model.name;
    EXPECT_LT(model.parameters, 4'000'000) << model.name;
  }
  EXPECT_EQ(tasks, (std::map<std::string, std::string>{{"entity-mini", "starcraft"},
                                                       {"flow-mini", "optical_flow"},
                                                       {"image-mini", "imagenet"},
                                                       {"language-mini", "language"},
                                                       {"sound-mini", "audioset"}}));
}

TEST_F(Catalogue, EveryConfigIsListedWithItsCommentsFirstSentence) {
  const std::vector<CatalogueEntry> configs = configs_in(shipped("configs"));
  const auto bert = std::find_if(configs.begin(), configs.end(),
                                 [](const auto& config) { return config.name == "bert_base"; });
  ASSERT_NE(bert, configs.end());
  EXPECT_EQ(bert->about, "BERT Base on SentencePiece (Tab. 1 and 11)");
  EXPECT_EQ(bert->task, "bert");
  for (const CatalogueEntry& config : configs) {
    EXPECT_NE(config.name, "paper");  // a table, no config
    EXPECT_FALSE(config.about.empty()) << config.name;
  }
}

TEST_F(Catalogue, FoldersThatHoldNoModelAreLeftOut) {
  fs::create_directories(root / "notes");
  EXPECT_TRUE(models_in({.models = root}).empty());
}

TEST_F(Catalogue, ReleasedModelsThatAreHereAreNotMissing) {
  const size_t all = released_models().size();
  EXPECT_EQ(released_models_not_in({}).size(), all);
  fs::create_directories(root / "language-perceiver");
  const std::vector<std::string> missing = released_models_not_in({.models = root});
  EXPECT_EQ(missing.size(), all - 1);
  EXPECT_EQ(std::count(missing.begin(), missing.end(), "deepmind/language-perceiver"), 0);
}

}  // namespace
}  // namespace perceiver
