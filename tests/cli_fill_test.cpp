// perceiver fill, on small models with random weights: what it finds is nonsense, but certain.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>

#include <array>
#include <nlohmann/json.hpp>

#include "tests/program.h"

namespace perceiver {
namespace {

using Json = nlohmann::json;

const std::string kModel = " -q -m tests/golden/huggingface/language ";

TEST(CliFill, ShowsTheSentenceAndTheWordsWithWhatTheirNumbersAre) {
  const Result result = run("fill 'Paris is the [MASK] of France.' -k 2" + kModel);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(result.out.starts_with("Paris is the ")) << result.out;
  EXPECT_EQ(result.out.find("[MASK]"), std::string::npos);
  EXPECT_NE(result.out.find("\n\n  word  "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("  probability\n"), std::string::npos);
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 5);
}

TEST(CliFill, OfSeveralMasksSaysWhichWasFilledWhen) {
  const Result result = run("fill 'the [MASK] of [MASK].' -k 1" + kModel);
  EXPECT_NE(result.out.find("\n  [MASK] 1, filled as no. "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("\n  [MASK] 2, filled as no. "), std::string::npos) << result.out;
}

TEST(CliFill, JsonIsOneDocumentAndNothingElse) {
  const Result result = run("fill 'Zürich, [MASK] und [MASK]' --json -k 3" + kModel);
  EXPECT_EQ(result.code, 0) << result.err;
  const Json document = Json::parse(result.out);
  ASSERT_EQ(document.size(), 1u);
  EXPECT_EQ(document[0]["text"], "Zürich, [MASK] und [MASK]");
  const Json& masks = document[0]["masks"];
  ASSERT_EQ(masks.size(), 2u);
  EXPECT_EQ(document[0]["filled"], "Zürich, " + masks[0]["word"].get<std::string>() + " und " +
                                       masks[1]["word"].get<std::string>());
  EXPECT_EQ(masks[0]["step"].get<int>() + masks[1]["step"].get<int>(), 3);
  for (const Json& mask : masks) {
    ASSERT_EQ(mask["candidates"].size(), 3u);
    EXPECT_EQ(mask["candidates"][0]["word"], mask["word"]);
    EXPECT_EQ(mask["candidates"][0]["probability"], mask["probability"]);
    double sum = 0.0;
    for (const Json& candidate : mask["candidates"]) {
      EXPECT_LE(candidate["probability"], mask["probability"]);
      sum += candidate["probability"].get<double>();
    }
    EXPECT_GT(sum, 0.0);
    EXPECT_LE(sum, 1.0);
  }
}

TEST(CliFill, LettersAreToldInTheOrderThatIsAskedFor) {
  std::vector<Json> masks;
  for (const std::string order : {"at_once", "left_to_right", "surest_first"}) {
    const Result result = run(
        "fill 'Paris is the [MASK] of France.' --json -k 3 --bytes 3 --order " + order + kModel);
    EXPECT_EQ(result.code, 0) << result.err;
    masks.push_back(Json::parse(result.out)[0]["masks"][0]);
    for (const Json& candidate : masks.back()["candidates"]) {
      EXPECT_EQ(candidate["word"].get<std::string>().size(), 3u);
    }
  }
  const Result usual = run("fill 'Paris is the [MASK] of France.' --json -k 3 --bytes 3" + kModel);
  EXPECT_EQ(Json::parse(usual.out)[0]["masks"][0], masks[0]);
  EXPECT_NE(masks[1]["candidates"], masks[0]["candidates"]);
  expect_complaint("fill 'a [MASK]' --order best" + kModel,
                   "--order: expected at_once, left_to_right or surest_first, got 'best'; see "
                   "'perceiver fill -h'");
}

TEST(CliFill, EachLineOfTheStandardInputIsATextAnsweredInOrder) {
  for (const std::string text : {"", "-"}) {
    const Result result = run("fill " + text + " --jsonl -k 1 --bytes 4" + kModel,
                              "printf 'a [MASK]\\r\\n\\nb [MASK]\\n' |");
    EXPECT_EQ(result.code, 0) << result.err;
    std::istringstream lines(result.out);
    std::string line;
    for (const char* expected : {"a [MASK]", "b [MASK]"}) {
      ASSERT_TRUE(std::getline(lines, line));
      EXPECT_EQ(Json::parse(line)["text"], expected);
      EXPECT_EQ(Json::parse(line)["masks"][0]["word"].get<std::string>().size(), 4u);
    }
    EXPECT_FALSE(std::getline(lines, line));
  }
}

TEST(CliFill, ABadLineIsNamedAndTheOthersAreAnswered) {
  const Result result =
      run("fill --jsonl -k 1 --bytes 2" + kModel, "printf 'a [MASK]\\nb\\nc <mask>\\n' |");
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err,
            "perceiver: standard input:2: the text has no [MASK]; write it where a word is "
            "missing\nperceiver: 1 of 3 texts could not be filled\n");
  std::istringstream lines(result.out);
  std::string line;
  for (const char* expected : {"a [MASK]", "c <mask>"}) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(Json::parse(line)["text"], expected);
  }
  EXPECT_FALSE(std::getline(lines, line));
}

TEST(CliFill, EachLineOfAFileIsAText) {
  const std::string file = testing::TempDir() + "texts_" + std::to_string(getpid()) + ".txt";
  write_file(file, "a [MASK]\nb\n");
  const Result result = run("fill " + file + " --jsonl -k 1 --bytes 2" + kModel);
  std::filesystem::remove(file);
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(Json::parse(result.out)["text"], "a [MASK]");
  EXPECT_TRUE(result.err.starts_with("perceiver: " + file + ":2: the text has no [MASK]"))
      << result.err;
}

// Who keeps the program running, from Python say, waits for an answer before he asks again.
TEST(CliFill, ALineIsAnsweredWhileTheInputIsStillOpen) {
  std::array<int, 2> to{}, from{};
  ASSERT_EQ(pipe(to.data()) + pipe(from.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(to[0], STDIN_FILENO);
    dup2(from[1], STDOUT_FILENO);
    for (const int end : {to[0], to[1], from[0], from[1]}) close(end);
    const std::string command =
        std::getenv("PERCEIVER_PROGRAM") + (" fill --jsonl -k 1 --bytes 2" + kModel);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  for (const std::string text : {"a [MASK]", "b [MASK]"}) {
    ASSERT_EQ(write(to[1], (text + "\n").data(), text.size() + 1), std::ssize(text) + 1);
    pollfd answer{.fd = from[0], .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&answer, 1, 300'000), 1) << "no answer to " << text;
    std::array<char, 4096> buffer;
    const ssize_t count = read(from[0], buffer.data(), buffer.size());
    ASSERT_GT(count, 0);
    EXPECT_EQ(Json::parse(std::string(buffer.data(), count))["text"], text);
  }
  close(to[1]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  close(from[0]);
}

TEST(CliFill, OfALongTextOnlyTheNeighbourhoodIsPrinted) {
  const std::string file = testing::TempDir() + "long_" + std::to_string(getpid()) + ".txt";
  std::string words;
  for (int i = 0; i < 20'000; ++i) words += "word ";
  write_file(file, words + "[MASK] " + words + "\n");
  const Result shown = run("fill -k 1 --bytes 2 " + file + kModel);
  const Result whole = run("fill -k 1 --bytes 2 --json " + file + kModel);
  std::filesystem::remove(file);
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_TRUE(shown.out.starts_with("…")) << shown.out.substr(0, 100);
  EXPECT_LT(shown.out.size(), 600u);
  EXPECT_GT(Json::parse(whole.out)[0]["filled"].get<std::string>().size(), 2 * words.size());
}

// What the program writes on a terminal.
std::string on_a_terminal(const std::string& arguments) {
  int terminal = 0;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    const std::string command = std::getenv("PERCEIVER_PROGRAM") + (" " + arguments);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t count; (count = read(terminal, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), count);
  }
  close(terminal);
  waitpid(child, nullptr, 0);
  return text;
}

TEST(CliFill, TheWordIsBoldOnATerminalUnlessNoColorIsSet) {
  const std::string fill = "fill 'Paris is the [MASK] of France.'" + kModel;
  unsetenv("NO_COLOR");
  const std::string bold = on_a_terminal(fill);
  EXPECT_TRUE(bold.starts_with("Paris is the \033[1m")) << bold;
  EXPECT_NE(bold.find("\033[0m of France."), std::string::npos) << bold;
  EXPECT_EQ(run(fill).out.find('\033'), std::string::npos);
  setenv("NO_COLOR", "1", 1);
  EXPECT_EQ(on_a_terminal(fill).find('\033'), std::string::npos);
  unsetenv("NO_COLOR");
}

TEST(CliFill, WithoutATextASampleIsFilledOnATerminal) {
  const std::string sentences = read_file(shipped("samples/sentences.txt")).bytes;
  EXPECT_NE(on_a_terminal("fill --json" + kModel).find(sentences.substr(0, sentences.find('\n'))),
            std::string::npos);
}

TEST(CliFill, MistakesAreOneLine) {
  expect_complaint("fill ''" + kModel, "the text is empty; write [MASK] where a word is missing");
  expect_complaint("fill Paris" + kModel,
                   "the text has no [MASK]; write it where a word is missing");
  expect_complaint("fill" + kModel + "</dev/null",
                   "standard input: no text; give one with [MASK] for a missing word");
  expect_complaint("fill Hello there [MASK]" + kModel,
                   "got 3 words, expected one text; put it in quotes: perceiver fill \"Hello there "
                   "[MASK]\"");
  expect_complaint("fill '[MASK]' -q -m tests/golden/huggingface/image-conv",
                   "tests/golden/huggingface/image-conv/model.safetensors: fill needs a model of "
                   "the task language, got imagenet");
}

}  // namespace
}  // namespace perceiver
