// What -m takes: a folder or a file, the name of a shipped model, a hub id, a run of `train`.
#pragma once

#include <filesystem>
#include <string>

namespace perceiver {

// The folders in which models are looked for by name. An empty path: there is no such folder.
struct ModelPlaces {
  std::filesystem::path shipped = {};    // models of this project, by name
  std::filesystem::path models = {};     // the user's own, as `name` or `owner/name`
  std::filesystem::path hub_cache = {};  // what Hugging Face's programs have downloaded
};

// As the environment says: $PERCEIVER_MODELS; $HF_HUB_CACHE, else $HF_HOME/hub, else
// ~/.cache/huggingface/hub.
ModelPlaces model_places();

// The folder or file of the model, which is then there. A path is taken before a name. A run's
// folder gives its `best`, else its `last`.
std::filesystem::path find_model(const std::string& name,
                                 const ModelPlaces& places = model_places());

// Whether the model lies among those of this project.
bool is_shipped(const std::filesystem::path& model);

}  // namespace perceiver
