#include "perceiver/train/trainer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"
#include "perceiver/train/evaluate.h"
#include "perceiver/train/tiny_test.h"
#include "perceiver/zoo/find.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

class TrainerTest : public TrainTest {
 protected:
  std::vector<double> losses_with(const std::vector<std::string>& overrides,
                                  const TrainerOptions& options = {}, int steps = 6) {
    Model model = make(overrides);
    Trainer trainer(model, options);
    return losses(trainer, steps);
  }

  std::string error_with(const std::vector<std::string>& overrides) {
    return error_of([&] { losses_with(overrides, {}, 1); });
  }
};

TEST_F(TrainerTest, LossesDoNotDependOnLoaderThreads) {
  EXPECT_EQ(losses_with({}, {.threads = 1}), losses_with({}, {.threads = 3}));
  EXPECT_NE(losses_with({}), losses_with({"train.seed=1"}));
}

// Four small batches are the large one: masked bytes weigh the same wherever they fall.
TEST_F(TrainerTest, SmallBatchesAddUpToALargeOne) {
  const std::vector<double> whole = losses_with({"train.batch=8"});
  const std::vector<double> parts = losses_with({"train.batch=8", "train.accumulate=4"});
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(parts[i], whole[i], 1e-5) << i;
  EXPECT_EQ(error_with({"train.batch=8", "train.accumulate=3"}),
            "train.batch (8) must be a multiple of train.accumulate (3)");
}

// The paper fine-tunes for ten epochs, whatever the batch: a step may end in the next epoch.
TEST_F(TrainerTest, EpochsAreAsManyStepsAsSeeEveryExampleSoOften) {
  const auto steps = [&](const std::vector<std::string>& overrides) {
    Model model = make(overrides);
    return Trainer(model, {}).steps();
  };
  Model model = make({});
  const int64_t examples = model.task->training()->dataset(Split::kTrain)->size();
  EXPECT_EQ(steps({"train.steps=0", "train.epochs=10", "train.batch=3"}), (10 * examples + 2) / 3);
  EXPECT_EQ(steps({"train.steps=0", "train.epochs=1", "train.batch=1"}), examples);
  EXPECT_EQ(steps({"train.steps=7"}), 7);
  EXPECT_EQ(error_with({"train.steps=7", "train.epochs=2"}),
            "train.steps is 7 and train.epochs is 2, expected just one of them above 0");
  EXPECT_EQ(error_with({"train.steps=0"}),
            "train.steps is 0 and train.epochs is 0, expected just one of them above 0");
}

TEST_F(TrainerTest, RecomputingChangesNothing) {
  const std::vector<double> kept = losses_with({}),
                            recomputed = losses_with({"train.recompute=true"});
  for (size_t i = 0; i < kept.size(); ++i) EXPECT_NEAR(recomputed[i], kept[i], 1e-4) << i;
}

// One batch again and again, so that nothing but the steps moves the loss. Each step moves it by
// more than a tenth of what six do, and bfloat16 may be a fiftieth of that apart.
TEST_F(TrainerTest, BFloat16FollowsFloat32) {
  const std::vector<std::string> overfit = {"train.overfit_batch=true", "train.optimizer=adamw"};
  std::vector<std::string> in_bfloat16 = overfit;
  in_bfloat16.push_back("train.dtype=bfloat16");
  const std::vector<double> exact = losses_with(overfit), narrow = losses_with(in_bfloat16);
  const double moved = exact.front() - exact.back();
  for (size_t i = 0; i < exact.size(); ++i) {
    EXPECT_NEAR(narrow[i], exact[i], 0.02 * moved) << i;
    if (i > 0) {
      EXPECT_GT(exact[i - 1] - exact[i], 0.05 * moved) << i;
    }
  }
  EXPECT_NE(exact, narrow);
}

TEST_F(TrainerTest, RecordedPassesOnAGpuGiveTheSameLosses) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  const TrainerOptions on_gpu = {.device = at::kCUDA};
  const std::vector<double> recorded = losses_with({}, on_gpu, 10),
                            called = losses_with({"train.graph=false"}, on_gpu, 10);
  for (size_t i = 0; i < called.size(); ++i) EXPECT_NEAR(recorded[i], called[i], 1e-5) << i;
}

TEST(RecordedPass, RepeatsBatchesOfEachSizeOnAGpu) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  int calls = 0;
  RecordedPass pass([&](const Example& batch) {
    ++calls;
    const Tensor sum = batch.at("x").sum();
    return RecordedPass::Result{{sum, at::ones({}, at::kCUDA)}, {sum * 2, Tensor()}};
  });
  for (int i = 0; i < 12; ++i) {
    const int64_t size = i % 2 == 0 ? 3 : 5;  // no two in a row are alike
    const auto [loss, gradients] =
        pass({{"x", at::full({size}, i, at::TensorOptions(at::kCUDA).dtype(at::kFloat))}});
    EXPECT_EQ(loss.sum.item<double>(), static_cast<double>(size * i));
    EXPECT_EQ(gradients[0].item<double>(), static_cast<double>(2 * size * i));
    EXPECT_FALSE(gradients[1].defined());
  }
  EXPECT_EQ(calls, 8);  // of each size three, and one to record
}

