// What the tests of this folder share.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "perceiver/core/error_test.h"
#include "perceiver/core/file.h"

namespace perceiver {

inline std::filesystem::path fixture(const std::string& name) {
  return std::filesystem::path("perceiver/weights/testdata") / name;
}

// A fixture under the name "x", which messages then have.
inline File fixture_as_x(const std::string& name) { return {"x", read_file(fixture(name)).bytes}; }

inline std::filesystem::path empty_folder(const std::string& name) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("perceiver_weights_" + name);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  return folder;
}

// The reference tensors, or "" when the environment does not say where they are.
inline std::filesystem::path goldens() {
  const char* folder = std::getenv("PERCEIVER_GOLDENS");
  return folder ? folder : "";
}

// decode(bytes) for every bit of the bytes [begin, end) flipped: an error or an answer.
template <typename Decode>
void flip_every_bit(const std::string& bytes, size_t begin, size_t end, const Decode& decode) {
  for (size_t i = begin; i < end; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = bytes;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
      try {
        decode(std::move(flipped));
      } catch (const Error&) {
      }
    }
  }
}

}  // namespace perceiver
