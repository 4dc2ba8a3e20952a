// What -m takes: a folder or a file, the name of a shipped model or config, a hub id, a run of
// `train`, a folder of `sweep`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace perceiver {

// The folders in which models are looked for by name. An empty path: there is no such folder.
struct ModelPlaces {
  std::filesystem::path shipped = {};    // models of this project, by name
  std::filesystem::path models = {};     // the user's own, as `name` or `owner/name`
  std::filesystem::path hub_cache = {};  // what Hugging Face's programs have downloaded
  std::filesystem::path configs = {};    // configs of this project, by name
};

// As the environment says: $PERCEIVER_MODELS; $HF_HUB_CACHE, else $HF_HOME/hub, else
// ~/.cache/huggingface/hub.
ModelPlaces model_places();

// The folder or file of the model, which is then there. A path is taken before a name, a model
// before a config. A run's folder gives its `best`, else its `last`; a sweep's the model of its
// best run.
std::filesystem::path find_model(const std::string& name,
                                 const ModelPlaces& places = model_places());

// A config by its path, or a shipped one by its name: "flow_mini", "flow_mini.toml" and, wherever
// the program is, "configs/flow_mini.toml". A file that is there is taken before a shipped config.
std::filesystem::path find_config(const std::string& name,
                                  const ModelPlaces& places = model_places());

// The shipped config of that name; nothing where there is none.
std::optional<std::filesystem::path> shipped_config(const std::string& name,
                                                    const ModelPlaces& places = model_places());
// The models that lie in these places by the names find_model() takes, place by place.
std::vector<std::string> model_names(const ModelPlaces& places);

// The hub ids of the models that the paper's authors released.
std::vector<std::string> released_models();

// The shipped config that has a released model's sizes.
std::filesystem::path config_of_released(const std::string& hub_id,
                                         const ModelPlaces& places = model_places());

// What to do to have a model of the hub: the program itself downloads nothing.
std::string how_to_get(const std::string& hub_id);

// Whether the model lies among those of this project.
bool is_shipped(const std::filesystem::path& model);

}  // namespace perceiver