TEST_F(TrainerTest, OneBatchIsOverfittedToNearZero) {
  const std::vector<double> fell =
      losses_with({"train.overfit_batch=true", "train.optimizer=adamw", "train.steps=300",
                   "train.batch=2", "train.weight_decay=0.0", "train.clip=1.0",
                   "train.warmup_steps=30", "train.learning_rate=3e-3"},
                  {}, 300);
  EXPECT_GT(fell.front(), 4.0);
  EXPECT_LT(fell.back(), 0.01);
}

TEST_F(TrainerTest, FrozenPartsStayAndTheRestMoves) {
  Model model = make({"train.freeze=['encoder.*', 'input.token.weight']"});
  std::map<std::string, Tensor> before;
  for (const auto& item : model.task->model().named_parameters()) {
    before[item.key()] = item.value().detach().clone();
  }
  Trainer trainer(model, {});
  losses(trainer, 2);
  for (const auto& item : model.task->model().named_parameters()) {
    const bool frozen = item.key().starts_with("encoder.") || item.key() == "input.token.weight";
    // What starts at zero and is not decayed moves only where its gradient is not zero.
    if (!frozen && item.key().ends_with(".bias")) continue;
    EXPECT_EQ(item.value().equal(before[item.key()]), frozen) << item.key();
  }
  EXPECT_EQ(
      error_with({"train.freeze=['encode.*']"}),
      "train.freeze: no parameter is called 'encode.*'; 'perceiver inspect' shows the model's "
      "parts");
  EXPECT_EQ(error_with({"train.freeze=['*']"}), "train.freeze: there is nothing left to train");
}

TEST_F(TrainerTest, GoesOnFromACheckpointToTheSameLosses) {
  Model straight = make(), stopped = make();
  Trainer one(straight, {});
  const std::vector<double> all = losses(one, 12);
  RunFolder run = RunFolder::create(folder / "run", "", "");
  int steps = 0;
  Trainer until_seven(stopped, {.stop = [&] { return ++steps == 7 ? 2 : 0; }});
  EXPECT_EQ(until_seven.run(run), 2);
  Model fresh = make();
  Trainer after(fresh, {.threads = 2});
  after.resume(*find_checkpoint(folder / "run"));
  EXPECT_EQ(after.steps_done(), 7);
  EXPECT_EQ(losses(after, 5), std::vector<double>(all.begin() + 7, all.end()));
}

// Wherever a step is left, in its forward pass, its backward pass or an evaluation, what was
// finished before is kept, and the run comes to the same end.
TEST_F(TrainerTest, AStepThatIsDroppedChangesNothing) {
  const std::vector<std::string> settings = {"train.eval_every=3", "train.average=0.9"};
  Model straight = make(settings);
  {
    RunFolder whole = RunFolder::create(folder / "whole", "", "");
    EXPECT_EQ(Trainer(straight, {}).run(whole), 0);
  }
  for (const int64_t looks : {20, 97, 150, 233, 310}) {
    const fs::path path = folder / std::to_string(looks);
    Model stopped = make(settings), fresh = make(settings);
    int64_t looked = 0;
    {
      RunFolder run = RunFolder::create(path, "", "");
      Trainer until(stopped, {.look = [&] { return ++looked == looks ? 2 : 0; }});
      EXPECT_EQ(until.run(run), 2) << looks;
      EXPECT_LT(until.steps_done(), 12) << looks;
    }
    Trainer after(fresh, {});
    const std::optional<Checkpoint> checkpoint = find_checkpoint(path);
    if (checkpoint) after.resume(*checkpoint);
    RunFolder run = RunFolder::resume(path, after.steps_done());
    EXPECT_EQ(after.run(run), 0);
    for (const char* file : {"last/model.safetensors", "last/state.safetensors",  //
                             "best/model.safetensors"}) {
      EXPECT_EQ(read_file(path / file).bytes, read_file(folder / "whole" / file).bytes)
          << looks << " " << file;
    }
  }
}

TEST_F(TrainerTest, TheFirstStepIsReportedAtOnceWithTheTimeLeft) {
  Model model = make({"train.log_every=100"});
  RunFolder run = RunFolder::create(folder / "run", "", "");
  std::vector<StepReport> reports;
  Trainer trainer(model, {.stepped = [&](const StepReport& report) { reports.push_back(report); }});
  EXPECT_EQ(trainer.run(run), 0);
  ASSERT_EQ(reports.size(), 12u);
  EXPECT_EQ(reports[0].step, 1);
  EXPECT_FALSE(reports[0].logged);
  EXPECT_TRUE(reports[11].logged);
  EXPECT_GT(reports[0].figures.at("seconds_left"), 0.0);
  EXPECT_TRUE(reports[0].figures.contains("loss"));
}

