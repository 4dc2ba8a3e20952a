#include "perceiver/tasks/registry.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <mutex>
#include <set>

#include "perceiver/core/count.h"
#include "perceiver/core/lines.h"
#include "perceiver/core/memory.h"
#include "perceiver/core/names.h"
#include "perceiver/core/text.h"
#include "perceiver/nn/init.h"

// Every task by its name in configs, its folder's or, for a baseline, its own. A new task is a line
// here and one in CMakeLists.txt; its task.cpp defines <name>_task(), which returns its TaskEntry.
// clang-format off
#define PERCEIVER_TASKS(task) \
  task(alphastar_transformer) \
  task(arrays) \
  task(audioset) \
  task(bert) \
  task(glue) \
  task(glue_bert) \
  task(imagenet) \
  task(language) \
  task(multimodal) \
  task(optical_flow) \
  task(starcraft) \
  task(text_classifier)
// clang-format on

namespace perceiver {

#define DECLARE(name) TaskEntry name##_task();
PERCEIVER_TASKS(DECLARE)
#undef DECLARE

namespace {

struct Registry {
  std::mutex mutex;
  std::vector<TaskEntry> entries = {
#define ENTRY(name) name##_task(),
      PERCEIVER_TASKS(ENTRY)
#undef ENTRY
  };
};

Registry& registry() {
  static Registry registry;
  return registry;
}

}  // namespace

void register_task(TaskEntry entry) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (std::ranges::count(all.entries, entry.name, &TaskEntry::name) > 0) {
    fail("the task '{}' is registered already; give yours another name", entry.name);
  }
  all.entries.push_back(std::move(entry));
}

std::vector<TaskEntry> registered_tasks() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  return all.entries;
}

std::string trained_tasks() {
  std::vector<std::string> trained;
  for (const TaskEntry& entry : registered_tasks()) {
    if (entry.trains) trained.push_back(entry.name);
  }
  return fmt::format("{}", fmt::join(trained, ", "));
}

std::unique_ptr<Settings> read_settings(const File& config,
                                        std::span<const std::string> overrides) {
  ConfigReader reader(config, overrides);
  const std::string name = reader.peek("task");
  std::vector<std::string> known;
  for (const TaskEntry& entry : registered_tasks()) {
    if (entry.name == name) return entry.read(reader, config.name);
    known.push_back(entry.name);
  }
  fail("{}: unknown task '{}'{}; known: {}", config.name, name, did_you_mean(name, known),
       fmt::join(known, ", "));
}

// The parameters of a model that was built without memory; fails where there are too many.
static int64_t checked_parameters(const torch::nn::Module& model) {
  int64_t parameters = 0;
  for (const Tensor& parameter : model.parameters()) {
    parameters += parameter.numel();
    if (parameters > kMostParameters) {
      fail("{} parameters and more, expected at most {}", grouped(parameters),
           grouped(kMostParameters));
    }
  }
  return parameters;
}

// What a model takes is looked at before it takes any.
static void check_memory(int64_t parameters) {
  constexpr double kGib = 1 << 30;
  const double needed = static_cast<double>(parameters) * sizeof(float);
  const double there = static_cast<double>(free_memory(at::kCPU));
  if (needed <= there) return;
  fail("{} parameters take {:.1f} GiB of memory, and {:.1f} GiB are free", grouped(parameters),
       needed / kGib, there / kGib);
}

std::unique_ptr<Task> Settings::make() const {
  try {
    const bool takes_memory = !constructs_without_memory();
    {
      const ConstructScope scope(Construct::kWithoutMemory);
      std::unique_ptr<Task> task = make_task();
      const int64_t parameters = checked_parameters(task->model());
      if (!takes_memory) return task;
      check_memory(parameters);
    }
    return make_task();
  } catch (const Error& e) {
    // Modules check what the reader cannot, and do not know the file. They begin with a key's
    // name, or with a number where the fault is no key's.
    const std::string message = e.what();
    if (message.starts_with(source_)) throw;
    const bool begins_with_key = std::isalpha(static_cast<unsigned char>(message[0])) != 0;
    fail("{}: model{}{}", source_, begins_with_key ? "." : ": ", message);
  }
}

std::unique_ptr<Task> make_task(const File& config, std::span<const std::string> overrides) {
  return read_settings(config, overrides)->make();
}

std::string lines_not_in(const std::string& text, const std::string& other) {
  const std::vector<std::string> lines = lines_of(other);
  const std::set<std::string> known(lines.begin(), lines.end());
  std::string rest;
  for (const std::string& line : lines_of(text)) {
    if (!known.contains(line)) rest += line + "\n";
  }
  return rest;
}

}  // namespace perceiver
