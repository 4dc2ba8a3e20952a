#include "perceiver/train/sweep_plan.h"

#include "perceiver/core/error_test.h"
#include "perceiver/train/tiny_test.h"

namespace perceiver {
namespace {

constexpr int64_t kGib = int64_t{1} << 30;

JobPlan planned(const JobLimits& limits) { return plan_jobs(limits); }

TEST(PlanJobs, MemoryCoresAndRunsEachSetALimit) {
  JobLimits limits{.runs = 12, .threads = 16, .bytes_per_run = kGib, .free_bytes = {5 * kGib}};
  EXPECT_EQ(planned(limits).jobs, 5);
  EXPECT_EQ(planned(limits).threads, 3);
  limits.free_bytes = {100 * kGib};
  EXPECT_EQ(planned(limits).jobs, 12);
  EXPECT_EQ(planned(limits).threads, 1);
  limits.threads = 4;
  EXPECT_EQ(planned(limits).jobs, 4);
  limits.free_bytes = {kGib / 2};  // the run itself will say that it does not fit
  EXPECT_EQ(planned(limits).jobs, 1);
  EXPECT_EQ(planned(limits).threads, 4);
}

TEST(PlanJobs, WhatTheUserWantsIsDoneUpToTheNumberOfRuns) {
  JobLimits limits{.runs = 3, .threads = 2, .wanted = 2, .bytes_per_run = kGib, .free_bytes = {0}};
  EXPECT_EQ(planned(limits).jobs, 2);
  limits.wanted = 100;
  EXPECT_EQ(planned(limits).jobs, 3);
  EXPECT_EQ(planned(limits).threads, 1);
}

TEST(PlanJobs, EachGpuHasRoomForAFew) {
  JobLimits limits{.runs = 12,
                   .threads = 32,
                   .bytes_per_run = 10 * kGib,
                   .free_bytes = {100 * kGib, 25 * kGib},
                   .on_cpu = false};
  EXPECT_EQ(planned(limits).jobs, 4 + 2);
  EXPECT_EQ(planned(limits).threads, 5);
}

class Rehearse : public TrainTest {
 protected:
  RehearsedRun run(const std::string& name, std::vector<std::string> overrides) const {
    overrides.insert(overrides.begin(), "data.train=['" + (folder / "text.txt").string() + "']");
    return {name, read_settings(tiny_config(), overrides)};
  }
};

TEST_F(Rehearse, FindsTheMeasureAndALargerBatchTakesMore) {
  const RehearsedRun small = run("small", {}), large = run("large", {"train.batch=4000"});
  const Rehearsal one = rehearse(std::span(&small, 1), true);
  EXPECT_EQ(one.measure.name, "bits_per_byte");
  EXPECT_TRUE(one.measure.lower_is_better);
  EXPECT_EQ(one.shown.name, "bits a byte");
  const RehearsedRun both_runs[] = {small, large};
  const Rehearsal both = rehearse(both_runs, true);
  EXPECT_GT(both.cpu_bytes, one.cpu_bytes);
  EXPECT_GT(both.gpu_bytes, one.gpu_bytes);
}

TEST_F(Rehearse, WhatIsWrongWithARunIsSaidBeforeItStarts) {
  const RehearsedRun good = run("good", {});
  const RehearsedRun odd[] = {good, run("odd", {"train.batch=8", "train.accumulate=3"})};
  EXPECT_EQ(error_of([&] { rehearse(odd, true); }),
            "odd: train.batch (8) must be a multiple of train.accumulate (3)");
  const RehearsedRun large[] = {good, run("large", {"train.batch=10000000"})};
  EXPECT_TRUE(error_of([&] {
                rehearse(large, true);
              }).starts_with("large: a step of 10000000 examples at once takes about "));
  EXPECT_EQ(error_of([&] { rehearse(large, false); }), "no error");  // a GPU may have room
  const RehearsedRun nowhere[] = {run("nowhere", {"data.train=['/nowhere']"}), good};
  EXPECT_TRUE(error_of([&] { rehearse(nowhere, true); }).starts_with("/nowhere: "));
}

}  // namespace
}  // namespace perceiver
