#include "perceiver/zoo/settings.h"

#include <algorithm>

namespace perceiver {

File model_settings(const File& config, std::span<const std::string> overrides) {
  return with_settings(config, overrides, [&](const auto& s) {
    return File{config.name, to_toml(s)};
  });
}

std::vector<std::string> semantics_overrides(const File& settings, Reference reference) {
  Semantics semantics = reference == Reference::kDeepMind ? kDeepMind : kHuggingFace;
  ConfigWriter writer("model.semantics.");
  fields(writer, semantics);
  std::vector<std::string> overrides;
  std::string_view rest = writer.text();
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    overrides.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  const bool learned = with_settings(settings, {}, [](const auto& s) {
    if constexpr (requires { s.model.position_channels; }) {
      return s.model.input == ImageInput::kLearned;
    } else {
      return false;
    }
  });
  if (learned) {
    overrides.push_back(fmt::format("model.decoder.cross_attend.query_residual={}",
                                    reference == Reference::kHuggingFace));
  }
  return overrides;
}

TrainQueries fitting_train_queries(const MultimodalConfig& c) {
  const TrainQueries paper;
  return {.audio = std::min(paper.audio, c.num_frames * c.samples_per_frame / c.samples_per_patch),
          .image = std::min(paper.image, c.num_frames * c.image_size * c.image_size)};
}

}  // namespace perceiver
