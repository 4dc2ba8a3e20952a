// Arrays in files, and configs over them, for tests.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "perceiver/core/error_test.h"
#include "perceiver/tasks/arrays/config.h"
#include "perceiver/weights/npy.h"

namespace perceiver {

class ArrayFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    at::manual_seed(0);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string write(const std::string& name, const NamedTensors& arrays) const {
    write_file(folder / name, encode_npz(arrays));
    return (folder / name).string();
  }

  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("arrays_" + std::to_string(getpid()));
};

// A model as small as can be, over `text`, trained on a file.
inline File arrays_config(const std::string& text, const std::string& data = "") {
  const std::string train = data.empty() ? "" : "data.train = '" + data + "'\n";
  return {"x.toml", "task = 'arrays'\n" + train + text +
                        "\n[model]\nencoder = {num_latents = 4, latent_channels = 8, "
                        "self_attends_per_block = 1, self_attend = {num_heads = 2}}\n"};
}

}  // namespace perceiver
