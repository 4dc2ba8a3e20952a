// Every row of wrong_usages.tsv, driven through the built program: one line, exit 1, and the words
// that a user needs.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "perceiver/core/lines.h"
#include "tests/program.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

struct WrongUsage {
  std::string help;  // "perceiver fill": the help to be named; "-": it is no mistake of usage
  std::string arguments, fragment;
  int code = 0;
  std::string out = {}, err = {};
};

std::vector<WrongUsage> read_table() {
  std::vector<WrongUsage> rows;
  for (const std::string& line : lines_of(read_file("tests/wrong_usages.tsv").bytes)) {
    if (line.starts_with("#")) continue;
    const size_t first = line.find('\t'), last = line.rfind('\t');
    rows.push_back(
        {line.substr(0, first), line.substr(first + 1, last - first - 1), line.substr(last + 1)});
  }
  return rows;
}

class WrongUsages : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder);
    for (const char* name : {"empty", "full", "texts", "classes/cat", "classes/dog"}) {
      fs::create_directories(folder / name);
    }
    const File frog = read_file(shipped("samples/pictures/frog.png"));
    add("frog.png", frog.bytes);
    add("cut.png", frog.bytes.substr(0, frog.bytes.size() / 2));
    add("classes/cat/a.png", frog.bytes);
    add("classes/dog/a.png", frog.bytes);
    add("wide.png", read_file(shipped("samples/flow/objects/frame1.png")).bytes);
    // No motion: the magic number, width and height of 8, and a vector for each pixel.
    add("flow.flo", "PIEH" + std::string("\10\0\0\0\10\0\0\0", 8) + std::string(8 * 8 * 8, '\0'));
    add("clip.avi", read_file(shipped("samples/clip.avi")).bytes);
    add("sound.wav", read_file(shipped("samples/sound.wav")).bytes);
    for (const char* name : {"empty.txt", "empty.png"}) add(name, "");
    for (const char* name : {"text.txt", "text.png", "texts/a.txt", "full/notes.txt"}) {
      add(name, "A text, and nothing else.\n");
    }
    add("bad.toml", "task = \n");
    add("wrong_task.toml", "task = \"chess\"\n");
    add("unknown_key.toml", "task = \"optical_flow\"\n\n[model.encoder]\nnum_latent = 3\n");
    add("wrong_type.toml", "task = \"optical_flow\"\n\n[model.encoder]\nnum_latents = \"many\"\n");
    ASSERT_EQ(shell("encode -q --text 'It was a dark night.' -o latents.safetensors"), 0);
    ASSERT_EQ(shell("encode -q frog.png frog.png -o pair.safetensors"), 0);
  }
  void TearDown() override { fs::remove_all(folder); }

  void add(const fs::path& name, const std::string& bytes) { write_file(folder / name, bytes); }

  // In a shell, in the folder; a row's own input takes the place of the closed one.
  int shell(const std::string& arguments, const std::string& stem = "setup") {
    const fs::path program = fs::absolute(std::getenv("PERCEIVER_PROGRAM"));
    const std::string command = "cd " + folder.string() +
                                " && CONFIGS=" + shipped("configs").string() +
                                " && exec </dev/null >" + stem + ".out 2>" + stem + ".err && " +
                                program.string() + " " + arguments;
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  void run_row(WrongUsage& row, size_t number) {
    const std::string stem = "row" + std::to_string(number);
    row.code = shell(row.arguments, stem);
    row.out = read_file(folder / (stem + ".out")).bytes;
    row.err = read_file(folder / (stem + ".err")).bytes;
  }

  const fs::path folder = fs::path(testing::TempDir()) / "perceiver_wrong_usages";
};

void expect_one_clear_line(const WrongUsage& row) {
  SCOPED_TRACE("perceiver " + row.arguments + "\n" + row.err);
  EXPECT_EQ(row.code, 1);
  EXPECT_EQ(row.out, "");
  EXPECT_TRUE(row.err.starts_with("perceiver: "));
  EXPECT_EQ(std::count(row.err.begin(), row.err.end(), '\n'), 1);
  EXPECT_NE(row.err.find(row.fragment), std::string::npos) << "expected: " << row.fragment;
  if (row.help == "-") return;
  const bool suggests = row.err.find("did you mean '") != std::string::npos;
  EXPECT_TRUE(suggests || row.err.ends_with("; see '" + row.help + " -h'\n"))
      << "expected the help of: " << row.help;
}

// Starts cost a third of a second each, so as many run at once as there are processors.
TEST_F(WrongUsages, EachGetsOneClearLineAndExitOne) {
  std::vector<WrongUsage> rows = read_table();
  ASSERT_GE(rows.size(), 200);
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < rows.size(); i = next++) run_row(rows[i], i);
  };
  {
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
      workers.emplace_back(work);
    }
  }
  for (const WrongUsage& row : rows) expect_one_clear_line(row);
}

}  // namespace
}  // namespace perceiver