TEST_F(TrainerTest, TheAverageGoesOnFromACheckpointToo) {
  const std::vector<std::string> averaged = {"train.average=0.9", "train.eval_every=4"};
  Model straight = make(averaged), stopped = make(averaged), fresh = make(averaged);
  RunFolder whole = RunFolder::create(folder / "whole", "", "");
  EXPECT_EQ(Trainer(straight, {}).run(whole), 0);
  int steps = 0;
  {
    RunFolder run = RunFolder::create(folder / "run", "", "");
    Trainer until_seven(stopped, {.stop = [&] { return ++steps == 7 ? 2 : 0; }});
    EXPECT_EQ(until_seven.run(run), 2);
  }
  Trainer after(fresh, {});
  after.resume(*find_checkpoint(folder / "run"));
  RunFolder run = RunFolder::resume(folder / "run", 7);
  EXPECT_EQ(after.run(run), 0);
  for (const char* file : {"last/model.safetensors", "last/state.safetensors",  //
                           "best/model.safetensors"}) {
    EXPECT_EQ(read_file(folder / "run" / file).bytes, read_file(folder / "whole" / file).bytes)
        << file;
  }

  Model plain = make(), later = make(averaged);
  RunFolder without = RunFolder::create(folder / "without", "", "");
  EXPECT_EQ(Trainer(plain, {}).run(without), 0);
  Trainer started_late(later, {});
  EXPECT_EQ(error_of([&] { started_late.resume(*find_checkpoint(folder / "without")); }),
            (folder / "without" / "last").string() +
                ": has no state 'average.bias'; resume with the optimiser, the average and the "
                "frozen parts of before");
}

// Tensors of one model are those of the other.
bool same_weights(Model& a, Model& b) {
  const auto theirs = b.task->model().named_parameters();
  for (const auto& item : a.task->model().named_parameters()) {
    if (!item.value().equal(theirs[item.key()])) return false;
  }
  return true;
}

TEST_F(TrainerTest, TheAverageIsEvaluatedAndKeptAsBestAndChangesNothingElse) {
  Model plain = make(), averaged = make({"train.average=0.9"});
  RunFolder plain_run = RunFolder::create(folder / "plain", "", "");
  RunFolder averaged_run = RunFolder::create(folder / "averaged", "", "");
  EXPECT_EQ(Trainer(plain, {}).run(plain_run), 0);
  EXPECT_EQ(Trainer(averaged, {}).run(averaged_run), 0);
  EXPECT_TRUE(same_weights(averaged, plain));
  Model last = load_model(folder / "averaged" / "last"),
        best = load_model(folder / "averaged" / "best");
  EXPECT_TRUE(same_weights(last, plain));
  EXPECT_FALSE(same_weights(best, plain));

  const auto held_out = plain.task->training()->dataset(Split::kEval);
  const auto loss = [&](Model& model) {
    return evaluate(*model.task, *held_out, {})
        .figures.at(plain.task->training()->main_measure().name);
  };
  const double kept = *find_checkpoint(folder / "averaged")->best;
  EXPECT_NEAR(loss(best), kept, 1e-5);
  EXPECT_GT(std::abs(loss(plain) - kept), 1e-3);
  EXPECT_NEAR(loss(plain), *find_checkpoint(folder / "plain")->best, 1e-5);
}

TEST_F(TrainerTest, WithoutHeldOutExamplesTheNewestAverageIsKeptAsBest) {
  Model model = make({"train.average=0.9", "data.held_out_share=0.0"});
  RunFolder run = RunFolder::create(folder / "run", "", "");
  EXPECT_EQ(Trainer(model, {}).run(run), 0);
  Model best = load_model(find_model((folder / "run").string()));
  const TensorMap state = find_checkpoint(folder / "run")->tensors;
  for (const auto& item : best.task->model().named_parameters()) {
    EXPECT_TRUE(item.value().equal(state.at("average." + item.key()))) << item.key();
  }
  EXPECT_EQ(error_with({"train.average=1.0"}), "train.average (1) must be less than 1");
}

