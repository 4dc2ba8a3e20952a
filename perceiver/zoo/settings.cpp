#include "perceiver/zoo/settings.h"

#include <algorithm>

#include "perceiver/tasks/imagenet/model.h"

namespace perceiver {

void set_semantics(Settings& settings, Reference reference) {
  const bool deepmind = reference == Reference::kDeepMind;
  if (Semantics* semantics = settings.semantics()) {
    *semantics = deepmind ? kDeepMind : kHuggingFace;
  }
  auto* pictures = settings.model<ImageNetConfig>();
  if (pictures != nullptr && pictures->input == ImageInput::kLearned) {
    pictures->decoder.cross_attend.query_residual = !deepmind;
  }
}

std::string semantics_text(const Settings& settings) {
  const Semantics* semantics = settings.semantics();
  if (semantics == nullptr) return "computes as neither reference does: they have no such model";
  const std::string switches = to_toml(*semantics);
  if (switches == to_toml(kDeepMind)) return "computes as DeepMind's code does";
  if (switches == to_toml(kHuggingFace)) return "computes as Hugging Face's code does";
  return "computes partly as DeepMind's code does, partly as Hugging Face's";
}

TrainQueries fitting_train_queries(const MultimodalConfig& c) {
  const TrainQueries paper;
  // Not multiplied before the model has checked its sizes.
  const int64_t frames_for_all = paper.image / c.image_size / c.image_size;
  return {.audio = std::min(paper.audio, c.num_frames * c.samples_per_frame / c.samples_per_patch),
          .image = c.num_frames > frames_for_all ? paper.image
                                                 : c.num_frames * c.image_size * c.image_size};
}

}  // namespace perceiver
