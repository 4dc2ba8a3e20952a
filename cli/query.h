// What is asked of latents, and what they answer: one function for each kind of model.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "cli/session.h"
#include "perceiver/media/sound.h"
#include "perceiver/zoo/latents.h"

namespace perceiver {

class GlueImpl;
class LanguageImpl;
class MultimodalImpl;
class OpticalFlowImpl;

struct QueryArgs {
  SessionOptions session;
  std::string file, output;
  std::vector<std::string> pixels, tasks;
  std::string box, frames, seconds, words;
  bool label = false, json = false;
  int64_t top = 5;
};

// An answer, in every form in which it can be given.
struct Answer {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  std::string text = "";
  NamedTensors arrays = {};         // .safetensors
  Tensor picture = {};              // .png: uint8 [3, H, W]
  Tensor flow = {};                 // .flo: float [2, H, W]
  std::optional<Sound> sound = {};  // .wav
};

Answer ask_flow(OpticalFlowImpl& model, const LatentsFile& file, const QueryArgs& args);
Answer ask_clip(MultimodalImpl& multimodal, const Model& model, const LatentsFile& file,
                const QueryArgs& args);
Answer ask_words(LanguageImpl& model, const LatentsFile& file, const QueryArgs& args);
Answer ask_glue(GlueImpl& model, const LatentsFile& file, const QueryArgs& args);

// probabilities [classes] -> the likeliest, with their names
Answer top_classes(const Model& model, const Tensor& probabilities, int64_t top);

}  // namespace perceiver