TEST_F(TrainerTest, WeightsOfAnotherModelAreTakenByName) {
  Model first = make();
  save_model(first, folder / "first", at::kFloat);
  const std::string from = "train.from='" + (folder / "first").string() + "'";
  Model second =
      make({from, "model.num_inputs=16", "train.new_head=['input.position.weight', 'query.*']"});
  at::manual_seed(5);
  Trainer trainer(second, {});
  const auto ours = second.task->model().named_parameters();
  EXPECT_TRUE(
      ours["encoder.latents"].equal(first.task->model().named_parameters()["encoder.latents"]));
  const std::string weights = (folder / "first" / "model.safetensors").string();
  EXPECT_EQ(
      error_with({from, "model.num_inputs=16"}),
      weights +
          ": tensor 'input.position.weight' has shape [32, 16], expected [16, 16]; --new-head "
          "'input.position.weight' lets it begin anew");
  EXPECT_EQ(error_with({from, "model.encoder.self_attends_per_block=3"}),
            weights +
                ": has no tensor 'encoder.self_attend_2.attention.k.bias'; --new-head "
                "'encoder.self_attend_2.attention.k.bias' lets it begin anew");
}

TEST_F(TrainerTest, ALossThatIsNoNumberEndsTheRunAndLeavesTheCheckpoint) {
  RunFolder run = RunFolder::create(folder / "run", "", "");
  Model model = make({"train.save_every=1", "train.learning_rate=1e30", "train.steps=50",
                      "train.optimizer=adamw", "train.warmup_steps=2"});
  Trainer trainer(model, {});
  const std::string error = error_of([&] { trainer.run(run); });
  EXPECT_TRUE(error.ends_with("the checkpoints in " + (folder / "run").string() +
                              " are from before. Lower train.learning_rate, or set train.clip"))
      << error;
  EXPECT_TRUE(error.starts_with("step ")) << error;
  const std::optional<Checkpoint> kept = find_checkpoint(folder / "run");
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->step, trainer.steps_done() - 1);
}

TEST_F(TrainerTest, UnreadableExamplesStopOrAreSkippedAndCounted) {
  std::string lines;
  for (int i = 0; i < 9; ++i) lines += "{\"text\": \"some words to read\"}\n";
  write_file(folder / "text.jsonl", lines + "{\"text\": 3}\n");
  const std::string path = (folder / "text.jsonl").string();
  const std::vector<std::string> broken = {"data.train=['" + path + "']", "data.held_out_share=0.0",
                                           "data.documents_per_example=1", "train.batch=10"};
  EXPECT_EQ(error_with(broken), path + ":10: must be a JSON object with a string 'text'");
  std::vector<std::string> said, skip = broken;
  skip.push_back("train.unreadable=skip");
  Model model = make(skip);
  Trainer trainer(model, {.say = [&](const std::string& line) { said.push_back(line); }});
  losses(trainer, 1);
  EXPECT_EQ(trainer.skipped(), 1);
  EXPECT_EQ(said.at(0), path + ":10: must be a JSON object with a string 'text'; skipped");
}

TEST_F(TrainerTest, UnreadableHeldOutExamplesAreLeftOut) {
  const std::string good = "{\"text\": \"some words to read\"}\n";
  const std::string bad = "{\"text\": 3}\n";
  const auto measured = [&](const std::string& lines, const std::string& name) {
    write_file(folder / name, lines);
    Model model =
        make({"data.held_out=['" + (folder / name).string() + "']", "data.documents_per_example=1",
              "data.mask_probability=1.0", "eval.batch=2"});
    const auto dataset = model.task->training()->dataset(Split::kEval);
    return evaluate(*model.task, *dataset, {.unreadable = [](const std::string&) {}});
  };
  // Every word is masked, so the loss does not depend on what is drawn for an example.
  const Evaluation whole = measured(good + "{\"text\": \"others\"}\n", "good.jsonl");
  const Evaluation some =
      measured(good + bad + bad + bad + "{\"text\": \"others\"}\n", "bad.jsonl");
  EXPECT_EQ(whole.examples, 2);
  EXPECT_EQ(some.examples, 2);
  EXPECT_NEAR(some.figures.at("loss"), whole.figures.at("loss"), 1e-5);
  EXPECT_EQ(error_of([&] { measured(bad + bad, "none.jsonl"); }),
            "none of the 2 held-out examples can be read");
}

TEST_F(TrainerTest, EvaluationAddsBatchesUp) {
  Model model = make({"eval.batch=3"}), other = make({"eval.batch=100"});
  const auto figures = [](Model& m) {
    const auto dataset = m.task->training()->dataset(Split::kEval);
    return evaluate(*m.task, *dataset, {.threads = 2});
  };
  const Evaluation small = figures(model), large = figures(other);
  EXPECT_EQ(small.examples, 8);
  for (const auto& [name, value] : small.figures) {
    EXPECT_NEAR(value, large.figures.at(name), 1e-4) << name;
  }
  EXPECT_NEAR(small.figures.at("bits_per_byte"), small.figures.at("loss") / std::log(2.0), 1e-4);
  EXPECT_EQ(model.task->training()->dataset(Split::kTrain)->size(), 32);
}

}  // namespace
}  // namespace perceiver
