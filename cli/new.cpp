#include "cli/new.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "cli/checks.h"
#include "cli/commands.h"
#include "perceiver/core/error.h"
#include "perceiver/core/file.h"
#include "perceiver/tasks/arrays/starter.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

struct NewArgs {
  std::string kind, folder;
  int64_t seed = 0;
};

// Nothing that is there is written over.
void make_new(const NewArgs& args) {
  const std::vector<File> files = starter_files(args.kind, args.seed);
  const fs::path folder = args.folder;
  for (const File& file : files) {
    if (!fs::exists(folder / file.name)) continue;
    fail("{}: is there already; name a new folder", (folder / file.name).string());
  }
  fs::create_directories(folder);
  for (const File& file : files) write_file(folder / file.name, file.bytes);
  fmt::print("{}\n", (folder / "README.md").string());
}

std::string kinds_text() {
  std::vector<std::string> kinds;
  for (const StarterKind& kind : starter_kinds()) {
    kinds.push_back(fmt::format("{} ({})", kind.name, kind.meaning));
  }
  return fmt::format("{}", fmt::join(kinds, "; "));
}

}  // namespace

void add_new_command(CLI::App& app) {
  auto args = std::make_shared<NewArgs>();
  CLI::App* command = add_command(
      app, "new",
      "Begin a task over arrays of your own: a config with comments, and data to try it",
      "  perceiver new points my/\n"
      "  perceiver new table loans/");
  command->add_option("kind", args->kind, "What the data are like: " + kinds_text())->required();
  command->add_option("folder", args->folder, "Folder to make")->required();
  command->add_option("--seed", args->seed, "The number that the data follow from")
      ->capture_default_str()
      ->check(whole_number(0));
  command->callback([args] { make_new(*args); });
}

}  // namespace perceiver
