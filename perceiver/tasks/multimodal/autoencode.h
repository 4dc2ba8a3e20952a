// A clip through one latent array and back, chunk after chunk (paper, Sec. 4.3), by a model that is
// loaded.
#pragma once

#include <nlohmann/json.hpp>

#include "perceiver/media/video.h"
#include "perceiver/tasks/classes.h"
#include "perceiver/tasks/hooks.h"
#include "perceiver/tasks/model.h"
#include "perceiver/tasks/multimodal/clip.h"
#include "perceiver/tasks/multimodal/psnr.h"

namespace perceiver {

struct AutoencodeOptions {
  std::vector<std::string> masked = {};  // "audio", "video": hidden, and filled in by the model
  bool original_sound = false;           // is written, not the reconstruction
  std::string seconds = {};              // only from A to B: "2-3.5"
  int64_t num_frames = 0;                // at most so many, of 25 a second; 0: all
  int64_t top = 5;                       // labels that are named
  Hooks hooks = {};

  bool masks(const std::string& modality) const;
};

struct Autoencoded {
  int64_t num_chunks = 0, num_frames = 0;
  std::optional<double> video_psnr = {}, audio_psnr = {};  // of what the clip has, in decibels
  std::vector<RankedClass> top = {};                       // by the mean of the chunks
  std::filesystem::path output = {};                       // where it went
};

// The part of a clip that `seconds` and `num_frames` name; fails where they name none.
FrameRange frame_range(const AutoencodeOptions& options);

// Writes the original beside the reconstruction: a video, or a folder of pictures as VideoWriter
// has it. Fails where the clip lacks what is not masked.
Autoencoded autoencode(Model& model, const File& clip, const std::filesystem::path& output,
                       const AutoencodeOptions& options = {});

// {output, frames, chunks, psnr, top}
nlohmann::ordered_json to_json(const Autoencoded& done);

}  // namespace perceiver
