// classify, flow, eval and data flow by several processes: what they print and write is what one
// process does, in its order.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "perceiver/media/image.h"
#include "perceiver/weights/safetensors.h"
#include "tests/child.h"
#include "tests/program.h"
#include "tests/tiny_flow.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class CliRanksVerbs : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const std::string& name) const { return (folder / name).string(); }

  // Arguments with NAME in the test's folder written as @NAME.
  std::string filled(std::string arguments) const {
    for (size_t at; (at = arguments.find('@')) != arguments.npos;) {
      arguments.replace(at, 1, folder.string() + "/");
    }
    return arguments;
  }

  // Of two runs that differ in the number of processes and in where they write, one and several.
  void expect_same(const Result& several, const Result& one) const {
    EXPECT_EQ(several.code, one.code) << several.err;
    EXPECT_EQ(several.out, one.out);
    EXPECT_EQ(several.err, one.err);
  }

  void expect_same_files(const std::string& several, const std::string& one) const {
    int64_t files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder / one)) {
      if (!entry.is_regular_file()) continue;
      const fs::path other = folder / several / fs::relative(entry.path(), folder / one);
      ASSERT_TRUE(fs::exists(other)) << other;
      EXPECT_EQ(read_file(other).bytes, read_file(entry.path()).bytes) << other;
      ++files;
    }
    EXPECT_GT(files, 0);
  }

  void add_noise(const std::string& name, int64_t height, int64_t width) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    write_file(path(name), encode_png(at::randint(0, 256, {3, height, width}, at::kByte)));
  }

  // What a new model has as zeros would make all flow zero.
  void make_flow_model() const {
    write_file(path("tiny.toml"), kTinyFlow);
    ASSERT_EQ(run(filled("convert @tiny.toml @model")).code, 0);
    NamedTensors weights;
    for (const auto& [name, tensor] : read_safetensors(path("model/model.safetensors")).tensors) {
      weights.emplace_back(name, tensor + 0.3 * at::randn_like(tensor));
    }
    write_safetensors(path("model/model.safetensors"), weights, {{"format", "pt"}});
  }

  const fs::path folder =
      fs::path(testing::TempDir()) / ("cli_ranks_verbs_" + std::to_string(getpid()));
};

TEST_F(CliRanksVerbs, ClassifyPrintsWhatOneProcessDoes) {
  fs::create_directories(folder / "photos" / "more");
  int count = 0;
  for (const fs::path& picture : sorted_entries(shipped("samples/pictures"))) {
    fs::copy_file(picture, folder / "photos" / fmt::format("{}.png", count++));
    fs::copy_file(picture, folder / "photos" / "more" / fmt::format("{}\xff.png", count++));
  }
  write_file(path("photos/15x.png"), "no picture");
  const std::string start =
      filled("classify @photos --threads 1 --batch 2 -m image-mini --rank-timeout 5 ");
  for (const std::string format : {"", " --json", " --jsonl -k 2"}) {
    const Result one = run(start + format);
    EXPECT_EQ(one.code, 1);
    EXPECT_NE(one.err.find("perceiver: 1 of 21 inputs could not be read\n"), one.err.npos);
    expect_same(run(start + format + " --ranks 3"), one);
  }
  expect_same(run(filled("classify @photos/15x.png --ranks 2 -q")),
              run(filled("classify @photos/15x.png -q")));
  expect_complaint("classify - --ranks 2",
                   "several processes cannot share the standard input; name files, or leave "
                   "--ranks out");
}

TEST_F(CliRanksVerbs, FlowOfFramesIsWhatOneProcessFinds) {
  make_flow_model();
  for (int i = 0; i < 6; ++i) add_noise(fmt::format("frames/{}.png", i), 24, 30);
  const auto flow = [&](const std::string& to, const std::string& options) {
    const Result result = run(filled("flow @frames -q --threads 1 -m @model -o @" + to +
                                     " --consistency @" + to + "_sure --json " + options));
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    Json json = Json::parse(result.out);
    for (Json& pair : json["pairs"]) {
      pair.erase("seconds"), pair.erase("output"), pair.erase("consistency");
    }
    return json["pairs"];
  };
  const Json one = flow("one", "");
  EXPECT_EQ(one.size(), 5u);
  EXPECT_EQ(flow("several", "--ranks 3"), one);
  expect_same_files("several", "one");  // colours follow from the longest flow so far
  expect_same_files("several_sure", "one_sure");
}

