// A language model and a text small enough to be trained in a test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "perceiver/train/trainer.h"

namespace perceiver {

inline std::filesystem::path test_folder() {
  return std::filesystem::path(testing::TempDir()) / ("train_" + std::to_string(getpid()));
}

inline File tiny_config() {
  return {"tiny.toml", R"(
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
self_attend = { num_heads = 2, qk_channels = 8, v_channels = 16 }
[model.decoder]
cross_attend = { num_heads = 2, qk_channels = 8, v_channels = 16 }
[data]
documents_per_example = 3
held_out_share = 0.2
[train]
learning_rate = 0.01
steps = 12
batch = 4
log_every = 1
save_every = 5
)"};
}

// A fresh folder with "text.txt": forty short lines.
class TrainTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder);
    std::string text;
    const char* words[] = {"the", "queries", "attend", "to", "latents", "and", "inputs", "too"};
    for (int line = 0; line < 40; ++line) {
      for (int i = 0; i < 6; ++i) text += std::string(words[(line * 5 + i * i) % 8]) + " ";
      text.back() = '\n';
    }
    write_file(folder / "text.txt", text);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  Model make(std::vector<std::string> overrides = {}) const {
    overrides.insert(overrides.begin(), "data.train=['" + (folder / "text.txt").string() + "']");
    at::manual_seed(0);
    return new_model(tiny_config(), overrides);
  }

  std::filesystem::path folder = test_folder();
};

inline std::vector<double> losses(Trainer& trainer, int steps) {
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i) losses.push_back(trainer.step().loss.item<double>());
  return losses;
}

}  // namespace perceiver
