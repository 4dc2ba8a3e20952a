// Training by several ranks, as threads of this process.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"
#include "perceiver/ranks/ranks_test.h"
#include "perceiver/train/dropped.h"
#include "perceiver/train/evaluate.h"
#include "perceiver/train/tiny_test.h"

namespace perceiver {
namespace {

class RankedTrainerTest : public TrainTest {
 protected:
  void SetUp() override {
    TrainTest::SetUp();
    at::set_num_threads(1);  // as each rank has: sums are cut into as many parts
  }

  // A model for each rank; made before any begins, as they start from the same random numbers.
  std::vector<Model> models(int64_t count, const std::vector<std::string>& overrides = {}) const {
    std::vector<Model> all;
    for (int64_t i = 0; i < count; ++i) all.push_back(make(overrides));
    return all;
  }

  std::vector<double> losses_alone(const std::vector<std::string>& overrides) const {
    Model model = make(overrides);
    Trainer trainer(model, {});
    return losses(trainer, 10);
  }

  // Those of all ranks, which must be the same.
  std::vector<double> losses_of(int64_t size, const std::vector<std::string>& overrides) const {
    std::vector<Model> of = models(size, overrides);
    std::vector<std::vector<double>> all(size);
    as_ranks(size, [&](Ranks& ranks) {
      Trainer trainer(of[ranks.rank()], {.ranks = &ranks});
      all[ranks.rank()] = losses(trainer, 10);
    });
    for (const auto& one : all) EXPECT_EQ(one, all[0]);
    return all[0];
  }

