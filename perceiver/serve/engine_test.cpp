#include "perceiver/serve/engine.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "perceiver/core/error_test.h"
#include "perceiver/tasks/language/fill_texts.h"

namespace perceiver {
namespace {

const std::string kLanguage = "tests/golden/huggingface/language";

class EngineTest : public testing::Test {
 protected:
  EngineTest() { engine.wait_until_loaded(); }

  // What it makes of its rows is told by the number of rows that were computed at once.
  Work counting(const std::string& kind, const Tensor& rows) {
    return {.model = model(),
            .pass =
                [this](Model&, const Example& inputs) {
                  const Tensor& x = inputs.at("x");
                  passes.push_back(x.size(0));
                  if (x.eq(-1).any().item<bool>()) fail("one of them is bad");
                  return Example{{"y", x * 10}};
                },
            .kind = kind,
            .inputs = {{"x", rows}}};
  }
  ServedModel& model() { return engine.models()[0]; }

  // Nothing is computed before all works wait.
  void run_together(std::vector<Work>& works) {
    std::latch begun(1), waiting(1);
    std::thread blocker([&] {
      engine.run(model(), [&](Model&) {
        begun.count_down();
        waiting.wait();
      });
    });
    begun.wait();
    std::vector<std::thread> threads;
    errors.resize(works.size());
    for (size_t i = 0; i < works.size(); ++i) {
      threads.emplace_back(
          [&, i] { errors[i] = error_of([&] { engine.run(std::span(&works[i], 1)); }); });
      while (engine.waiting() < std::ssize(threads)) std::this_thread::yield();
    }
    waiting.count_down();
    blocker.join();
    for (std::thread& thread : threads) thread.join();
  }

  ServerMetrics metrics;
  Engine engine{{.threads = 1, .most_rows = 4},
                models_to_serve(std::vector<std::string>{kLanguage}),
                metrics};
  std::vector<int64_t> passes;
  std::vector<std::string> errors;
};

TEST_F(EngineTest, IsReadyWhenItsModelsAre) {
  EXPECT_EQ(engine.state(), Engine::State::kReady);
  EXPECT_EQ(model().name, "language");
  EXPECT_EQ(model().reads, "text");
  EXPECT_TRUE(model().answers("/fill"));
  EXPECT_FALSE(model().answers("/flow"));
  EXPECT_EQ(model().model.fingerprint.size(), 16u);
}

TEST_F(EngineTest, WhatWaitsAndFitsIsComputedTogether) {
  std::vector<Work> works;
  for (int i = 0; i < 6; ++i) works.push_back(counting("a", at::full({1, 3}, i)));
  works.push_back(counting("b", at::full({1, 3}, 6)));  // of another kind
  works.push_back(counting("a", at::full({1, 4}, 7)));  // of another size
  works.push_back(counting("", at::full({1, 3}, 8)));   // goes with nothing
  run_together(works);
  EXPECT_EQ(passes, (std::vector<int64_t>{4, 2, 1, 1, 1}));
  for (size_t i = 0; i < works.size(); ++i) {
    const Tensor& y = works[i].outputs.at("y");
    EXPECT_EQ(y.size(0), 1);
    EXPECT_TRUE(y.eq(static_cast<int64_t>(10 * i)).all().item<bool>()) << i;
  }
}

TEST_F(EngineTest, OneOfManyThatIsBadHarmsNoOther) {
  std::vector<Work> works;
  for (const int value : {1, -1, 2}) works.push_back(counting("a", at::full({1, 3}, value)));
  run_together(works);
  EXPECT_EQ(errors, (std::vector<std::string>{"no error", "one of them is bad", "no error"}));
  EXPECT_EQ(works[2].outputs.at("y")[0][0].item<int64_t>(), 20);
}

TEST_F(EngineTest, LongWorkLetsOtherWorkPassAndHearsHowFarItIs) {
  std::vector<double> heard;
  std::atomic<bool> passed = false;
  std::thread other;
  const bool ended = engine.run_long(
      model(),
      [&](Model& loaded, const Hooks& hooks) {
        hooks.begin("fill", 1e9);
        other = std::thread([&] { engine.run(model(), [&](Model&) { passed = true; }); });
        for (int i = 0; i < 1000 && !passed; ++i) fill(loaded, "a [MASK] b", {.num_bytes = 3});
        EXPECT_TRUE(passed);
      },
      [&](double share) {
        heard.push_back(share);
        return true;
      });
  other.join();
  EXPECT_TRUE(ended);
  EXPECT_GE(heard.size(), 3u);
  EXPECT_TRUE(std::ranges::is_sorted(heard));
}

TEST_F(EngineTest, LongWorkEndsWhenItIsToldTo) {
  int heard = 0;
  const auto fill_all = [](Model& loaded, const Hooks& hooks) {
    hooks.begin("fill", 1e9);
    for (;;) fill(loaded, "a [MASK] b", {.num_bytes = 3});
  };
  EXPECT_FALSE(engine.run_long(model(), fill_all, [&](double) { return ++heard < 5; }));
  bool computes = false;
  engine.run(model(), [&](Model&) { computes = true; });
  EXPECT_TRUE(computes);
}

TEST(Engine, SaysWhyAModelCannotBeLoaded) {
  const std::string folder = testing::TempDir() + "perceiver_broken_model";
  std::filesystem::create_directories(folder);
  write_file(folder + "/config.json", "{}");
  ServerMetrics metrics;
  Engine engine({}, models_to_serve(std::vector<std::string>{folder}), metrics);
  engine.wait_until_loaded();
  EXPECT_EQ(engine.state(), Engine::State::kFailed);
  EXPECT_NE(error_of([&] { std::rethrow_exception(engine.failure()); }), "no error");
  std::filesystem::remove_all(folder);
}

TEST(ServedModels, NoTwoHaveOneName) {
  const std::vector<std::string> twice = {kLanguage, kLanguage + "/"};
  EXPECT_EQ(error_of([&] { models_to_serve(twice); }),
            "-m " + twice[1] +
                ": a model of the name language is served already; give each a name "
                "of its own");
  EXPECT_NE(error_of([] { models_to_serve(std::vector<std::string>{"no-such-model"}); }),
            "no error");
}

}  // namespace
}  // namespace perceiver
