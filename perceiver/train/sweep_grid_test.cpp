#include "perceiver/train/sweep_grid.h"

#include <gtest/gtest.h>

#include <set>

#include "perceiver/core/error_test.h"

namespace perceiver {
namespace {

using Words = std::vector<std::string>;

Grid grid_of(const Words& words) { return parse_grid(words); }

Words names_of(const Words& words) { return run_names(combinations(grid_of(words))); }

TEST(SweepGrid, OneValueIsAnOrdinaryOverride) {
  const Grid grid = grid_of({"train.steps=10", "train.batch=16,32", "model.tasks=[\"a\",\"b\"]"});
  EXPECT_EQ(grid.overrides, (Words{"train.steps=10", "model.tasks=[\"a\",\"b\"]"}));
  EXPECT_EQ(grid.words, Words{"train.batch=16,32"});
  EXPECT_EQ(grid.axes.size(), 1u);
}

// The paper's grid of GLUE (App. F.4).
TEST(SweepGrid, TheLastAxisChangesFirst) {
  EXPECT_EQ(names_of({"train.batch=16,32,64", "train.learning_rate=1e-4,5e-5,2e-5,1e-5"}),
            (Words{"batch=16,learning_rate=1e-4", "batch=16,learning_rate=5e-5",
                   "batch=16,learning_rate=2e-5", "batch=16,learning_rate=1e-5",
                   "batch=32,learning_rate=1e-4", "batch=32,learning_rate=5e-5",
                   "batch=32,learning_rate=2e-5", "batch=32,learning_rate=1e-5",
                   "batch=64,learning_rate=1e-4", "batch=64,learning_rate=5e-5",
                   "batch=64,learning_rate=2e-5", "batch=64,learning_rate=1e-5"}));
}

TEST(SweepGrid, TablesChangeTogether) {
  const std::vector<Combination> all = combinations(
      grid_of({"train={batch = 16, steps = 90},{batch=32}", "model={encoder={num_latents=8}},{}"}));
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0],
            (Combination{
                {"train.batch", "16"}, {"train.steps", "90"}, {"model.encoder.num_latents", "8"}}));
  EXPECT_EQ(as_overrides(all[3]), (Words{"train.batch=32", "model={}"}));
  EXPECT_EQ(keys_of(all),
            (Words{"train.batch", "train.steps", "model.encoder.num_latents", "model"}));
}

TEST(SweepGrid, KeysThatEndTheSameAreWholeInNames) {
  EXPECT_EQ(names_of({"train.batch=1,2", "eval.batch=3", "eval.examples=7,8"})[0],
            "batch=1,examples=7");
  EXPECT_EQ(names_of({"train.batch=1,2", "eval.batch=3,4"})[0], "train.batch=1,eval.batch=3");
}

TEST(SweepGrid, NamesAreFileNamesAndTellRunsApart) {
  EXPECT_EQ(names_of({R"(model.tasks=["cola"],["cola", "rte"])"}),
            (Words{"tasks=cola", "tasks=cola+rte"}));
  EXPECT_EQ(names_of({"data.tokenizer=a/b,a b,*"}),
            (Words{"tokenizer=a_b", "tokenizer=ab", "tokenizer=_"}));
  // Readable, these would be the same.
  EXPECT_EQ(names_of({"data.tokenizer=a/b,a_b"}), (Words{"tokenizer=a%2Fb", "tokenizer=a_b"}));
  EXPECT_EQ(names_of({"data.tokenizer='',a"}), (Words{"tokenizer=%27%27", "tokenizer=a"}));
  const Words logs = names_of({"data.tokenizer=x,x.log"});
  EXPECT_EQ(logs[0], "tokenizer=x");
  EXPECT_TRUE(logs[1].starts_with("tokenizer=x.log~")) << logs[1];
  const std::string path(300, 'p');
  const Words longer = names_of({"train.from=" + path + "a," + path + "b"});
  EXPECT_NE(longer[0], longer[1]);
  for (const std::string& name : longer) EXPECT_LT(name.size(), 230u);
}

TEST(SweepGrid, MistakesAreNamed) {
  EXPECT_EQ(error_of([] { grid_of({"train.batch=16,,32"}); }),
            "command line: 'train.batch=16,,32' has an empty alternative, expected a value around "
            "each comma");
  EXPECT_EQ(error_of([] { grid_of({"train.batch=16,"}); }),
            "command line: 'train.batch=16,' has an empty alternative, expected a value around "
            "each comma");
  EXPECT_EQ(error_of([] { grid_of({"train.batch=16,32,16"}); }),
            "command line: 'train.batch=16,32,16' has the alternative 16 twice");
  for (const Words& words :
       {Words{"train.batch=16,32", "train.batch=64"}, Words{"train.batch=64", "train.batch=16,32"},
        Words{"train={batch=1,steps=2}", "train.batch=16,32"},
        Words{"train={batch=1},{batch=2}", "train.batch=16,32"}}) {
    EXPECT_EQ(error_of([&] { grid_of(words); }),
              "command line: 'train.batch' is given twice, expected all its values in one word");
  }
  for (const Words& words : {Words{}, Words{"train.batch=16"}, Words{"nothing"}}) {
    EXPECT_EQ(error_of([&] { grid_of(words); }),
              "command line: no setting has alternatives, expected some such as train.batch=16,32; "
              "for one run there is 'perceiver train'");
  }
  Words many;
  for (int i = 0; i < 14; ++i) many.push_back("a.k" + std::to_string(i) + "=1,2");
  EXPECT_EQ(error_of([&] { combinations(grid_of(many)); }),
            "command line: the grid has more than 10000 combinations");
}

}  // namespace
}  // namespace perceiver
