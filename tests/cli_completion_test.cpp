// The shells' completion and the manual page have every verb and every option that -h has.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <fstream>

#include "perceiver/core/lines.h"
#include "tests/program.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

// What -h lists: names of verbs such as "" and "data flow", and their options' spellings.
struct Listed {
  std::string verb;
  std::vector<std::string> verbs, flags;
};

Listed listed_by_help(const std::string& verb) {
  Listed listed{.verb = verb, .verbs = {}, .flags = {}};
  std::string part;
  for (const std::string& line : lines_of(run(verb + " -h").out)) {
    if (!line.starts_with(" ")) part = line;
    const bool is_entry = line.starts_with("  ") && line.size() > 2 && line[2] != ' ';
    if (!is_entry) continue;
    const std::string entry = line.substr(2, line.find("  ", 2) - 2);
    if (part == "Verbs:") listed.verbs.push_back(entry);
    if (part != "Options:") continue;
    for (size_t at = 0; at < entry.size() && entry[at] == '-';) {
      const size_t end = entry.find_first_of(", ", at);
      listed.flags.push_back(entry.substr(at, end - at));
      at = end == entry.npos || entry[end] == ' ' ? entry.size() : end + 2;
    }
  }
  return listed;
}

// All verbs, the program itself first.
const std::vector<Listed>& everything() {
  static const std::vector<Listed> all = [] {
    std::vector<Listed> found = {listed_by_help("")};
    for (size_t i = 0; i < found.size(); ++i) {
      for (const std::string& next : std::vector(found[i].verbs)) {
        found.push_back(listed_by_help(found[i].verb + (i == 0 ? "" : " ") + next));
      }
    }
    return found;
  }();
  return all;
}

class Script {
 public:
  Script(const std::string& arguments, const std::string& name)
      : path_(testing::TempDir() + "perceiver_" + std::to_string(getpid()) + name) {
    const Result made = run(arguments);
    EXPECT_EQ(made.code, 0) << made.err;
    write_file(path_, made.out);
    text = made.out;
  }
  ~Script() { fs::remove(path_); }

  const std::string& path() const { return path_; }
  std::string text;

 private:
  std::string path_;
};

bool has_program(const std::string& name) {
  return std::system(("command -v " + name + " >/dev/null").c_str()) == 0;
}

// What a shell program prints.
std::string printed_by(const std::string& shell, const std::string& program) {
  const std::string stem = testing::TempDir() + "perceiver_shell_" + std::to_string(getpid());
  write_file(stem, program);
  const std::string command = shell + " " + stem + " >" + stem + ".out 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << read_file(stem + ".out").bytes;
  const std::string out = read_file(stem + ".out").bytes;
  fs::remove(stem);
  fs::remove(stem + ".out");
  return out;
}

TEST(CliCompletion, HelpWasReadRight) {
  ASSERT_GT(everything().size(), 20U);
  for (const Listed& one : everything()) {
    EXPECT_FALSE(one.flags.empty()) << one.verb;
    EXPECT_EQ(one.flags[0], "-h") << one.verb;
  }
}

TEST(CliCompletion, BashOffersEveryVerbAndOption) {
  if (!has_program("bash")) GTEST_SKIP() << "there is no bash";
  const Script script("completion bash", ".bash");
  std::string program = "set -e\nsource " + script.path() + "\n";
  program +=
      "ask() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _perceiver; "
      "echo \" ${COMPREPLY[*]} \"; }\n";
  for (const Listed& one : everything()) {
    program += "ask perceiver " + one.verb + " -\nask perceiver " + one.verb + " ''\n";
  }
  const std::vector<std::string> lines = lines_of(printed_by("bash", program));
  ASSERT_EQ(lines.size(), 2 * everything().size());
  for (size_t i = 0; i < everything().size(); ++i) {
    const Listed& one = everything()[i];
    for (const std::string& flag : one.flags) {
      EXPECT_NE(lines[2 * i].find(" " + flag + " "), std::string::npos) << one.verb << flag;
    }
    EXPECT_EQ(lines[2 * i + 1], fmt::format(" {} ", fmt::join(one.verbs, " "))) << one.verb;
  }
}

