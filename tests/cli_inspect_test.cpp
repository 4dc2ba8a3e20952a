// `perceiver inspect` of models, whole and broken.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <nlohmann/json.hpp>

#include "perceiver/weights/safetensors.h"
#include "tests/program.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// A copy of a small model, to be spoilt.
class CliInspect : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder);
    fs::create_directories(folder);
    for (const char* name : {"config.json", "model.safetensors"}) {
      write_file(folder / name, read_file(fs::path(kGolden) / name).bytes);
    }
  }
  void TearDown() override { fs::remove_all(folder); }

  // Without one tensor, with another, and with one of another shape.
  void spoil() {
    TensorMap tensors = read_safetensors(fs::path(kGolden) / "model.safetensors").tensors;
    tensors["extra"] = tensors.at("perceiver.embeddings.latents");
    tensors["perceiver.embeddings.latents"] = tensors["extra"].slice(0, 0, 3).contiguous();
    tensors.erase("perceiver.input_preprocessor.embeddings.weight");
    write_safetensors(weights, {tensors.begin(), tensors.end()});
  }

  static constexpr const char* kGolden = "tests/golden/huggingface/text-classifier";
  const fs::path folder =
      fs::path(testing::TempDir()) / ("cli_inspect_" + std::to_string(getpid()));
  const fs::path weights = folder / "model.safetensors";
};

TEST_F(CliInspect, SaysThatTheWeightsAreAllThere) {
  const Result result = run("inspect " + folder.string());
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(result.out.ends_with("\nweights: 74 tensors, float16, 58.7 KiB, all there\n"))
      << result.out;
  const Json json = Json::parse(run("inspect --json " + folder.string()).out)["weights"];
  EXPECT_EQ(json, (Json{{"source", weights.string()},
                        {"tensors", 74},
                        {"dtypes", {{"float16", 74}}},
                        {"bytes", 60'102},
                        {"missing", Json::array()},
                        {"superfluous", Json::array()},
                        {"wrong_shapes", Json::array()}}));
}

TEST_F(CliInspect, ReadsDeepMindsCheckpoints) {
  const Result result = run("inspect tests/golden/deepmind/language");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find(", float32, "), std::string::npos) << result.out;
  EXPECT_TRUE(result.out.ends_with(", all there\n")) << result.out;
}

// Nothing of the environment's models: the weights are not here, and there may be no GPU.
const std::string kNoModels = "PERCEIVER_MODELS= HF_HUB_CACHE=/nowhere";

TEST_F(CliInspect, AReleasedModelIsKnownWithoutItsWeights) {
  const std::string flow = "inspect deepmind/optical-flow-perceiver --dtype bfloat16 --device ";
  const Result result = run(flow + "h200", kNoModels);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("device   an H200, assumed: sm_90, 132 multiprocessors, "))
      << result.out;
  EXPECT_NE(result.out.find("\nweights: not on this machine; save config.json and "
                            "pytorch_model.bin (or model.safetensors) of "
                            "https://huggingface.co/deepmind/optical-flow-perceiver in a folder"),
            std::string::npos)
      << result.out;
  const Json json = Json::parse(run(flow + "cuda --json", kNoModels).out);
  EXPECT_EQ(json["weights_here"], false);
  EXPECT_EQ(json["parameters"], 41'057'134);
  EXPECT_EQ(json["origin"], "huggingface");
  std::map<std::string, std::string> kernels;
  for (const Json& part : json["parts"]) {
    if (part.contains("attention")) kernels[part["name"]] = part["attention"]["kernel"];
  }
  if (json["device"]["assumed"]) {
    EXPECT_EQ(kernels.at("encoder.cross_attend"), "wide");
    EXPECT_EQ(kernels.at("encoder.self_attend_0"), "narrow");
    EXPECT_EQ(kernels.at("decoder.cross_attend"), "wide");
  }
}

