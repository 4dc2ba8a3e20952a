#include "perceiver/zoo/find.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <vector>

#include "perceiver/core/error.h"
#include "perceiver/core/file.h"
#include "perceiver/core/names.h"

namespace perceiver {

namespace fs = std::filesystem;

namespace {

// By hub id, and the config of the same sizes.
constexpr std::array kReleased = {
    std::pair{"deepmind/language-perceiver", "language_bytes"},
    std::pair{"deepmind/vision-perceiver-learned", "imagenet_learned"},
    std::pair{"deepmind/vision-perceiver-fourier", "imagenet_fourier"},
    std::pair{"deepmind/vision-perceiver-conv", "imagenet_conv"},
    std::pair{"deepmind/optical-flow-perceiver", "flow_patches"},
    std::pair{"deepmind/multimodal-perceiver", "multimodal_784"}};

// What the verbs take when no model is named, and what for.
constexpr std::array kShipped = {std::pair{"language-mini", "words"},
                                 std::pair{"image-mini", "pictures"},
                                 std::pair{"flow-mini", "motion"},
                                 std::pair{"sound-mini", "sounds"},
                                 std::pair{"entity-mini", "states of games"},
                                 std::pair{"multimodal-mini", "clips"}};

// Without exceptions: a name may be too long for a path, a folder may be closed to this user.
bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (is_folder(entry->path())) folders.push_back(entry->path());
  }
  return folders;
}

fs::path from_environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? value : "";
}

// A plain name or owner/name; everything else can only be meant as a path.
bool is_model_name(const std::string& name) {
  const auto is_part = [](std::string_view part) {
    return !part.empty() && part != "." && part != ".." && part.find('/') == part.npos;
  };
  const size_t slash = name.find('/');
  if (slash == name.npos) return is_part(name);
  return is_part(std::string_view(name).substr(0, slash)) &&
         is_part(std::string_view(name).substr(slash + 1));
}

fs::path cache_folder(const fs::path& hub_cache, const std::string& owner,
                      const std::string& name) {
  return hub_cache / fmt::format("models--{}--{}", owner, name);
}

// The revision that refs/main names, else the newest there is.
std::optional<fs::path> snapshot_in(const fs::path& cache_folder) {
  const fs::path main = cache_folder / "refs" / "main";
  if (is_there(main)) {
    std::string revision = read_file(main).bytes;
    revision.erase(revision.find_last_not_of(" \r\n") + 1);
    const fs::path snapshot = cache_folder / "snapshots" / revision;
    if (is_model_name(revision) && is_folder(snapshot)) return snapshot;
  }
  const std::vector<fs::path> snapshots = folders_in(cache_folder / "snapshots");
  const auto written = [](const fs::path& path) {
    std::error_code error;
    return fs::last_write_time(path, error);
  };
  const auto newest = std::max_element(
      snapshots.begin(), snapshots.end(),
      [&](const fs::path& a, const fs::path& b) { return written(a) < written(b); });
  return newest == snapshots.end() ? std::nullopt : std::optional(*newest);
}

// A run's folder has models inside and is none itself; the `best` of a sweep is a run.
fs::path model_of_run(const fs::path& path) {
  if (is_there(path / "config.json")) return path;
  for (const char* kept : {"best", "last"}) {
    if (is_folder(path / kept)) return model_of_run(path / kept);
  }
  return path;
}

std::vector<std::string> config_names(const ModelPlaces& places) {
  std::vector<std::string> names;
  if (places.configs.empty()) return names;
  for (const fs::path& path : sorted_entries(places.configs)) names.push_back(path.stem());
  return names;
}

std::vector<std::string> known_names(const ModelPlaces& places) {
  std::vector<std::string> names = released_models();
  std::ranges::move(model_names(places), std::back_inserter(names));
  std::ranges::move(config_names(places), std::back_inserter(names));
  return names;
}

}  // namespace

std::vector<std::string> released_models() {
  std::vector<std::string> ids;
  for (const auto& [id, config] : kReleased) ids.emplace_back(id);
  return ids;
}

fs::path config_of_released(const std::string& hub_id, const ModelPlaces& places) {
  for (const auto& [id, config] : kReleased) {
    if (id == hub_id) return find_config(config, places);
  }
  fail("{}: is no released model", hub_id);
}

std::string how_to_get(const std::string& hub_id) {
  return fmt::format(
      "save config.json and pytorch_model.bin (or model.safetensors) of "
      "https://huggingface.co/{} in a folder, and name the folder",
      hub_id);
}

