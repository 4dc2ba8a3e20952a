// What the tests of this folder share.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "perceiver/core/error_test.h"
#include "perceiver/core/file.h"

namespace perceiver {

// Made by tests/golden/media/make.py.
inline File golden(const std::string& name) {
  return read_file(std::filesystem::path("tests/golden/media") / name);
}

inline std::filesystem::path empty_folder(const std::string& name) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("perceiver_media_" + name);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  return folder;
}

// Every shorter beginning of the file is an Error.
template <typename Decode>
void expect_truncations_fail(const std::string& bytes, const Decode& decode) {
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_NE(error_of([&] { decode(File{"x", bytes.substr(0, length)}); }), "no error") << length;
  }
}

// Every bit flipped, one at a time, is an Error or an answer.
template <typename Decode>
void flip_every_bit(const std::string& bytes, const Decode& decode) {
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    std::string flipped = bytes;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << i % 8));
    error_of([&] { decode(File{"x", std::move(flipped)}); });
  }
}

}  // namespace perceiver
