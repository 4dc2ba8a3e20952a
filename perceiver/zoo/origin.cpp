#include "perceiver/zoo/origin.h"

#include <algorithm>

#include "perceiver/core/config.h"
#include "perceiver/weights/bytes.h"
#include "perceiver/weights/folder.h"
#include "perceiver/zoo/deepmind.h"
#include "perceiver/zoo/find.h"
#include "perceiver/zoo/hugging_face.h"
#include "perceiver/zoo/json_keys.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// A text to be shown, of a file that anybody may have written.
std::string text_in(const Json& json, const char* key) {
  if (!json.contains(key) || !json[key].is_string()) return "";
  return printable(json[key].get<std::string>());
}

Origin origin_in(const Json& weights) {
  const auto& words = enum_words(WeightsFrom{});
  const auto word = std::ranges::find(words, text_in(weights, "from"));
  if (word == words.end()) return {.weights = WeightsFrom::kUnknown};
  const bool counts = weights.contains("steps") && weights["steps"].is_number_unsigned();
  return {.weights = static_cast<WeightsFrom>(word - words.begin()),
          .name = text_in(weights, "name"),
          .steps = counts ? weights["steps"].get<int64_t>() : 0,
          .began_as = text_in(weights, "began_as")};
}

// However it is written: "runs/mini/", ".".
fs::path plain(const fs::path& folder) {
  return fs::absolute(folder / "").lexically_normal().parent_path();
}

// Of a folder that was written before folders said it.
Origin origin_by_place(const fs::path& folder) {
  const fs::path run = plain(folder).parent_path();
  if (fs::exists(run / "metrics.jsonl")) return origin_of_run(run);
  return {.weights = WeightsFrom::kUnknown};
}

Origin origin_of_folder(const fs::path& folder) {
  if (is_shipped(folder)) {
    return {.weights = WeightsFrom::kShipped, .name = plain(folder).filename().string()};
  }
  const Keys keys(read_model_config(folder / "config.json"));
  if (!keys.has("perceiver")) return {.weights = WeightsFrom::kHuggingFace};
  const Json& own = keys.json()["perceiver"];
  if (own.is_object() && own.contains("weights") && own["weights"].is_object()) {
    return origin_in(own["weights"]);
  }
  return origin_by_place(folder);
}

}  // namespace

Origin origin_of(const fs::path& model) {
  if (model.extension() == ".toml") return {.weights = WeightsFrom::kRandom};
  if (!haiku_file(model).empty()) return {.weights = WeightsFrom::kDeepMind};
  return origin_of_folder(model);
}

Origin origin_of_run(const fs::path& run) {
  return {.weights = WeightsFrom::kTrained, .name = plain(run).filename().string()};
}

}  // namespace perceiver
