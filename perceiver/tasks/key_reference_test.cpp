#include "perceiver/tasks/key_reference.h"

#include <gtest/gtest.h>

#include "perceiver/tasks/registry.h"

namespace perceiver {
namespace {

TEST(Keys, EveryKeyOfEveryTaskHasAMeaning) {
  for (const TaskEntry& entry : registered_tasks()) {
    for (const ListedKey& key : entry.keys()) {
      EXPECT_FALSE(key.meaning.empty()) << entry.name << ": " << key.path;
      EXPECT_FALSE(key.meaning.ends_with('.')) << entry.name << ": " << key.path;
    }
  }
}

TEST(Keys, TheDocumentIsUpToDate) {
  EXPECT_TRUE(read_file("docs/configs.md").bytes == key_reference())
      << "write it anew: perceiver train --keys > docs/configs.md";
}

TEST(Keys, ATableShowsValuesBesideTheDefaultsTheyReplace) {
  const auto settings = read_settings({"x.toml", "task = 'language'\n[train]\nsteps = 7"});
  const std::string table = key_table(*settings);
  for (const char* line :
       {"\n  train.steps=7  (default 1000; integer, at least 0)\n      Changes of the weights",
        "\n  train.optimizer='lamb'  (the default; lamb or adamw)\n      Rule",
        "\n  model.encoder.cross_attend.dropout=0.0  (the default; float, 0 to 1)\n      Share",
        "\n[data] What it is trained and measured on\n"}) {
    EXPECT_NE(table.find(line), table.npos) << line;
  }
}

}  // namespace
}  // namespace perceiver
