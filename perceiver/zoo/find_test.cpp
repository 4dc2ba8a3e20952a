#include "perceiver/zoo/find.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <optional>

#include "perceiver/core/error.h"
#include "perceiver/core/file.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class FindModel : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root);
    add("shipped/language-mini/config.json");
    add("shipped/flow-mini/config.json");
    fs::create_directories(root / "models");
    fs::create_directories(root / "hub");
  }

  // A file with its folders; the content is for those that are read.
  fs::path add(const fs::path& path, const std::string& content = "") {
    fs::create_directories((root / path).parent_path());
    write_file(root / path, content);
    return root / path;
  }

  fs::path find(const std::string& name) { return find_model(name, places); }

  std::string error_of(const std::string& name) {
    try {
      find(name);
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  }

  const fs::path root = fs::path(testing::TempDir()) / "perceiver_find_model";
  ModelPlaces places{root / "shipped", root / "models", root / "hub"};
};

TEST_F(FindModel, TakesAFolderOrAFileAsItIs) {
  const fs::path file = add("weights/a.pystate");
  EXPECT_EQ(find(file.string()), file);
  EXPECT_EQ(find(file.parent_path().string()), file.parent_path());
}

TEST_F(FindModel, TakesTheNameOfAShippedModel) {
  EXPECT_EQ(find("flow-mini"), root / "shipped/flow-mini");
}

TEST_F(FindModel, LooksForHubIdsInTheUsersFolder) {
  add("models/vision-perceiver-conv/config.json");
  EXPECT_EQ(find("deepmind/vision-perceiver-conv"), root / "models/vision-perceiver-conv");
  EXPECT_EQ(find("vision-perceiver-conv"), root / "models/vision-perceiver-conv");
  add("models/deepmind/vision-perceiver-conv/config.json");
  EXPECT_EQ(find("deepmind/vision-perceiver-conv"), root / "models/deepmind/vision-perceiver-conv");
}

TEST_F(FindModel, TakesTheSnapshotThatTheCacheCallsMain) {
  const fs::path cache = "hub/models--deepmind--language-perceiver";
  add(cache / "snapshots/0123/config.json");
  add(cache / "snapshots/4567/config.json");
  add(cache / "refs/main", "0123\n");
  EXPECT_EQ(find("deepmind/language-perceiver"), root / cache / "snapshots/0123");
  add(cache / "refs/main", "4567");
  EXPECT_EQ(find("deepmind/language-perceiver"), root / cache / "snapshots/4567");
}

TEST_F(FindModel, TakesTheNewestSnapshotWhereNoneIsMain) {
  const fs::path cache = "hub/models--me--mine";
  for (const char* revision : {"a", "b", "c"}) {
    add(cache / "snapshots" / revision / "config.json");
  }
  const auto now = fs::last_write_time(root);
  fs::last_write_time(root / cache / "snapshots/a", now - 2h);
  fs::last_write_time(root / cache / "snapshots/b", now - 1h);
  fs::last_write_time(root / cache / "snapshots/c", now - 3h);
  EXPECT_EQ(find("me/mine"), root / cache / "snapshots/b");
  for (const char* main : {"gone", "", "..", "../snapshots/c", "."}) {
    add(cache / "refs/main", main);
    EXPECT_EQ(find("me/mine"), root / cache / "snapshots/b") << main;
  }
}

TEST_F(FindModel, TakesTheBestOfARunElseItsLast) {
  add("runs/a/config.toml");
  add("runs/a/last/config.json");
  const std::string run = (root / "runs/a").string();
  EXPECT_EQ(find(run), root / "runs/a/last");
  add("runs/a/best/config.json");
  EXPECT_EQ(find(run), root / "runs/a/best");
  add("runs/a/config.json");  // a model's folder, whatever else is in it
  EXPECT_EQ(find(run), root / "runs/a");
}

TEST_F(FindModel, TakesTheModelOfASweepsBestRun) {
  add("sweep/sweep.json");
  add("sweep/batch=16/last/config.json");
  add("sweep/batch=32/best/config.json");
  const std::string sweep = (root / "sweep").string();
  fs::create_directory_symlink("batch=16", root / "sweep/best");
  EXPECT_EQ(find(sweep), root / "sweep/best/last");
  fs::remove(root / "sweep/best");
  fs::create_directory_symlink("batch=32", root / "sweep/best");
  EXPECT_EQ(find(sweep), root / "sweep/best/best");
  // A link to itself leads nowhere, and ends.
  fs::remove(root / "sweep/best");
  fs::create_directory_symlink(".", root / "sweep/best");
  EXPECT_NO_THROW(find(sweep));
}

TEST_F(FindModel, WhatIsNowhereIsNamedWithThePlaces) {
  const std::string at = root.string();
  EXPECT_EQ(error_of("language-mni"),
            "no model 'language-mni'; did you mean 'language-mini'?; "
            "looked at language-mni, " +
                at + "/shipped/language-mni, " + at + "/models/language-mni");
  EXPECT_EQ(error_of("deepmind/vision-perceiver-con"),
            "no model 'deepmind/vision-perceiver-con'; did you mean "
            "'deepmind/vision-perceiver-conv'?; looked at deepmind/vision-perceiver-con, " +
                at + "/models/deepmind/vision-perceiver-con, " + at +
                "/models/vision-perceiver-con, " + at +
                "/hub/models--deepmind--vision-perceiver-con");
  places = {.shipped = {}, .models = {}, .hub_cache = root / "hub"};
  EXPECT_EQ(error_of("you/yours"), "no model 'you/yours'; looked at you/yours, " + at +
                                       "/hub/models--you--yours; "
                                       "PERCEIVER_MODELS can name a folder of models");
}

