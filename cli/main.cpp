#include <c10/util/Exception.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <span>

#include "cli/build_facts.h"
#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/new.h"
#include "cli/usage.h"
#include "perceiver/core/error.h"
#include "perceiver/core/interrupt.h"

namespace perceiver {
namespace {

// What a message quotes of a file may hold what a terminal obeys.
std::string without_controls(const std::string& message) {
  std::string shown;
  for (const char c : message) {
    const bool obeyed = (c >= 0 && c < ' ' && c != '\n') || c == '\x7f';
    shown += obeyed ? fmt::format("\\x{:02x}", c) : std::string(1, c);
  }
  return shown;
}

int complain(const std::string& message, int code) {
  fmt::print(stderr, "perceiver: {}\n", without_controls(message));
  return code;
}

// LibTorch has a class of its own for a GPU that is full, and none for the machine.
bool is_out_of_memory(const c10::Error& e) {
  const std::string_view message = e.what_without_backtrace();
  return message.find("DefaultCPUAllocator") != message.npos;
}

void add_all_commands(CLI::App& app) {
  add_demo_command(app);
  add_fill_command(app);
  add_classify_command(app);
  add_flow_command(app);
  add_autoencode_command(app);
  add_encode_command(app);
  add_query_command(app);
  add_attend_command(app);
  add_train_command(app);
  add_sweep_command(app);
  add_eval_command(app);
  add_data_command(app);
  add_new_command(app);
  add_run_command(app);
#ifdef PERCEIVER_HAS_SERVER
  add_serve_command(app);
#endif
  add_convert_command(app);
  add_models_command(app);
  add_doctor_command(app);
  add_inspect_command(app);
  add_bench_command(app);
  add_paper_command(app);
  add_help_command(app);
  add_completion_command(app);
  add_version_command(app);
}

// What was printed has reached its place, or the work was for nothing: a full disk says so only
// here.
void finish_output() {
  if (std::fflush(stdout) != 0) fail("standard output: cannot write: {}", std::strerror(errno));
  if (std::ferror(stdout) != 0) fail("standard output: cannot write");
}

void parse_and_run(CLI::App& app, int argc, char** argv) {
  const std::span<char* const> words(argv + 1, argc - 1);
  if (words.empty()) fail("a verb is missing; see 'perceiver -h'");
  const std::string unknown = unknown_word(app, words);
  if (!unknown.empty()) fail("{}", unknown);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForVersion&) {
    fmt::print("{}", version_text());
  } catch (const CLI::Success&) {
    fmt::print("{}", app.help());
  } catch (const CLI::ParseError& e) {
    fail("{}", usage_complaint(app, e));
  }
}

// 0: done. 1: something outside is wrong. 2: our own mistake.
int run(int argc, char** argv) {
  CLI::App app(
      "Perceiver IO (Jaegle et al., 2022): runs the paper's models on your texts, pictures, frames "
      "and clips; trains those of language (Perceiver IO and BERT), ImageNet and optical flow; and "
      "rebuilds the paper's tables",
      "perceiver");
  app.formatter(std::make_shared<Help>(terminal_width()));
  app.footer(
      "  perceiver demo\n"
      "  perceiver fill \"He told me that he [MASK] never been in London before.\"\n"
      "  perceiver classify photo.jpg\n"
      "  perceiver flow frame1.png frame2.png -o flow.png\n"
      "  perceiver train configs/language_bytes_mini.toml --data texts/ -o runs/language");
  app.require_subcommand(1);
  app.set_version_flag("--version", PERCEIVER_VERSION,
                       "Print the version, and what the program was built of");
  add_all_commands(app);
  check_all_numbers(app);
  try {
    parse_and_run(app, argc, argv);
    finish_output();
  } catch (const Error& e) {
    return complain(e.what(), 1);
  } catch (const std::bad_alloc&) {
    return complain("out of memory", 1);
  } catch (const c10::OutOfMemoryError& e) {
    return complain(fmt::format("out of memory: {}", e.what_without_backtrace()), 1);
  } catch (const std::filesystem::filesystem_error& e) {
    return complain(fmt::format("{}: {}", e.path1().string(), e.code().message()), 1);
  } catch (const c10::Error& e) {
    if (is_out_of_memory(e))
      return complain("out of memory; try a smaller input, batch or model", 1);
    return complain(fmt::format("this is a bug in perceiver: {}", e.what_without_backtrace()), 2);
  } catch (const std::exception& e) {
    if (std::ferror(stdout) != 0) return complain("standard output: cannot write", 1);
    return complain(fmt::format("this is a bug in perceiver: {}", e.what()), 2);
  }
  return 0;
}

}  // namespace

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& description,
                      const std::string& examples) {
  CLI::App* command = app.add_subcommand(name, description);
  command->group("Verbs");
  command->footer(examples);
  return command;
}

}  // namespace perceiver

int main(int argc, char** argv) {
  perceiver::clean_up_on_interrupt();
  const int code = perceiver::run(argc, argv);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // Not through the destructors of LibTorch's tables of operators: they take a third of the time
  // that a short verb takes in all. What is open was closed by its owners.
  std::fflush(nullptr);
  std::_Exit(code);
#endif
  return code;
}
