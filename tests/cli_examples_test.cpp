// Every example of every -h, and every command of the README, run as printed in a folder that has
// what they name; what the README prints below a command is what the program prints.
//
// What is not as printed: released models are stood in for by small ones of the same task, training
// takes two steps, and sizes that would take minutes are made small (kSmaller). What cannot be run
// this way is listed with its reason (kNotRun).
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <sstream>

#include "perceiver/core/lines.h"
#include "perceiver/media/sound.h"
#include "perceiver/tasks/starcraft/states_file_test.h"
#include "tests/program.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

struct Example {
  std::string where, command;
  std::vector<std::string> printed = {};  // below the command; empty: nothing is shown
};

struct NotRun {
  const char *part, *reason;
};
constexpr std::array kNotRun = {
    NotRun{"perceiver demo", "takes half a minute; cli_demo_test runs it"},
    NotRun{"perceiver bench", "measures the paper's sizes; cli_bench_test measures small ones"},
    NotRun{"--cutouts", "needs pictures with opacity; cli_data_flow_test makes pairs"},
    NotRun{"jq", "a program that may not be there"},
    NotRun{".pystate", "DeepMind's own files"},
    NotRun{".pickle", "DeepMind's own files"},
    NotRun{"run deepmind/", "needs arrays of the released model's sizes"},
    NotRun{"perceiver serve", "ends when it is told to; cli_serve_test and tests/server ask it"},
    NotRun{"/dev/video0", "needs a camera"},
    NotRun{"rtsp://", "needs a camera; cli_live_test makes a stream"},
    NotRun{"--from deepmind/", "the config has the released model's sizes"}};

struct Smaller {
  const char *printed, *run;
};
constexpr std::array kSmaller = {Smaller{"--count 1000", "--count 1"},
                                 Smaller{"--vocabulary 32000", "--vocabulary 200"}};
constexpr const char* kShortTraining =
    " --threads 1 --dtype float32 train.steps=2 train.epochs=0 train.batch=2 "
    "eval.examples=1";

void add_indented_commands(const std::string& file, std::vector<Example>& examples) {
  bool prints = false;
  for (const std::string& line : lines_of(read_file(file).bytes)) {
    if (line.empty()) continue;  // a block may have empty lines
    const std::string text = line.starts_with("    ") ? line.substr(4) : "";
    prints = prints && !text.empty();
    if (text.starts_with("$ perceiver ")) {
      examples.push_back({file, text.substr(2)});
      prints = true;
    } else if (text.starts_with("perceiver ") || text.starts_with("build/perceiver ")) {
      const size_t begin = text.find("perceiver "), comment = text.find(" #");
      examples.push_back({file, text.substr(begin, comment - begin)});
    } else if (prints && !text.empty()) {
      examples.back().printed.push_back(text);
    }
  }
}

void add_examples_of_help(const std::string& verb, std::vector<Example>& examples) {
  const std::vector<std::string> lines = lines_of(run(verb + " -h", "COLUMNS=120").out);
  bool goes_on = false;
  for (size_t i = 1; i < lines.size() && !lines[i].empty(); ++i) {
    std::string line = lines[i].substr(lines[i].find_first_not_of(' '));
    const bool next_goes_on = line.ends_with('\\');
    if (next_goes_on) line.pop_back();
    if (goes_on) {
      examples.back().command += line;
    } else {
      examples.push_back({verb + " -h", line});
    }
    goes_on = next_goes_on;
  }
}

// Numbers may differ in their last digit, as processors round differently.
bool same_word(const std::string& a, const std::string& b) {
  if (a == b) return true;
  char *end_a = nullptr, *end_b = nullptr;
  const double value_a = std::strtod(a.c_str(), &end_a), value_b = std::strtod(b.c_str(), &end_b);
  if (end_a == a.c_str() || std::string(end_a) != end_b) return false;
  const size_t point = a.find('.');
  const size_t decimals = point == a.npos ? 0 : static_cast<size_t>(end_a - a.c_str()) - point - 1;
  return std::abs(value_a - value_b) < 1.5 * std::pow(10.0, -static_cast<double>(decimals));
}

