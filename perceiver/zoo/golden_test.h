// The small models of both references, for the tests that go over all of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace perceiver {

inline const auto kGoldens =
    testing::Values("huggingface/language", "huggingface/text-classifier",
                    "huggingface/image-fourier", "huggingface/image-learned",
                    "huggingface/image-conv", "huggingface/optical-flow", "huggingface/multimodal",
                    "deepmind/language", "deepmind/image-fourier", "deepmind/image-learned",
                    "deepmind/image-conv", "deepmind/optical-flow", "deepmind/multimodal");

// Kept among the tests where small, else found through PERCEIVER_GOLDENS.
inline std::filesystem::path golden(const std::string& name) {
  const std::filesystem::path kept = std::filesystem::path("tests/golden") / name;
  const char* elsewhere = std::getenv("PERCEIVER_GOLDENS");
  return std::filesystem::exists(kept) || elsewhere == nullptr
             ? kept
             : std::filesystem::path(elsewhere) / name;
}

// "huggingface/image-conv" as a test may be called.
inline std::string golden_test_name(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == '-'; }, '_');
  return name;
}

}  // namespace perceiver
