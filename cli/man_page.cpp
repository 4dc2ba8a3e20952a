#include "cli/man_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace perceiver {
namespace {

struct Entry {
  const char *name, *meaning;
};
constexpr Entry kEnvironment[] = {
    {"PERCEIVER_MODELS", "A folder of models, which -m then takes by their names."},
    {"HF_HUB_CACHE, HF_HOME",
     "Where Hugging Face's programs keep what they have downloaded: looked at for models, too; "
     "without them ~/.cache/huggingface."},
    {"OMP_NUM_THREADS, MKL_NUM_THREADS", "CPU threads, where --threads does not say."},
    {"PERCEIVER_ISA",
     "any, avx2, avx512 or amx: the most of the CPU's instruction sets that is used."},
    {"COLUMNS", "The width of help and tables."},
};
constexpr Entry kExitStatus[] = {
    {"0", "Done."},
    {"1", "Something given is wrong or cannot be read; one line on the standard error says what."},
    {"2", "A mistake of the program's own."},
};

// A dash is to be copied into a shell as it is; a dot or an apostrophe at the start of a line would
// be a command; and a line may end between alternatives.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool starts_line = out.empty() || out.back() == '\n';
    if (starts_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '|') {
      out += "|\\:";
    } else {
      out += c;
    }
  }
  return out;
}

std::string entry(const std::string& name, const std::string& meaning) {
  return fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(name), escaped(meaning));
}

std::string entries(std::span<const OptionText> options) {
  std::string text;
  for (const OptionText& option : options) {
    std::string names = fmt::format("{}", fmt::join(option.flags, ", "));
    if (!option.value.empty()) names += " " + option.value;
    text += entry(names, option.meaning);
  }
  return text;
}

std::string examples_of(const VerbText& verb) {
  std::string text = ".PP\n.EX\n";
  for (const std::string& example : verb.examples) text += escaped(example) + "\n";
  return text + ".EE\n";
}

std::string section_of(const VerbText& verb) {
  std::string text = fmt::format(".SS perceiver {}", escaped(verb.name));
  for (const OptionText& argument : verb.arguments) text += " " + escaped(argument.flags[0]);
  if (!verb.verbs.empty()) text += " VERB";
  text += fmt::format("\n{}.\n", escaped(verb.description));
  return text + entries(verb.arguments) + entries(verb.options) + examples_of(verb);
}

template <size_t N>
std::string table_of(const Entry (&rows)[N]) {
  std::string text;
  for (const Entry& row : rows) text += entry(row.name, row.meaning);
  return text;
}

}  // namespace

std::string man_page(std::span<const VerbText> verbs) {
  const VerbText& program = verbs[0];
  std::string text =
      ".\\\" Made by 'perceiver help --man'.\n"
      ".TH PERCEIVER 1 \"\" \"perceiver " PERCEIVER_VERSION
      "\"\n"
      ".SH NAME\nperceiver \\- run and train Perceiver IO's models\n"
      ".SH SYNOPSIS\n\\fBperceiver\\fR VERB [OPTIONS]\n"
      ".SH DESCRIPTION\n";
  text += escaped(program.description) + ".\n";
  text += ".SH OPTIONS\n" + entries(program.options);
  text += ".SH VERBS\n";
  for (const VerbText& verb : verbs.subspan(1)) text += section_of(verb);
  text += ".SH EXAMPLES\n" + examples_of(program);
  text += ".SH ENVIRONMENT\n" + table_of(kEnvironment);
  text += ".SH EXIT STATUS\n" + table_of(kExitStatus);
  return text;
}

}  // namespace perceiver