// A printed line that ends with "…" goes on.
bool same_line(const std::string& a, const std::string& b) {
  constexpr std::string_view kGoesOn = "…";
  if (a.ends_with(kGoesOn)) return b.starts_with(a.substr(0, a.size() - kGoesOn.size()));
  std::istringstream words_a(a), words_b(b);
  std::string word_a, word_b;
  while (words_a >> word_a) {
    if (!(words_b >> word_b) || !same_word(word_a, word_b)) return false;
  }
  return !(words_b >> word_b);
}

// A printed "…" stands for any lines.
bool same_output(std::span<const std::string> printed, std::span<const std::string> got) {
  if (printed.empty()) return got.empty();
  if (printed[0] == "…") {
    for (size_t skipped = 0; skipped <= got.size(); ++skipped) {
      if (same_output(printed.subspan(1), got.subspan(skipped))) return true;
    }
    return false;
  }
  return !got.empty() && same_line(printed[0], got[0]) &&
         same_output(printed.subspan(1), got.subspan(1));
}

class CliExamples : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder);
    for (const char* name : {"bin", "released/deepmind", "photos", "frames", "clips", "texts"}) {
      fs::create_directories(folder / name);
    }
    link(fs::absolute(std::getenv("PERCEIVER_PROGRAM")), "bin/perceiver");
    for (const char* name : {"configs", "samples", "models"}) link(shipped(name), name);
    add_models();
    add_pictures();
    add_texts();
    add_clips_and_sounds();
    ASSERT_EQ(shell("gzip -c " + write_states(folder / "games", 8).string() + " > states.gz && " +
                    "mv states.gz states.jsonl.gz"),
              0);
  }
  void TearDown() override { fs::remove_all(folder); }

  void add_models() {
    for (const auto& [released, ours] : {std::pair{"language-perceiver", "language-mini"},
                                         {"vision-perceiver-conv", "image-mini"},
                                         {"optical-flow-perceiver", "flow-mini"}}) {
      link(shipped("models") / ours, fs::path("released/deepmind") / released);
    }
    ASSERT_EQ(shell("perceiver convert configs/multimodal_mini.toml "
                    "released/deepmind/multimodal-perceiver"),
              0);
    ASSERT_EQ(shell("perceiver convert configs/text_classifier_mini.toml my-text-classifier"), 0);
    fs::create_directories(folder / "runs");
    ASSERT_EQ(shell("perceiver convert configs/glue_mini.toml runs/glue"), 0);
    link("tests/golden/huggingface/text-classifier", "folder");
    link("tests/golden/huggingface/text-classifier/io.safetensors", "io.safetensors");
  }

  void add_pictures() {
    const fs::path frames = shipped("samples/flow/objects");
    for (const auto& [from, to] : {std::pair{"frame1.png", "a.png"}, {"frame2.png", "b.png"}}) {
      for (const char* into : {"", "frames/", "photos/"})
        link(frames / from, into + std::string(to));
      link(frames / from, from);
    }
    link(shipped("samples/pictures/cat.png"), "cat.jpg");
    link(shipped("samples/pictures/cat.png"), "photo.jpg");
    link(shipped("samples/clip.avi"), "clip.mp4");
    link(shipped("samples/clip.avi"), "clips/clip.mp4");
    ASSERT_EQ(shell("perceiver flow --show samples/flow/objects/truth/frame1.png -o truth.flo"), 0);
    ASSERT_EQ(shell("perceiver data flow -o sintel --count 1"), 0);
    for (const char* name : {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog",
                             "horse", "ship", "truck"}) {
      fs::create_directories(folder / "cifar10" / name);
      for (const char* copy : {"1.png", "2.png"}) {
        link(shipped("samples/pictures") / (std::string(name) + ".png"),
             fs::path("cifar10") / name / copy);
      }
    }
  }

  void add_texts() {
    const std::string text = read_file("docs/training.md").bytes;
    for (const char* name : {"a.txt", "letter.txt", "texts/a.txt", "texts/held_out.txt"}) {
      write_file(folder / name, text);
    }
    write_file(folder / "sentences.txt", "The [MASK] was cold.\nIt is [MASK].\n");
    std::string reviews = "text,label\n";
    for (int i = 0; i < 10; ++i) reviews += "a fine film,good\n\"dull, \"\"long\"\"\",bad\n";
    write_file(folder / "reviews.csv", reviews);
    write_file(folder / "more.jsonl", "{\"text\": \"One more text to learn pieces from.\"}\n");
  }

  void add_clips_and_sounds() {
    fs::create_directories(folder / "grid_s1");
    fs::create_directories(folder / "digits");
    std::string table = "clip,colour\n";
    for (const char* colour : {"blue", "green", "red", "white"}) {
      for (int i = 0; i < 11; ++i) {
        const std::string name = fmt::format("{}{}", colour, i);
        link(shipped("samples/clip.avi"), fs::path("grid_s1") / (name + ".avi"));
        table += fmt::format("{},{}\n", name, colour);
      }
    }
    write_file(folder / "grid_s1/labels.csv", table);
    const at::Tensor tone = at::arange(4000).mul(0.2).sin().mul(0.5).view({1, -1});
    for (int i = 0; i < 20; ++i) {
      write_file(folder / "digits" / fmt::format("{}_ann_{}.wav", i % 10, i < 10 ? 0 : 5),
                 encode_wav({tone, 8000}));
    }
  }

  void link(const fs::path& to, const fs::path& name) {
    fs::create_symlink(fs::absolute(to), folder / name);
  }

  int shell(const std::string& command) {
    const std::string line = "cd " + folder.string() +
                             " && export PATH=$PWD/bin:$PATH PERCEIVER_MODELS=$PWD/released && " +
                             "(" + command + ") </dev/null >out 2>err";
    const int status = std::system(line.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  static bool is_run(const std::string& command) {
    for (const NotRun& one : kNotRun) {
      if (command.find(one.part) != command.npos) return false;
    }
    return true;
  }

  static std::string small(std::string command) {
    for (const Smaller& one : kSmaller) {
      const size_t at = command.find(one.printed);
      if (at != command.npos) command.replace(at, std::strlen(one.printed), one.run);
    }
    const bool trains = command.starts_with("perceiver train ");
    // A sweep that is gone on with has its settings.
    const bool sweeps = command.starts_with("perceiver sweep configs/");
    if (trains || sweeps) command += kShortTraining;
    if (command.find("imagenet_mini") != command.npos) command += " data.held_out_per_class=1";
    return command;
  }

  void expect_as_printed(const Example& example) {
    if (!is_run(example.command)) return;
    SCOPED_TRACE(example.where + ": " + example.command);
    const int code = shell(small(example.command));
    const std::string err = read_file(folder / "err").bytes;
    if (err.find("this build reads no") != err.npos) return;
    ASSERT_EQ(code, 0) << err;
    if (example.printed.empty()) return;
    // The README may show what goes to stderr, too, which comes first.
    const std::vector<std::string> out = lines_in("out");
    std::vector<std::string> both = lines_in("err");
    both.insert(both.end(), out.begin(), out.end());
    EXPECT_TRUE(same_output(example.printed, out) || same_output(example.printed, both))
        << "the README prints\n"
        << testing::PrintToString(example.printed) << "\nnow it is\n"
        << testing::PrintToString(both);
  }

  std::vector<std::string> lines_in(const std::string& name) {
    std::vector<std::string> lines = lines_of(read_file(folder / name).bytes);
    std::erase(lines, "");
    return lines;
  }

  const fs::path folder = fs::path(testing::TempDir()) / "perceiver_examples";
};

TEST_F(CliExamples, OfEveryHelpRunAsPrinted) {
  std::vector<Example> examples;
  for (const char* verb :
       {"",       "fill",    "classify", "flow",    "autoencode", "encode",    "query",
        "attend", "train",   "sweep",    "eval",    "new",        "data flow", "data sentencepiece",
        "run",    "convert", "models",   "inspect", "paper",      "help",      "version"}) {
    add_examples_of_help(verb, examples);
  }
  ASSERT_GT(examples.size(), 50);
  for (const Example& example : examples) expect_as_printed(example);
}

TEST_F(CliExamples, OfTheReadmePrintWhatItShows) {
  std::vector<Example> examples;
  add_indented_commands("README.md", examples);
  ASSERT_GT(examples.size(), 10);
  for (const Example& example : examples) expect_as_printed(example);
}

}  // namespace
}  // namespace perceiver
