#include <c10/util/Exception.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <new>
#include <span>

#include "cli/commands.h"
#include "perceiver/core/error.h"
#include "perceiver/core/interrupt.h"
#include "perceiver/core/names.h"

namespace perceiver {
namespace {

// Examples come first: most readers need nothing else.
class ExamplesFirst : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    const std::string examples = app->get_footer();
    return (examples.empty() ? "" : "Examples:\n" + examples + "\n\n") +
           CLI::Formatter::make_help(app, name, mode);
  }
  std::string make_footer(const CLI::App*) const override { return "\n"; }
};

// The first word that is no verb or no option of its verb, with the nearest that is; "" when all
// are known. CLI11 would complain of something else first, and suggests nothing.
std::string unknown_word(const CLI::App& app, std::span<char* const> words) {
  const CLI::App* verb = &app;
  for (const std::string_view word : words) {
    const std::vector<const CLI::App*> subs = verb->get_subcommands({});
    if (!subs.empty() && !word.starts_with("-")) {
      std::vector<std::string> known;
      const CLI::App* found = nullptr;
      for (const CLI::App* sub : subs) {
        known.push_back(sub->get_name());
        if (word == known.back()) found = sub;
      }
      if (found == nullptr) {
        return fmt::format("unknown verb '{}'{}", word, did_you_mean(word, known));
      }
      verb = found;
    } else if (word.starts_with("--") && word.size() > 2) {
      const std::string name(word.substr(0, word.find('=')));
      std::vector<std::string> known;
      for (const CLI::Option* option : verb->get_options()) {
        for (const std::string& long_name : option->get_lnames()) known.push_back("--" + long_name);
      }
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        return fmt::format("unknown option '{}'{}", name, did_you_mean(name, known));
      }
    }
  }
  return "";
}

int complain(const std::string& message, int code) {
  fmt::print(stderr, "perceiver: {}\n", message);
  return code;
}

// 0: done. 1: something outside is wrong. 2: our own mistake.
int run(int argc, char** argv) {
  CLI::App app("Perceiver IO: runs, trains and explains every model of the paper", "perceiver");
  app.formatter(std::make_shared<ExamplesFirst>());
  app.footer("  perceiver demo\n  perceiver paper\n  perceiver inspect configs/flow_patches.toml");
  app.require_subcommand(1);
  app.set_version_flag("--version", PERCEIVER_VERSION, "Print the version and exit");
  add_demo_command(app);
  add_fill_command(app);
  add_classify_command(app);
  add_flow_command(app);
  add_autoencode_command(app);
  add_encode_command(app);
  add_query_command(app);
  add_attend_command(app);
  add_train_command(app);
  add_eval_command(app);
  add_data_command(app);
  add_run_command(app);
  add_convert_command(app);
  add_inspect_command(app);
  add_bench_command(app);
  add_paper_command(app);
  try {
    const std::span<char* const> words(argv + 1, argc - 1);
    const std::string unknown = argc == 1 ? "a verb is missing" : unknown_word(app, words);
    if (unknown.ends_with("?")) fail("{}", unknown);
    if (!unknown.empty()) fail("{}; see 'perceiver -h'", unknown);
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    return complain(fmt::format("{}; see 'perceiver -h'", e.what()), 1);
  } catch (const Error& e) {
    return complain(e.what(), 1);
  } catch (const std::bad_alloc&) {
    return complain("out of memory", 1);
  } catch (const c10::OutOfMemoryError& e) {
    return complain(fmt::format("out of memory: {}", e.what_without_backtrace()), 1);
  } catch (const c10::Error& e) {
    return complain(fmt::format("this is a bug in perceiver: {}", e.what_without_backtrace()), 2);
  } catch (const std::exception& e) {
    return complain(fmt::format("this is a bug in perceiver: {}", e.what()), 2);
  }
  return 0;
}

}  // namespace

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& description,
                      const std::string& examples) {
  CLI::App* command = app.add_subcommand(name, description);
  command->footer(examples);
  return command;
}

}  // namespace perceiver

int main(int argc, char** argv) {
  perceiver::clean_up_on_interrupt();
  return perceiver::run(argc, argv);
}
