#include "perceiver/train/run_folder.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "perceiver/core/error_test.h"
#include "perceiver/train/events.h"
#include "perceiver/train/tiny_test.h"

namespace perceiver {
namespace {

std::string hex(const std::string& bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// Bytes made by a few lines of Python after TensorFlow's description of the format; the peer test
// has TensorBoard itself read a run's file.
TEST(Events, AreTensorFlowsRecords) {
  EXPECT_EQ(hex(event_record(first_event(1.5))),
            "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c");
  EXPECT_EQ(hex(event_record(scalars_event(1.5, 300, {{"train/loss", 2.25}}))),
            "2100000000000000017becf609000000000000f83f10ac022a130a110a0a747261696e2f6c6f7373150000"
            "1040184a3460");
}

class RunFolderTest : public TrainTest {
 protected:
  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    std::istringstream text(read_file(folder / "run" / "metrics.jsonl").bytes);
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }

  // The sizes of all event files together.
  uintmax_t event_bytes() const {
    uintmax_t bytes = 0;
    for (const auto& path : sorted_entries(folder / "run")) {
      if (path.filename().string().starts_with("events."))
        bytes += std::filesystem::file_size(path);
    }
    return bytes;
  }
};

TEST_F(RunFolderTest, HoldsConfigAboutAndALineForEachLog) {
  RunFolder run = RunFolder::create(folder / "run", "task = \"language\"\n", "{}\n");
  run.log(1, "train", {{"loss", 2.5}});
  run.log(2, "eval", {{"bits_per_byte", 0.1}});
  EXPECT_EQ(read_file(folder / "run" / "config.toml").bytes, "task = \"language\"\n");
  EXPECT_EQ(read_file(folder / "run" / "run.json").bytes, "{}\n");
  ASSERT_EQ(lines().size(), 2u);
  const auto first = nlohmann::json::parse(lines()[0]), second = nlohmann::json::parse(lines()[1]);
  EXPECT_EQ(first["step"], 1);
  EXPECT_EQ(first["kind"], "train");
  EXPECT_EQ(first["loss"], 2.5);
  EXPECT_EQ(second["bits_per_byte"], 0.1);
}

TEST_F(RunFolderTest, AResumedRunForgetsWhatCameAfterTheCheckpoint) {
  uintmax_t until_two = 0;
  {
    RunFolder run = RunFolder::create(folder / "run", "", "");
    for (int64_t step = 1; step <= 4; ++step) {
      run.log(step, "train", {{"loss", 1.0 / static_cast<double>(step)}});
      if (step == 2) until_two = event_bytes();
    }
  }
  const std::vector<std::string> before = lines();
  write_file(folder / "run" / "metrics.jsonl",
             read_file(folder / "run" / "metrics.jsonl").bytes + "{\"step\": 5, \"lo");
  RunFolder run = RunFolder::resume(folder / "run", 2);
  EXPECT_EQ(lines(), (std::vector<std::string>{before[0], before[1]}));
  EXPECT_EQ(event_bytes(), until_two);
  run.log(3, "train", {{"loss", 0.5}});
  EXPECT_EQ(lines().size(), 3u);
}

TEST_F(RunFolderTest, LinesThatAreNoMetricsAreForgotten) {
  RunFolder::create(folder / "run", "", "").log(1, "train", {{"loss", 0.5}});
  const std::vector<std::string> before = lines();
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  for (const std::string& line :
       {std::string(R"({"step": "a"})"), std::string(R"({"step": 1.5, "kind": "train"})"),
        std::string(R"({"step": 1, "kind": 5})"),
        std::string(R"({"step": 1, "kind": "train", "time": "x"})"),
        std::string(R"({"step": 1, "time": null})"), R"({"step": 1, "loss": )" + deep + "}"}) {
    write_file(folder / "run" / "metrics.jsonl", before[0] + "\n" + line + "\n");
    RunFolder::resume(folder / "run", 2);
    EXPECT_EQ(lines(), before) << line.substr(0, 60);
  }
}

TEST_F(RunFolderTest, ARunIsNotOverwritten) {
  RunFolder::create(folder / "run", "", "");
  const std::string run = (folder / "run").string();
  EXPECT_EQ(error_of([&] { RunFolder::create(folder / "run", "", ""); }),
            run + ": there is a run in it already; go on with 'perceiver train --resume " + run +
                "' or name another with -o");
  EXPECT_EQ(error_of([] { RunFolder::create("/proc/run", "", ""); }),
            "/proc/run: cannot create: No such file or directory");
}

}  // namespace
}  // namespace perceiver