std::vector<std::string> model_names(const ModelPlaces& places) {
  std::vector<std::string> names;
  const auto add = [&](const fs::path& folder, const std::string& owner) {
    std::vector<fs::path> models = folders_in(folder);
    std::sort(models.begin(), models.end());
    for (const fs::path& model : models) names.push_back(owner + model.filename().string());
  };
  add(places.shipped, "");
  add(places.models, "");
  for (const fs::path& cached : folders_in(places.hub_cache)) {
    const std::string folder = cached.filename().string();
    const size_t owner_end = folder.find("--", std::string_view("models--").size());
    if (!folder.starts_with("models--") || owner_end == folder.npos) continue;
    names.push_back(folder.substr(8, owner_end - 8) + "/" + folder.substr(owner_end + 2));
  }
  return names;
}

bool is_shipped(const fs::path& model) {
  const fs::path folder = model_places().shipped;
  if (folder.empty() || model.empty()) return false;
  const fs::path plain = fs::absolute(model / "").lexically_normal().parent_path();
  std::error_code error;
  return fs::equivalent(plain.parent_path(), folder, error);
}

ModelPlaces model_places() {
  ModelPlaces places{.models = from_environment("PERCEIVER_MODELS"),
                     .hub_cache = from_environment("HF_HUB_CACHE")};
  try {
    places.configs = shipped("configs");
    places.shipped = shipped("models");
  } catch (const Error&) {  // a build or an installation without them
  }
  if (places.hub_cache.empty()) {
    fs::path home = from_environment("HF_HOME");
    if (home.empty()) home = from_environment("HOME") / ".cache" / "huggingface";
    places.hub_cache = home / "hub";
  }
  return places;
}

std::optional<fs::path> shipped_config(const std::string& name, const ModelPlaces& places) {
  if (places.configs.empty()) return {};
  // As the examples write it in a clone of the project.
  fs::path file = name.starts_with("configs/") ? name.substr(name.find('/') + 1) : name;
  if (file.has_parent_path()) return {};
  if (file.extension() != ".toml") file += ".toml";
  const fs::path config = places.configs / file;
  return is_there(config) ? std::optional(config) : std::nullopt;
}

fs::path find_config(const std::string& name, const ModelPlaces& places) {
  if (is_there(name) && !is_folder(name)) return name;
  if (const auto config = shipped_config(name, places)) return *config;
  if (fs::path(name).has_parent_path() || places.configs.empty()) return name;
  fail("{}: no such file, and no shipped config of that name{}", name,
       did_you_mean(fs::path(name).stem().string(), config_names(places)));
}

fs::path find_model(const std::string& name, const ModelPlaces& places) {
  if (name.empty()) fail("the name of the model is empty");
  if (is_there(name)) return model_of_run(name);
  if (!is_model_name(name)) fail("{}: no such file or folder", name);

  const size_t slash = name.find('/');
  const bool is_hub_id = slash != name.npos;
  const std::string owner = name.substr(0, is_hub_id ? slash : 0);
  const std::string model = name.substr(owner.size() + is_hub_id);
  std::vector<fs::path> looked;
  if (!is_hub_id && !places.shipped.empty()) looked.push_back(places.shipped / name);
  if (!places.models.empty()) looked.push_back(places.models / name);
  if (is_hub_id && !places.models.empty()) looked.push_back(places.models / model);
  for (const fs::path& path : looked) {
    if (is_there(path)) return model_of_run(path);
  }
  if (is_hub_id) {
    looked.push_back(cache_folder(places.hub_cache, owner, model));
    if (const auto snapshot = snapshot_in(looked.back())) return *snapshot;
  }
  if (const auto config = shipped_config(name, places)) return *config;

  for (const auto& [shipped_name, what] : kShipped) {
    if (name == shipped_name) {
      fail("{}: no weights for {} come with this program; name a model with -m", name, what);
    }
  }
  if (std::ranges::find(kReleased, name, [](const auto& r) { return r.first; }) !=
      kReleased.end()) {
    fail("{}: is not on this machine; {} with -m", name, how_to_get(name));
  }
  std::vector<std::string> quoted{name};
  for (const fs::path& path : looked) quoted.push_back(path.string());
  fail("no model '{}'{}; looked at {}{}", name, did_you_mean(name, known_names(places)),
       fmt::join(quoted, ", "),
       places.models.empty() ? "; PERCEIVER_MODELS can name a folder of models" : "");
}

}  // namespace perceiver
