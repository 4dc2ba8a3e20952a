// For tests of `perceiver flow`: a model that sees the same motion everywhere, and frames.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/media/image.h"
#include "perceiver/weights/safetensors.h"
#include "tests/program.h"
#include "tests/tiny_flow.h"

namespace perceiver {

namespace fs = std::filesystem;

// The model's flow at every pixel.
inline constexpr float kX = 2.0f, kY = -1.0f;

class ConstantFlow : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = testing::TempDir() + "perceiver_cli_flow_" + std::to_string(getpid());
    fs::create_directories(folder + "/frames");
    // Some runs happen in that folder.
    setenv("PERCEIVER_PROGRAM", fs::absolute(std::getenv("PERCEIVER_PROGRAM")).c_str(), 1);
    write_file(folder + "/tiny.toml", kTinyFlow);
    ASSERT_EQ(run("convert " + folder + "/tiny.toml " + folder + "/model").code, 0);
    set_constant_flow();
    for (const char* name : {"frames/a", "frames/b", "frames/c"}) write_frame(name, 24, 30);
  }

  static void TearDownTestSuite() { fs::remove_all(folder); }

  // The last layer, which starts at zero, adds these: a hundredth of flow / 20.
  static void set_constant_flow() {
    const std::string path = folder + "/model/model.safetensors";
    NamedTensors weights;
    for (const auto& [name, tensor] : read_safetensors(path).tensors) {
      const bool last = tensor.dim() == 1 && tensor.size(0) == 2;
      weights.emplace_back(name, last ? at::tensor({kX * 5, kY * 5}) : tensor.clone());
    }
    write_safetensors(path, weights, {{"format", "pt"}});
  }

  static void write_frame(const std::string& name, int64_t height, int64_t width) {
    write_file(path(name + ".png"), encode_png(at::randint(0, 256, {3, height, width}, at::kByte)));
  }

  static std::string path(const std::string& name) { return folder + "/" + name; }

  // The arguments with the model, and NAME for each of the folder's files written as @NAME.
  static std::string filled(std::string arguments) {
    for (size_t at; (at = arguments.find('@')) != arguments.npos;) {
      arguments.replace(at, 1, folder + "/");
    }
    return "flow -q -m " + folder + "/model " + arguments;
  }

  // stdout of a run that must go well.
  static std::string flow(const std::string& arguments) {
    const Result result = run(filled(arguments));
    EXPECT_EQ(result.code, 0) << arguments << ": " << result.err;
    EXPECT_EQ(result.err, "") << arguments;
    return result.out;
  }

  static void expect_flow_complaint(const std::string& arguments, std::string message) {
    for (size_t at; (at = message.find('@')) != message.npos;) message.replace(at, 1, folder + "/");
    expect_complaint(filled(arguments), message);
  }

  static inline std::string folder;
};

}  // namespace perceiver
