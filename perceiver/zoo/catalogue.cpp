#include "perceiver/zoo/catalogue.h"

#include <algorithm>
#include <optional>

#include "perceiver/core/error.h"
#include "perceiver/core/file.h"
#include "perceiver/core/lines.h"
#include "perceiver/nn/init.h"
#include "perceiver/nn/layers.h"
#include "perceiver/tasks/registry.h"
#include "perceiver/zoo/model.h"

namespace perceiver {

namespace fs = std::filesystem;

namespace {

// Up to the first full stop that is not of "Tab." or "App.".
std::string first_sentence(const std::string& text) {
  for (size_t dot = text.find(". "); dot != text.npos; dot = text.find(". ", dot + 1)) {
    const std::string before = text.substr(0, dot);
    if (!before.ends_with("Tab") && !before.ends_with("App")) return before;
  }
  return text.substr(0, text.ends_with('.') ? text.size() - 1 : text.npos);
}

// The comment that begins a config.
std::string about_config(const File& config) {
  std::string comment;
  for (const std::string& line : lines_of(config.bytes)) {
    if (!line.starts_with("# ")) break;
    comment += (comment.empty() ? "" : " ") + line.substr(2);
  }
  return first_sentence(comment);
}

// The model's README.md; empty where there is none.
std::string card_of(const fs::path& folder) {
  const fs::path card = folder / "README.md";
  return fs::is_regular_file(card) ? read_file(card).bytes : "";
}

// The first paragraph of the card below its title.
std::string about_model(const std::string& card) {
  std::string paragraph;
  for (const std::string& line : lines_of(card)) {
    if (line.starts_with("#")) continue;
    if (line.empty() && !paragraph.empty()) break;
    paragraph += (paragraph.empty() ? "" : " ") + line;
  }
  return first_sentence(paragraph);
}

// The row "| score | 78.7 % top-1 |" of one of the card's tables.
std::string score_in(const std::string& card) {
  constexpr std::string_view kBegin = "| score | ", kEnd = " |";
  for (const std::string& line : lines_of(card)) {
    if (!line.starts_with(kBegin) || !line.ends_with(kEnd)) continue;
    return line.substr(kBegin.size(), line.size() - kBegin.size() - kEnd.size());
  }
  return "";
}

int64_t bytes_in(const fs::path& folder) {
  int64_t total = 0;
  std::error_code error;  // a file may be a link to nowhere
  for (fs::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    std::error_code no_file;
    const uintmax_t size = file->file_size(no_file);
    if (!no_file) total += static_cast<int64_t>(size);
  }
  return total;
}

CatalogueEntry entry_of(const std::string& name, const File& settings) {
  const ConstructScope scope(Construct::kWithoutMemory);
  const std::unique_ptr<Settings> read = read_settings(settings);
  return {.name = name, .task = read->task(), .parameters = num_parameters(read->make()->model())};
}

// Nothing where the name has no model to it: folders of models may hold other things.
std::optional<CatalogueEntry> model_entry(const std::string& name, const ModelPlaces& places) {
  try {
    const fs::path folder = find_model(name, places);
    CatalogueEntry entry = entry_of(name, settings_file(folder));
    const std::string card = card_of(folder);
    entry.about = about_model(card);
    entry.score = score_in(card);
    entry.bytes = bytes_in(folder);
    entry.path = folder;
    return entry;
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::vector<CatalogueEntry> models_in(const ModelPlaces& places) {
  std::vector<CatalogueEntry> entries;
  for (const std::string& name : model_names(places)) {
    if (const auto entry = model_entry(name, places)) entries.push_back(*entry);
  }
  return entries;
}

std::vector<CatalogueEntry> configs_in(const fs::path& folder) {
  std::vector<CatalogueEntry> entries;
  for (const fs::path& path : sorted_entries(folder)) {
    if (path.extension() != ".toml" || path.filename() == "paper.toml") continue;
    const File config = read_file(path);
    entries.push_back(entry_of(path.stem().string(), config));
    entries.back().about = about_config(config);
    entries.back().path = path;
  }
  return entries;
}

std::vector<std::string> released_models_not_in(const ModelPlaces& places) {
  const std::vector<std::string> here = model_names(places);
  std::vector<std::string> names;
  for (const std::string& name : released_models()) {
    const std::string without_owner = name.substr(name.find('/') + 1);
    const bool is_here = std::any_of(here.begin(), here.end(), [&](const std::string& known) {
      return known == name || known == without_owner;
    });
    if (!is_here) names.push_back(name);
  }
  return names;
}

}  // namespace perceiver