  void expect_near(const std::vector<double>& a, const std::vector<double>& b) const {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6 * b[i]) << i;
  }
};

TEST_F(RankedTrainerTest, TwoRanksAreOneWithTwoPartsBitForBit) {
  const std::vector<double> two = losses_of(2, {"train.clip=0.5"});
  EXPECT_EQ(two, losses_alone({"train.clip=0.5", "train.accumulate=2"}));
}

// Seven examples are three, two and two; their masked bytes are as many as they happen to be.
TEST_F(RankedTrainerTest, ThreeRanksShareABatchThatTheyDoNotDivide) {
  expect_near(losses_of(3, {"train.batch=7"}), losses_alone({"train.batch=7"}));
}

TEST_F(RankedTrainerTest, RanksCutTheirSharesIntoPartsNoLargerThanTheConfigWants) {
  const std::vector<std::string> four = {"train.batch=8", "train.accumulate=4"};
  expect_near(losses_of(2, four), losses_alone(four));
  expect_near(losses_of(3, four), losses_alone(four));  // two parts each, one of them empty
}

TEST_F(RankedTrainerTest, ABatchMustHaveAnExampleForEachRank) {
  EXPECT_EQ(error_of([&] { losses_of(3, {"train.batch=2"}); }),
            "train.batch (2) is less than the 3 ranks that share it");
}

TEST_F(RankedTrainerTest, ARunGoesOnWithAnyNumberOfRanks) {
  const std::vector<std::string> settings = {"train.batch=6", "train.average=0.9",
                                             "train.eval_every=5", "train.steps=10"};
  const std::vector<double> undisturbed = losses_alone(settings);
  for (const int64_t size : {1, 2, 3}) {
    const std::filesystem::path path = folder / std::to_string(size);
    std::vector<Model> begins = models(2, settings), goes_on = models(size, settings);
    as_ranks(2, [&](Ranks& ranks) {
      RunFolder run =
          ranks.is_first() ? RunFolder::create(path, "", "") : RunFolder::of_another(path);
      int steps = 0;
      // One is asked to stop, all do.
      Trainer trainer(
          begins[ranks.rank()],
          {.stop = [&] { return ++steps == 6 && ranks.rank() == 1 ? 2 : 0; }, .ranks = &ranks});
      EXPECT_EQ(trainer.run(run), 2);
    });
    std::vector<double> rest;
    as_ranks(size, [&](Ranks& ranks) {
      TrainerOptions options{.ranks = &ranks};
      if (ranks.is_first()) {
        options.stepped = [&](const StepReport& r) { rest.push_back(r.figures.at("loss")); };
      }
      Trainer trainer(goes_on[ranks.rank()], options);
      if (ranks.is_first()) trainer.resume(*find_checkpoint(path));
      RunFolder run = ranks.is_first() ? RunFolder::resume(path, 6) : RunFolder::of_another(path);
      EXPECT_EQ(trainer.run(run), 0);
      EXPECT_EQ(trainer.steps_done(), 10);
    });
    expect_near(rest, {undisturbed.begin() + 6, undisturbed.end()});
  }
}

// Where one rank is asked to leave a step or an evaluation, all leave it, and what was finished
// before is saved.
TEST_F(RankedTrainerTest, WhatOneRankDropsAllDrop) {
  for (const int64_t looks : {11, 60, 83, 120}) {
    const std::filesystem::path path = folder / std::to_string(looks);
    std::vector<Model> of = models(2, {"train.eval_every=2"});
    std::vector<int64_t> done(2);
    as_ranks(2, [&](Ranks& ranks) {
      RunFolder run =
          ranks.is_first() ? RunFolder::create(path, "", "") : RunFolder::of_another(path);
      int64_t looked = 0;
      Trainer trainer(of[ranks.rank()],
                      {.look = [&] { return ++looked == looks && ranks.rank() == 1 ? 2 : 0; },
                       .ranks = &ranks});
      EXPECT_EQ(trainer.run(run), 2);
      done[ranks.rank()] = trainer.steps_done();
    });
    EXPECT_EQ(done[0], done[1]);
    EXPECT_LT(done[0], 12);
    const std::optional<Checkpoint> last = find_checkpoint(path);
    EXPECT_EQ(last ? last->step : 0, done[0]);
  }
}

TEST_F(RankedTrainerTest, AnEvaluationOfRanksIsThatOfOneBitForBit) {
  std::vector<Model> of = models(4, {"eval.batch=2"});
  const auto held_out = [&](Model& model) { return model.task->training()->dataset(Split::kEval); };
  using Batches = std::vector<std::pair<Example, TensorMap>>;
  const auto keep_in = [](Batches& batches) {
    return [&](const Example& batch, const TensorMap& state) { batches.push_back({batch, state}); };
  };
  Batches seen;
  const Evaluation one = evaluate(*of[3].task, *held_out(of[3]), {.measured = keep_in(seen)});
  ASSERT_GT(seen.size(), 3u);
  as_ranks(3, [&](Ranks& ranks) {
    Model& model = of[ranks.rank()];
    Batches all;
    const Evaluation shared =
        evaluate(*model.task, *held_out(model), {.measured = keep_in(all), .ranks = &ranks});
    EXPECT_EQ(shared.examples, one.examples);
    EXPECT_EQ(shared.figures, ranks.is_first() ? one.figures : decltype(one.figures)());
    ASSERT_EQ(all.size(), ranks.is_first() ? seen.size() : 0);
    for (size_t i = 0; i < all.size(); ++i) {
      for (const auto& [name, array] : seen[i].first) {
        EXPECT_TRUE(array.equal(all[i].first.at(name))) << i << " " << name;
      }
      for (const auto& [name, state] : seen[i].second) {
        EXPECT_TRUE(state.equal(all[i].second.at(name))) << i << " " << name;
      }
    }
  });
}

// Each keeps a share of the optimiser's state; losses and checkpoints are those of ranks that keep
// all of it, and any number of ranks goes on from them.
TEST_F(RankedTrainerTest, ASharedOptimizerIsOneThatIsNot) {
  for (const std::string optimizer : {"adamw", "lamb"}) {
    const std::vector<std::string> whole = {"train.batch=6", "train.clip=0.5", "train.average=0.9",
                                            "train.steps=10",
                                            fmt::format("train.optimizer={}", optimizer)};
    std::vector<std::string> shared = whole;
    shared.push_back("train.shard_optimizer=true");
    const std::vector<double> undisturbed = losses_of(2, whole);
    EXPECT_EQ(losses_of(2, shared), undisturbed);
    EXPECT_EQ(losses_of(1, shared), losses_alone(whole));
    if (optimizer == "adamw") continue;

    const auto folder_of = [&](const std::string& name) { return folder / optimizer / name; };
    std::filesystem::create_directories(folder / optimizer);
    for (const bool shares : {false, true}) {
      std::vector<Model> begins = models(2, shares ? shared : whole);
      as_ranks(2, [&](Ranks& ranks) {
        const auto path = folder_of(shares ? "shared" : "whole");
        RunFolder run =
            ranks.is_first() ? RunFolder::create(path, "", "") : RunFolder::of_another(path);
        int steps = 0;
        Trainer trainer(begins[ranks.rank()],
                        {.stop = [&] { return ++steps == 6 ? 2 : 0; }, .ranks = &ranks});
        EXPECT_EQ(trainer.run(run), 2);
      });
    }
    EXPECT_EQ(read_file(folder_of("shared") / "last" / "state.safetensors").bytes,
              read_file(folder_of("whole") / "last" / "state.safetensors").bytes);

    for (const int64_t size : {1, 2, 3}) {
      const auto path = folder_of(std::to_string(size));
      std::filesystem::copy(folder_of("shared"), path, std::filesystem::copy_options::recursive);
      std::vector<Model> goes_on = models(size, shared);
      std::vector<double> rest;
      as_ranks(size, [&](Ranks& ranks) {
        TrainerOptions options{.ranks = &ranks};
        if (ranks.is_first()) {
          options.stepped = [&](const StepReport& r) { rest.push_back(r.figures.at("loss")); };
        }
        Trainer trainer(goes_on[ranks.rank()], options);
        if (ranks.is_first()) trainer.resume(*find_checkpoint(path));
        RunFolder run = ranks.is_first() ? RunFolder::resume(path, 6) : RunFolder::of_another(path);
        EXPECT_EQ(trainer.run(run), 0);
      });
      expect_near(rest, {undisturbed.begin() + 6, undisturbed.end()});
      EXPECT_TRUE(size != 2 || std::equal(rest.begin(), rest.end(), undisturbed.begin() + 6));
    }
  }
}

}  // namespace
}  // namespace perceiver
