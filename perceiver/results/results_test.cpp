#include <gtest/gtest.h>

#include <fstream>

#include "perceiver/core/error_test.h"
#include "perceiver/core/file.h"
#include "perceiver/results/report.h"
#include "perceiver/tasks/settings.h"
#include "perceiver/tasks/training.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

// A folder of its own for each test.
class Results : public ::testing::Test {
 protected:
  Results() {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "rows");
  }
  ~Results() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  void write_claim(const std::string& more = "") const {
    write("sizes.toml", R"(number = 1
title = "Large & small"
where = "Tab. 0"
paper = "Large is better."
experiment = "Two sizes."
measure = { key = "accuracy", name = "accuracy, %", times = 100.0, decimals = 1 }
seeds = [1, 2]
[[arm]]
name = "large"
paper = "90"
config = "a.toml"
[[arm]]
name = "small <s>"
config = "b.toml"
)" + more);
  }
  static std::string row(const std::string& arm, int seed, double value) {
    return fmt::format(
        "{{\"arm\": \"{}\", \"seed\": {}, \"value\": {}, \"seconds\": 90, \"command\": \"c\", "
        "\"commit\": \"abc\", \"machine\": \"two cores\", \"date\": \"2026-11-19\"}}\n",
        arm, seed, value);
  }
  ClaimReport report() const { return read_reports(folder_).at(0); }

  const fs::path folder_ =
      fs::temp_directory_path() /
      fmt::format("results_{}", ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(Results, AreTheMeanAndTheDeviationOverSeeds) {
  write_claim();
  write("rows/sizes.jsonl", row("large", 2, 0.9) + row("large", 1, 0.8) + row("small <s>", 1, 0.5));
  const ClaimReport read = report();
  const std::vector<ArmResult> results = arm_results(read.claim, read.rows);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].values, (std::vector<double>{80.0, 90.0}));  // by seed
  EXPECT_NEAR(results[0].mean, 85.0, 1e-9);
  EXPECT_NEAR(results[0].deviation, 7.0710678, 1e-6);  // sqrt((25 + 25) / 1)
  EXPECT_NEAR(results[0].minutes, 1.5, 1e-9);
  EXPECT_EQ(results[1].deviation, 0.0);

  const TableCells table = result_table(read);
  EXPECT_EQ(table[1], (std::vector<std::string>{"large", "90", "85.0", "± 7.1", "2", "1.5"}));
  EXPECT_EQ(table[2], (std::vector<std::string>{"small <s>", "-", "50.0", "", "1", "1.5"}));
}

TEST_F(Results, SayWhatWasNotRun) {
  write_claim();
  const std::map<std::string, std::string> files = results_files(read_reports(folder_));
  EXPECT_EQ(files.size(), 1u);  // no plot
  EXPECT_NE(files.at("results.md").find("| large | 90 | not run |"), std::string::npos);
  EXPECT_NE(files.at("results.md").find("Not run yet."), std::string::npos);

  write("rows/sizes.jsonl", row("large", 2, 0.9));
  EXPECT_NE(results_files(read_reports(folder_)).at("results.md").find("1 of 4 runs are there."),
            std::string::npos);
}

TEST_F(Results, ArePlottedWithADotForEachSeed) {
  write_claim();
  write("rows/sizes.jsonl", row("large", 2, 0.9) + row("large", 1, 0.8));
  const std::string svg = results_files(read_reports(folder_)).at("results/sizes.svg");
  size_t dots = 0;
  for (size_t at = svg.find("<circle"); at != svg.npos; at = svg.find("<circle", at + 1)) ++dots;
  EXPECT_EQ(dots, 2u);
  EXPECT_NE(svg.find("Large &amp; small"), std::string::npos);
  EXPECT_NE(svg.find("small &lt;s&gt;"), std::string::npos);
  EXPECT_NE(svg.find(">85.0<"), std::string::npos);
  EXPECT_NE(svg.find(">not run<"), std::string::npos);
}

TEST_F(Results, RefuseRowsThatDoNotBelongToTheClaim) {
  write_claim();
  const auto error_with = [&](const std::string& rows) {
    write("rows/sizes.jsonl", rows);
    return error_of([&] { results_files(read_reports(folder_)); });
  };
  EXPECT_NE(
      error_with(row("large", 1, 1) + "{}\n").find("rows/sizes.jsonl:2: no row; expected {\"arm\""),
      std::string::npos);
  EXPECT_EQ(error_with(row("huge", 1, 1)), "sizes: a row of 'huge', which is no arm of this claim");
  EXPECT_EQ(error_with(row("large", 7, 1)),
            "sizes: a row of seed 7, which the claim does not list");
  EXPECT_EQ(error_with(row("large", 1, 1) + row("large", 1, 1)),
            "sizes: two rows of 'large', seed 1");
}

TEST_F(Results, RefuseClaimsThatCompareNothing) {
  write_claim("[[arm]]\nname = \"large\"\nconfig = \"c.toml\"\n");
  EXPECT_NE(error_of([&] { report(); }).find("two arms are called 'large'"), std::string::npos);
  write_claim("[[arm]]\nname = \"third\"\n");
  EXPECT_NE(error_of([&] { report(); }).find("arm 'third' names no config"), std::string::npos);
}

// The project's own claims.

TEST(Claims, EveryArmIsAModelThatIsTrained) {
  const auto read = [](const std::string& config, std::vector<std::string> settings,
                       const std::vector<std::string>& more) {
    settings.insert(settings.end(), more.begin(), more.end());
    return read_settings(read_file(shipped("configs") / config), settings);
  };
  for (const Claim& claim : read_claims(shipped("experiments"))) {
    for (const ClaimArm& arm : claim.arm) {
      EXPECT_NE(read(arm.config, claim.settings, arm.settings)->train(), nullptr) << claim.name;
      if (!arm.begins) continue;
      EXPECT_NE(read(arm.begins->config, arm.begins->settings, {})->train(), nullptr) << claim.name;
    }
    EXPECT_GE(claim.seeds.size(), 3u) << claim.name;
  }
}

TEST(Claims, PageInDocsIsDrawnFromTheRows) {
  for (const auto& [name, text] : results_files(read_reports(shipped("experiments")))) {
    EXPECT_EQ(read_file(shipped("docs") / name).bytes, text)
        << "docs/" << name << " is old: run 'make results'";
  }
}

}  // namespace
}  // namespace perceiver
