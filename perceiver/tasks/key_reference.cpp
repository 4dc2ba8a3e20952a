#include "perceiver/tasks/key_reference.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "perceiver/tasks/registry.h"

namespace perceiver {
namespace {

std::string or_not_set(const std::string& value) { return value.empty() ? "not set" : value; }

const TaskEntry& entry_of(const std::vector<TaskEntry>& entries, const std::string& task) {
  return *std::ranges::find(entries, task, &TaskEntry::name);
}

// A default, and the tasks that have it.
struct Default {
  std::string value;
  std::vector<std::string> tasks;
};

struct Row {
  ListedKey key;
  std::vector<Default> defaults;
};

// A table of a config, with the keys that stand in it directly.
struct Section {
  std::string path, meaning;
  std::vector<Row> rows = {};
  std::vector<std::string> tasks = {};
};

std::string parent_of(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == path.npos ? "" : path.substr(0, dot);
}

std::vector<Section> sections_of(const TaskEntry& entry) {
  const std::vector<ListedKey> keys = entry.keys();
  std::vector<Section> sections;
  for (const ListedKey& table : keys) {
    if (!table.is_table()) continue;
    Section section{table.path, table.meaning, {}, {entry.name}};
    for (const ListedKey& key : keys) {
      if (key.is_table() || parent_of(key.path) != table.path) continue;
      section.rows.push_back({key, {{key.value, {entry.name}}}});
    }
    if (!section.rows.empty()) sections.push_back(std::move(section));
  }
  return sections;
}

// Whether they differ in nothing but defaults.
bool are_alike(const Section& a, const Section& b) {
  return a.path == b.path && std::ranges::equal(a.rows, b.rows, [](const Row& x, const Row& y) {
           return x.key.path == y.key.path && x.key.type == y.key.type &&
                  x.key.meaning == y.key.meaning;
         });
}

void merge(Section& into, const Section& other) {
  into.tasks.push_back(other.tasks.front());
  for (size_t i = 0; i < into.rows.size(); ++i) {
    std::vector<Default>& defaults = into.rows[i].defaults;
    const Default& theirs = other.rows[i].defaults.front();
    const auto same = std::ranges::find(defaults, theirs.value, &Default::value);
    if (same == defaults.end()) {
      defaults.push_back(theirs);
    } else {
      same->tasks.push_back(theirs.tasks.front());
    }
  }
}

std::string defaults_text(const std::vector<Default>& defaults) {
  const auto value = [](const Default& d) {
    return d.value.empty() ? std::string("not set") : fmt::format("`{}`", d.value);
  };
  if (defaults.size() == 1) return value(defaults.front());
  std::vector<std::string> texts;
  for (const Default& d : defaults) {
    texts.push_back(fmt::format("{} ({})", value(d), fmt::join(d.tasks, ", ")));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string to_markdown(const Section& section) {
  const std::string tasks = fmt::format("{}", fmt::join(section.tasks, ", "));
  const bool shared = section.tasks.size() > 1;
  std::string text =
      fmt::format("## [{}]{}\n\n{}.{}\n\n| key | may be | default | meaning |\n|---|---|---|---|\n",
                  section.path, shared ? "" : " of " + tasks, section.meaning,
                  shared ? fmt::format(" Tasks: {}.", tasks) : "");
  for (const Row& row : section.rows) {
    text += fmt::format("| `{}` | {} | {} | {} |\n", row.key.path.substr(section.path.size() + 1),
                        row.key.type, defaults_text(row.defaults), row.key.meaning);
  }
  return text + "\n";
}

constexpr const char* kIntroduction =
    "# Keys of a config\n\n"
    "Written by `perceiver train --keys > docs/configs.md`; do not edit. `perceiver train CONFIG "
    "--keys` shows the keys of one config with their values.\n\n"
    "A config names its `task`, which decides what else it may hold. Any key can be given on the "
    "command line, too: `perceiver train flow_mini train.steps=100`. A key that is left out has "
    "its "
    "default. Where tasks have other defaults, they stand behind them.\n\n";

}  // namespace

std::string key_table(const Settings& settings) {
  const std::vector<TaskEntry> entries = registered_tasks();
  const std::vector<ListedKey> keys = settings.keys();
  const std::vector<ListedKey> defaults = entry_of(entries, settings.task()).keys();
  std::string text;
  for (const ListedKey& key : keys) {
    if (key.is_table()) {
      text += fmt::format("\n[{}] {}\n", key.path, key.meaning);
      continue;
    }
    const ListedKey& usual = *std::ranges::find(defaults, key.kind, &ListedKey::kind);
    const bool is_default = key.value == usual.value;
    const std::string value = key.value.empty() ? "" : "=" + key.value;
    text += fmt::format("  {}{}  ({}; {})\n      {}\n", key.path, value,
                        is_default ? "the default" : "default " + or_not_set(usual.value), key.type,
                        key.meaning);
  }
  return text;
}

std::string key_reference() {
  std::vector<Section> sections;
  for (const TaskEntry& entry : registered_tasks()) {
    for (const Section& section : sections_of(entry)) {
      const auto same = std::ranges::find_if(
          sections, [&](const Section& known) { return are_alike(known, section); });
      if (same == sections.end()) {
        sections.push_back(section);
      } else {
        merge(*same, section);
      }
    }
  }
  std::ranges::stable_sort(sections, {}, &Section::path);
  std::string text = kIntroduction;
  for (const Section& section : sections) text += to_markdown(section);
  text.pop_back();
  return text;
}

}  // namespace perceiver
