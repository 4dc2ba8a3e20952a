// A tiny language model and a text to train it on, in files: for the tests of `train` and `sweep`.
#pragma once

#include <filesystem>
#include <string>

#include "perceiver/core/file.h"

namespace perceiver {

// Into `folder`, which it makes: text.txt, and tiny.toml with `train` as its [train].
inline void write_tiny_training(const std::filesystem::path& folder, const std::string& train) {
  std::filesystem::create_directories(folder);
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += "line " + std::to_string(i * i % 37) + " of a text that is read and masked\n";
  }
  write_file(folder / "text.txt", text);
  write_file(folder / "tiny.toml", R"(
task = "language"
[model]
num_inputs = 32
input_channels = 16
token_init_scale = 0.02
[model.encoder]
num_latents = 8
latent_channels = 16
self_attends_per_block = 2
cross_attend = { num_heads = 2, qk_channels = 8, v_channels = 16 }
self_attend = { num_heads = 2, qk_channels = 8, v_channels = 16, dropout = 0.1 }
[model.decoder]
cross_attend = { num_heads = 2, qk_channels = 8, v_channels = 16 }
[data]
held_out_share = 0.1
[train]
)" + train);
}

}  // namespace perceiver
