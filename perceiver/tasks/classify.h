// The classes of a user's pictures, clips, sounds or texts, by a model that is loaded.
#pragma once

#include <nlohmann/json.hpp>

#include "perceiver/tasks/classes.h"
#include "perceiver/tasks/hooks.h"
#include "perceiver/tasks/model.h"

namespace perceiver {

// The likeliest classes of one file, or of a text. Fails where it cannot be read.
std::vector<RankedClass> classify(Model& model, const File& file, int64_t top = 5);

// What the model can answer at all: "10 classes: airplane, automobile, …".
std::string classes_text(const Model& model);

// What is to be classified: a file to be read by its name, or the bytes themselves.
struct ClassifySource {
  std::string name;
  std::optional<std::string> bytes = {};
};

struct SourceOptions {
  bool lines = false;  // each line of a file is a text of its own
  Hooks hooks = {};
};

// Files, folders, "-", the standard input, and for models of texts these themselves
// (given_inputs.h), as such sources; of a folder what models of the task read, in the order of the
// names.
std::vector<ClassifySource> classify_sources(const Model& model,
                                             const std::vector<std::string>& inputs,
                                             const SourceOptions& options = {});

// A shipped sample that models of the task can classify; fails where there is none.
std::filesystem::path classify_sample(const Model& model);

struct Classified {
  std::string name;
  std::vector<RankedClass> top = {};
  std::string error = {};  // why the source could not be read; then there are no classes
};

struct ClassifyOptions {
  int64_t top = 5, batch = 8;     // sources that the model sees together
  std::optional<File> pair = {};  // read with each source as its second text
  Hooks hooks = {};
  std::function<void(const Classified& result)> ready = {};  // after each source, in their order
};

// The next batch is read and decoded while the model computes.
std::vector<Classified> classify(Model& model, std::span<const ClassifySource> sources,
                                 const ClassifyOptions& options = {});

nlohmann::ordered_json to_json(const Classified& result);  // {file, top}

}  // namespace perceiver
