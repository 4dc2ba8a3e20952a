// Latents in a file, asked for any outputs: pixels, frames, seconds, words, answers, the label.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "perceiver/media/sound.h"
#include "perceiver/tasks/hooks.h"
#include "perceiver/tasks/latents_file.h"
#include "perceiver/tasks/model.h"

namespace perceiver {

// What is asked, as users write it (tasks/selection.h). Task::questions() says which of these a
// task takes; nothing at all asks for what is usual.
struct Query {
  std::vector<std::string> pixels = {};  // "x,y", counted from 0
  std::string box = {};                  // "x0,y0,x1,y1": x1 and y1 are the first outside
  std::string frames = {};               // "3,5-7", counted from 1
  std::string seconds = {};              // "0.1-0.4"
  std::string words = {};                // "2,5-7", counted from 1
  std::vector<std::string> tasks = {};   // GLUE's
  bool label = false;
  std::string at = {};  // a file of arrays that has places to ask at
  int64_t top = 5;      // so many classes, or bytes of each place
  Hooks hooks = {};
};

// An answer, in every form in which it can be given.
struct Answer {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  std::string text = "";
  NamedTensors arrays = {};         // .safetensors, .npz
  Tensor picture = {};              // .png: uint8 [3, H, W]
  Tensor flow = {};                 // .flo: float [2, H, W]
  std::optional<Sound> sound = {};  // .wav
};

// The latents of a file, or of two frames, with all that query() needs.
LatentsFile encode(Model& model, std::span<const File> files, const Hooks& hooks = {});

// Fails where the latents are another model's, which a fingerprint tells where both are known, or
// the question is none for this task.
Answer query(Model& model, const LatentsFile& file, const Query& query);

// The answer with every vector of a flow, which is large.
nlohmann::ordered_json full_json(const Answer& answer);

// As the ending says: .png, .flo, .wav, .npz or .safetensors.
void write_answer(const Answer& answer, const std::string& path);

// probabilities [rows, classes] -> the likeliest by their mean over the rows, with their names
Answer answer_classes(const Tensor& probabilities, const Query& query,
                      const std::vector<std::string>& labels);

}  // namespace perceiver