TEST_F(CliInspect, PlansForDevicesThatAreNotHere) {
  const auto encoder = [](const std::string& device) {
    const Json json = Json::parse(run("inspect --dtype bfloat16 --json " +
                                      config("flow_patches.toml") + " --device " + device)
                                      .out);
    EXPECT_TRUE(json["device"]["assumed"]);
    for (const Json& part : json["parts"]) {
      if (part["name"] == "encoder.cross_attend") return part["attention"];
    }
    return Json();
  };
  EXPECT_EQ(encoder("sm_80")["kernel"], "wide_blocks");
  EXPECT_EQ(encoder("a100")["refusals"],
            Json::array({"wide: needs a GPU of compute capability 9.0"}));
  EXPECT_EQ(encoder("h100")["form"], "keys absorbed");
  EXPECT_EQ(encoder("amx")["kernel"], "streamed");
  EXPECT_EQ(encoder("avx2")["form"], "module");  // it has no arithmetic of bfloat16
  EXPECT_EQ(encoder("avx2")["kernel"], "tiled");
}

TEST_F(CliInspect, AConfigHasNoWeights) {
  const Json json = Json::parse(run("inspect --json " + config("flow_patches.toml")).out);
  EXPECT_FALSE(json.contains("weights"));
}

TEST_F(CliInspect, ListsWhatIsMissingAndWhatIsSuperfluousAndFails) {
  spoil();
  const std::string complaint = "perceiver: " + weights.string() +
                                ": not this model's weights: 1 missing, 1 superfluous, 1 of "
                                "another shape\n";
  const Result result = run("inspect " + folder.string());
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err, complaint);
  EXPECT_TRUE(result.out.ends_with(
      "\n"
      "  tensor 'perceiver.embeddings.latents' has shape [3, 32], expected [8, 32]\n"
      "  tensor 'perceiver.input_preprocessor.embeddings.weight' is missing\n"
      "  tensor 'extra' is not one of this model's\n"))
      << result.out;
  const Result machine = run("inspect --json " + folder.string());
  EXPECT_EQ(machine.code, 1);
  EXPECT_EQ(machine.err, complaint);
  const Json json = Json::parse(machine.out)["weights"];
  EXPECT_EQ(json["missing"], Json::array({"perceiver.input_preprocessor.embeddings.weight"}));
  EXPECT_EQ(json["superfluous"], Json::array({"extra"}));
  EXPECT_EQ(json["wrong_shapes"], Json::array({{{"tensor", "perceiver.embeddings.latents"},
                                                {"shape", {3, 32}},
                                                {"expected", {8, 32}}}}));
}

TEST_F(CliInspect, ABrokenOrHostileFileIsOneLine) {
  const std::string model = folder.string(), file = weights.string();
  fs::resize_file(weights, fs::file_size(weights) - 4);
  const Result cut = run("inspect " + model);
  EXPECT_EQ(cut.code, 1);
  EXPECT_EQ(cut.out, "");
  EXPECT_TRUE(cut.err.starts_with("perceiver: " + file + ": tensor '")) << cut.err;
  EXPECT_EQ(cut.err.find('\n'), cut.err.size() - 1) << cut.err;

  fs::resize_file(weights, 0);
  expect_complaint("inspect " + model, file + ": 0 bytes, too few for the 8 of a header's length");
  fs::remove(weights);
  ASSERT_EQ(mkfifo(weights.c_str(), 0600), 0);  // waits for ever if it is opened as a file is
  expect_complaint("inspect " + model, file + ": is not a plain file");
  fs::remove(weights);
  fs::create_symlink("model.safetensors", weights);
  expect_complaint("inspect " + model, file + ": cannot open: Too many levels of symbolic links");
  fs::remove(weights);
  expect_complaint("inspect " + model, model +
                                           ": no weights; looked for model.safetensors, "
                                           "model.safetensors.index.json, pytorch_model.bin, "
                                           "pytorch_model.bin.index.json");
  const fs::path config = folder / "config.json";
  fs::remove(config);
  ASSERT_EQ(mkfifo(config.c_str(), 0600), 0);
  expect_complaint("inspect " + model, config.string() + ": is not a plain file");
}

}  // namespace
}  // namespace perceiver
