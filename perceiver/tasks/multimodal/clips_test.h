// A folder of small clips of two classes, drawn and written by tests, with a table.
#pragma once

#include <fmt/format.h>

#include "perceiver/media/clip_test.h"

namespace perceiver {

// Class "low" is dark with a low tone, "high" bright with a high one; 20 frames each.
inline void write_clips(const std::filesystem::path& folder, int64_t of_each) {
  std::filesystem::create_directories(folder);
  std::string table = "clip,pitch\n";
  for (int64_t i = 0; i < 2 * of_each; ++i) {
    const bool high = i % 2 == 1;
    std::vector<Tensor> frames;
    for (int64_t t = 0; t < 20; ++t) {
      Tensor frame = at::full({3, 32, 48}, high ? 180 : 40, at::kByte);
      frame.narrow(2, 8 + t, 8).add_(50);
      frames.push_back(frame);
    }
    const Tensor tone = (at::arange(12'800) * (high ? 0.5 : 0.1)).sin() * 0.5;
    write_clip(folder / fmt::format("c{}.mp4", i), frames, 25.0, tone);
    table += fmt::format("c{},{}\n", i, high ? "high" : "low");
  }
  write_file(folder / "labels.csv", table);
}

// A model small enough to be trained on them in a test.
inline File tiny_multimodal() {
  return {"tiny_multimodal.toml", R"(
task = "multimodal"
[model]
num_frames = 4
image_size = 8
samples_per_frame = 64
num_image_bands = 3
num_audio_bands = 5
num_classes = 2
label_query_channels = 20
output_channels = 12
train_queries = { audio = 6, image = 24 }
[model.encoder]
num_latents = 8
latent_channels = 16
self_attends_per_block = 2
[data]
label = "pitch"
held_out_per_class = 1
[loss]
label = 0.1
video = 1.0
[train]
optimizer = "adamw"
learning_rate = 0.003
weight_decay = 0.0
steps = 200
batch = 4
)"};
}

}  // namespace perceiver