TEST_F(CliRanksVerbs, FlowOfClipsIsWhatOneProcessFinds) {
  make_flow_model();
  for (const char* clip : {"a", "b/c", "b/d", "e"}) {
    for (int i = 0; i < 3; ++i) add_noise(fmt::format("clips/{}/{}.png", clip, i), 20, 24);
  }
  write_file(path("clips/b/d/1.png"), "no picture");
  const auto flow = [&](const std::string& options) {
    Result result =
        run(filled("flow @clips -q --threads 1 -m @model -o @flows --format flo ") + options);
    fs::rename(folder / "flows", folder / (options.ends_with("2") ? "several" : "one"));
    // Seconds differ.
    std::string lines;
    for (size_t at = 0; at < result.out.size();) {
      const size_t end = result.out.find('\n', at);
      const Json line = Json::parse(result.out.substr(at, end - at));
      lines += line["first"].get<std::string>() + line["max_flow"].dump() + "\n";
      at = end + 1;
    }
    result.out = lines;
    return result;
  };
  const Result one = flow("--jsonl"), several = flow("--jsonl --ranks 2");
  EXPECT_EQ(one.code, 1);
  EXPECT_TRUE(one.err.ends_with("perceiver: 1 of 4 clips could not be read\n")) << one.err;
  expect_same(several, one);
  expect_same_files("several", "one");
}

TEST_F(CliRanksVerbs, EvalMeasuresWhatOneProcessDoes) {
  for (const char* name :
       {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}) {
    for (int i = 0; i < 2; ++i) {
      const fs::path to = folder / "set" / name / fmt::format("{}.png", i);
      fs::create_directories(to.parent_path());
      fs::copy_file(shipped("samples/pictures") / (std::string(i == 0 ? name : "cat") + ".png"),
                    to);
    }
  }
  const auto eval = [&](const std::string& options) {
    Result result = run(
        filled("eval image-mini -q --json --threads 1 --data @set eval.batch=3 -o @") + options);
    EXPECT_EQ(result.code, 0) << result.err;
    Json json = Json::parse(result.out);
    json.erase("output");
    return json;
  };
  EXPECT_EQ(eval("several --ranks 3"), eval("one"));
  EXPECT_EQ(read_file(path("several")).bytes, read_file(path("one")).bytes);
}

TEST_F(CliRanksVerbs, DataFlowMakesThePairsOfOneProcess) {
  const auto make = [&](const std::string& to, const std::string& options) {
    return run(filled("data flow --count 5 --size 32x24 --threads 1 -o @" + to + options));
  };
  EXPECT_EQ(make("one", "").code, 0);
  const Result several = make("several", " --ranks 2");
  EXPECT_EQ(several.code, 0) << several.err;
  EXPECT_EQ(several.out, path("several") + "\n");
  EXPECT_EQ(several.err, "");
  expect_same_files("several", "one");
}

TEST_F(CliRanksVerbs, ARankThatIsKilledEndsTheOthers) {
  Child child(filled("data flow --count 1000000 --size 32x24 -o @pairs --ranks 2 --threads 1"),
              path("err"));
  wait_for([&] { return fs::exists(folder / "pairs" / "table_0_run_000003"); });
  kill(children_of(child.pid()).at(1), SIGKILL);
  const auto at = std::chrono::steady_clock::now();
  EXPECT_EQ(WEXITSTATUS(child.wait()), 1);
  EXPECT_LT(std::chrono::steady_clock::now() - at, std::chrono::seconds(10));
  EXPECT_EQ(read_file(path("err")).bytes,
            "perceiver: rank 1 was killed, as the system does when memory runs out\n");
}

}  // namespace
}  // namespace perceiver