TEST(CliCompletion, BashKnowsValuesAndModels) {
  if (!has_program("bash")) GTEST_SKIP() << "there is no bash";
  const Script script("completion bash", ".bash");
  const std::string lines =
      printed_by("bash", "perceiver() { " + std::string(std::getenv("PERCEIVER_PROGRAM")) +
                             " \"$@\"; }\nsource " + script.path() +
                             "\nCOMP_WORDS=(perceiver fill --dtype b); COMP_CWORD=3; _perceiver\n"
                             "echo \"${COMPREPLY[*]}\"\n"
                             "COMP_WORDS=(perceiver fill -m language-); COMP_CWORD=3; _perceiver\n"
                             "echo \"${COMPREPLY[*]}\"\n");
  EXPECT_EQ(lines, "bfloat16\nlanguage-mini\n");
}

TEST(CliCompletion, FishHasEveryVerbAndOption) {
  const Script script("completion fish", ".fish");
  for (const Listed& one : everything()) {
    std::string own;  // the lines of this verb
    for (const std::string& line : lines_of(script.text)) {
      if (line.find("\"__perceiver_at '" + one.verb + "'\"") != line.npos) own += line + "\n";
    }
    for (const std::string& next : one.verbs) {
      EXPECT_NE(own.find(" -a " + next + " "), std::string::npos) << one.verb << " " << next;
    }
    for (const std::string& flag : one.flags) {
      const std::string as_fish =
          flag.starts_with("--") ? " -l " + flag.substr(2) + " " : " -s " + flag.substr(1) + " ";
      EXPECT_NE(own.find(as_fish), std::string::npos) << one.verb << " " << flag;
    }
  }
  if (has_program("fish")) printed_by("fish -n", script.text);
}

TEST(CliCompletion, ZshHasEveryVerbAndOption) {
  const Script script("completion zsh", ".zsh");
  for (const Listed& one : everything()) {
    std::string name = one.verb.empty() ? "\n_perceiver" : "\n_perceiver_" + one.verb;
    for (char& c : name) {
      if (c == ' ') c = '_';
    }
    const size_t begin = script.text.find(name + "() {\n");
    ASSERT_NE(begin, std::string::npos) << name;
    const std::string own = script.text.substr(begin, script.text.find("\n}\n", begin) - begin);
    for (const std::string& next : one.verbs) {
      EXPECT_NE(own.find("'" + next + ":"), std::string::npos) << one.verb << " " << next;
    }
    for (const std::string& flag : one.flags) {
      EXPECT_NE(own.find(")" + flag + "["), std::string::npos) << one.verb << " " << flag;
    }
  }
  if (has_program("zsh")) printed_by("zsh -n", script.text);
}

TEST(CliManPage, HasEveryVerbAndOption) {
  const Script page("help --man", ".1");
  for (const Listed& one : everything()) {
    const std::string title = one.verb.empty() ? "\n.SH OPTIONS" : "\n.SS perceiver " + one.verb;
    const size_t begin = page.text.find(title);
    ASSERT_NE(begin, std::string::npos) << title;
    const std::string own = page.text.substr(begin, page.text.find("\n.S", begin + 1) - begin);
    for (const std::string& flag : one.flags) {
      std::string escaped;
      for (const char c : flag) escaped += c == '-' ? "\\-" : std::string(1, c);
      EXPECT_TRUE(own.find("\\fB" + escaped) != own.npos || own.find(", " + escaped) != own.npos)
          << one.verb << " " << flag;
    }
  }
  if (!has_program("man")) GTEST_SKIP() << "there is no man";
  const std::string read =
      printed_by("sh", "LC_ALL=C.UTF-8 MANROFFOPT=-ww man --warnings -l " + page.path());
  EXPECT_EQ(read.find("warning"), std::string::npos) << read.substr(0, 2000);
  EXPECT_NE(read.find("PERCEIVER(1)"), std::string::npos);
}

}  // namespace
}  // namespace perceiver