TEST_F(FindModel, OfADefaultModelThatDoesNotComeWithTheProgramItSaysSo) {
  EXPECT_EQ(error_of("multimodal-mini"),
            "multimodal-mini: no weights for clips come with this program; name a model with -m");
}

TEST_F(FindModel, AReleasedModelThatIsNotHereComesWithTheWayToGetIt) {
  EXPECT_EQ(error_of("deepmind/language-perceiver"),
            "deepmind/language-perceiver: is not on this machine; save config.json and "
            "pytorch_model.bin (or model.safetensors) of "
            "https://huggingface.co/deepmind/language-perceiver in a folder, and name the folder "
            "with -m");
}

TEST_F(FindModel, OfEveryReleasedModelTheConfigIsKnown) {
  for (const std::string& id : released_models()) EXPECT_NO_THROW(config_of_released(id)) << id;
  EXPECT_EQ(config_of_released("deepmind/multimodal-perceiver").filename(), "multimodal_784.toml");
}

TEST_F(FindModel, NamesAreThoseThatItFinds) {
  add("models/mine/config.json");
  add("hub/models--me--a--b/snapshots/0123/config.json");
  add("hub/datasets--me--c/snapshots/0123/data.json");
  const std::vector<std::string> names = model_names(places);
  EXPECT_EQ(names, (std::vector<std::string>{"flow-mini", "language-mini", "mine", "me/a--b"}));
  for (const std::string& name : names) EXPECT_NO_THROW(find(name)) << name;
}

TEST_F(FindModel, AModelIsShippedWhereItLiesAmongThose) {
  EXPECT_TRUE(is_shipped(shipped("models") / "any"));
  EXPECT_TRUE(is_shipped(shipped("models") / "any" / ""));
  EXPECT_FALSE(is_shipped(root));
  EXPECT_FALSE(is_shipped(""));
}

TEST_F(FindModel, WhatCanOnlyBeAPathIsNotLookedForByName) {
  add("secret/config.json");
  for (const std::string name : {"../secret", "a/b/c", "./x", "/no/such/folder", "x/"}) {
    EXPECT_EQ(error_of(name), name + ": no such file or folder");
  }
  EXPECT_EQ(error_of(""), "the name of the model is empty");
  EXPECT_TRUE(error_of(std::string(5000, 'x')).starts_with("no model 'xxx"));
}

TEST_F(FindModel, ACacheWithoutSnapshotsHasNoModel) {
  add("hub/models--me--mine/refs/main", "0123");
  const std::string error = error_of("me/mine");
  EXPECT_TRUE(error.starts_with("no model 'me/mine'")) << error;
  EXPECT_NE(error.find("; looked at "), error.npos) << error;
}

// One variable for the length of a test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(ModelPlaces, AreWhatTheEnvironmentSays) {
  const Variable home("HOME", "/h"), models("PERCEIVER_MODELS", "/m");
  const Variable no_cache("HF_HUB_CACHE", ""), no_hf_home("HF_HOME", "");
  EXPECT_EQ(model_places().models, "/m");
  EXPECT_EQ(model_places().hub_cache, "/h/.cache/huggingface/hub");
  const Variable hf_home("HF_HOME", "/f");
  EXPECT_EQ(model_places().hub_cache, "/f/hub");
  const Variable cache("HF_HUB_CACHE", "/c");
  EXPECT_EQ(model_places().hub_cache, "/c");
}

TEST_F(FindModel, TakesTheNameOfAShippedConfigAfterThoseOfModels) {
  places.configs = add("configs/flow_mini.toml").parent_path();
  add("configs/language-mini.toml");
  for (const char* name : {"flow_mini", "flow_mini.toml", "configs/flow_mini.toml"}) {
    EXPECT_EQ(shipped_config(name, places), root / "configs/flow_mini.toml") << name;
  }
  EXPECT_EQ(find("flow_mini"), root / "configs/flow_mini.toml");
  EXPECT_EQ(find("language-mini"), root / "shipped/language-mini");
}

TEST_F(FindModel, AConfigThatIsThereIsTakenBeforeAShippedOne) {
  places.configs = add("configs/flow_mini.toml").parent_path();
  const std::string own = add("flow_mini.toml").string();
  EXPECT_EQ(find_config(own, places), own);
  EXPECT_EQ(find_config("flow_mini", places), root / "configs/flow_mini.toml");
}

TEST_F(FindModel, AnUnknownConfigIsNamedWithTheNearest) {
  places.configs = add("configs/flow_mini.toml").parent_path();
  try {
    find_config("flow_mni", places);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "flow_mni: no such file, and no shipped config of that name; did you mean "
                 "'flow_mini'?");
  }
}

}  // namespace
}  // namespace perceiver
