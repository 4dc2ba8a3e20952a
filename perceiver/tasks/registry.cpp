#include <fmt/ranges.h>

#include <string_view>

#include "perceiver/core/config.h"
#include "perceiver/core/names.h"
#include "perceiver/tasks/task.h"

// Every task by its name in configs, its folder's or, for a baseline, its own. A new task is a line
// here and one in CMakeLists.txt; its task.cpp defines make_<name>, a MakeTask.
// clang-format off
#define PERCEIVER_TASKS(task) \
  task(alphastar_transformer) \
  task(audioset) \
  task(bert) \
  task(glue) \
  task(imagenet) \
  task(language) \
  task(multimodal) \
  task(optical_flow) \
  task(starcraft) \
  task(text_classifier)
// clang-format on

namespace perceiver {

#define DECLARE(name) MakeTask make_##name;
PERCEIVER_TASKS(DECLARE)
#undef DECLARE

namespace {

struct TaskEntry {
  std::string_view name;
  MakeTask* make;
};

constexpr TaskEntry kTasks[] = {
#define ENTRY(name) {#name, make_##name},
    PERCEIVER_TASKS(ENTRY)
#undef ENTRY
};

}  // namespace

std::unique_ptr<Task> make_task(const File& config, std::span<const std::string> overrides) {
  const std::string name = read_config_key(config, "task");
  std::vector<std::string> known;
  for (const TaskEntry& entry : kTasks) {
    known.emplace_back(entry.name);
    if (entry.name != name) continue;
    try {
      return entry.make(config, overrides);
    } catch (const Error& e) {
      // The reader names the file itself; modules, which check the rest, do not know of it.
      const std::string message = e.what();
      if (message.starts_with(config.name) || message.starts_with("command line")) throw;
      fail("{}: model.{}", config.name, message);
    }
  }
  fail("{}: unknown task '{}'{}; known: {}", config.name, name, did_you_mean(name, known),
       fmt::join(known, ", "));
}

}  // namespace perceiver
