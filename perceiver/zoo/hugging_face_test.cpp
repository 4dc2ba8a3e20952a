#include "perceiver/zoo/hugging_face.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "perceiver/core/error_test.h"
#include "perceiver/nn/init.h"
#include "perceiver/nn/layers.h"
#include "perceiver/tasks/task.h"
#include "perceiver/weights/safetensors.h"
#include "perceiver/zoo/model.h"
#include "perceiver/zoo/names.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string error_of_json(const std::string& text) {
  return error_of([&] { settings_of_config_json({"config.json", text}); });
}

TEST(ConfigJson, MistakesAreOneLineEach) {
  EXPECT_TRUE(error_of_json("{").starts_with("config.json: not JSON: "));
  EXPECT_EQ(error_of_json("[]"), "config.json: must be a JSON object");
  EXPECT_EQ(error_of_json("{}"), "config.json: 'model_type' must be \"perceiver\", got \"\"");
  EXPECT_EQ(error_of_json(R"({"model_type": "bert"})"),
            "config.json: 'model_type' must be \"perceiver\", got \"bert\"");
  EXPECT_EQ(error_of_json(R"({"model_type": "perceiver"})"),
            "config.json: 'architectures' must name the model's class");
  EXPECT_EQ(error_of_json(R"({"model_type": "perceiver", "architectures": ["PerceiverModel"]})"),
            "config.json: unknown architecture 'PerceiverModel'; expected one of transformers' "
            "PerceiverFor… classes");
  const std::string start =
      R"({"model_type": "perceiver", "architectures": ["PerceiverForMaskedLM"], )";
  EXPECT_EQ(error_of_json(start + R"("num_latents": -3})"),
            "config.json: 'num_latents' must be an integer from 1 to 16777216, got -3");
  EXPECT_EQ(error_of_json(start + R"("num_latents": 1e300})"),
            "config.json: 'num_latents' must be an integer from 1 to 16777216, got 1e+300");
  EXPECT_EQ(error_of_json(start + R"("hidden_act": "relu"})"),
            "config.json: 'hidden_act' must be \"gelu\", \"gelu_pytorch_tanh\" or \"gelu_new\", "
            "got \"relu\"");
  EXPECT_EQ(error_of_json(std::string(100'000, '[')), "config.json: nested deeper than 32 levels");
}

TEST(ConfigJson, OlderAndNewerSpellingsGiveTheSameModel) {
  // Older versions leave out output_num_channels and write torch_dtype.
  const char* older = R"({"model_type": "perceiver", "torch_dtype": "float32",
      "architectures": ["PerceiverForMultimodalAutoencoding"], "num_labels": 700})";
  const char* newer = R"({"model_type": "perceiver", "dtype": "float32", "output_num_channels": 512,
      "_label_trainable_num_channels": 1024,
      "architectures": ["PerceiverForMultimodalAutoencoding"], "num_labels": 700})";
  EXPECT_EQ(settings_of_config_json({"config.json", older}),
            settings_of_config_json({"config.json", newer}));
}

// The released config.json files' values, and the tensors transformers' own classes then have.
struct Released {
  const char* architecture;
  const char* values;
  int64_t parameters;
};
const Released kReleased[] = {
    {"PerceiverForMaskedLM", R"({"qk_channels": 256, "v_channels": 1280})", 201'108'230},
    {"PerceiverForImageClassificationLearned",
     R"({"num_latents": 512, "d_latents": 1024, "d_model": 512, "num_blocks": 8,
         "num_self_attends_per_block": 6, "num_cross_attention_heads": 1, "num_labels": 1000,
         "image_size": 224})",
     62'255'848},
    {"PerceiverForImageClassificationFourier",
     R"({"num_latents": 512, "d_latents": 1024, "d_model": 261, "num_blocks": 8,
         "num_self_attends_per_block": 6, "num_cross_attention_heads": 1, "num_labels": 1000})",
     48'440'627},
    {"PerceiverForImageClassificationConvProcessing",
     R"({"num_latents": 512, "d_latents": 1024, "d_model": 322, "num_blocks": 8,
         "num_self_attends_per_block": 6, "num_cross_attention_heads": 1, "num_labels": 1000})",
     48'646'522},
    {"PerceiverForOpticalFlow",
     R"({"num_latents": 2048, "d_latents": 512, "d_model": 322, "num_self_attends_per_block": 24,
         "num_self_attention_heads": 16, "num_cross_attention_heads": 1})",
     41'057'134},
    {"PerceiverForMultimodalAutoencoding",
     R"({"num_latents": 784, "d_latents": 512, "d_model": 704, "num_self_attends_per_block": 8,
         "num_cross_attention_heads": 1, "num_labels": 700})",
     19'858'855},
};

TEST(ConfigJson, ReleasedModelsHaveTheReleasedParametersAndComeBackAsThemselves) {
  for (const Released& released : kReleased) {
    Json json = Json::parse(released.values);
    json["model_type"] = "perceiver";
    json["architectures"] = {released.architecture};
    const auto settings =
        read_settings({"settings", settings_of_config_json({"config.json", json.dump()})});
    const ConstructScope scope(Construct::kWithoutMemory);
    const auto task = settings->make();
    EXPECT_EQ(num_parameters(task->model()), released.parameters) << released.architecture;

    const std::string back =
        config_json_of_settings(*settings, {.reference = Reference::kHuggingFace});
    EXPECT_EQ(transformers_class(*settings), released.architecture);
    const Json written = Json::parse(back);
    EXPECT_EQ(written["architectures"][0], released.architecture);
    EXPECT_EQ(settings_of_config_json({"config.json", back}), settings->model_text());
    for (const auto& [key, value] : json.items()) {
      if (key == "num_labels") continue;  // written as the labels themselves
      EXPECT_EQ(written[key], value) << released.architecture << key;
    }
  }
}

TEST(ConfigJson, AModelThatTransformersCannotExpressIsOurs) {
  const auto architecture = [](const std::string& text) {
    const auto settings = read_settings({"settings", text});
    EXPECT_EQ(transformers_class(*settings), "") << text;
    const std::string json =
        config_json_of_settings(*settings, {.reference = Reference::kDeepMind});
    return Json::parse(json)["architectures"][0].get<std::string>();
  };
  EXPECT_EQ(architecture("task = \"optical_flow\"\nmodel.patch = \"conv\""),
            "perceiver:optical_flow");
  EXPECT_EQ(architecture("task = \"imagenet\"\nmodel.input = \"patches\""), "perceiver:imagenet");
}

TEST(ConfigJson, TheSizeOfPatchesThatAModelDoesNotHaveIsNoObstacle) {
  const Json json = {{"model_type", "perceiver"},
                     {"architectures", {"PerceiverForImageClassificationFourier"}}};
  std::string settings = settings_of_config_json({"config.json", json.dump()});
  const std::string size = "patch_size = 4";
  ASSERT_NE(settings.find(size), settings.npos) << settings;
  settings.replace(settings.find(size), size.size(), "patch_size = 8");
  EXPECT_EQ(transformers_class(*read_settings({"settings", settings})),
            "PerceiverForImageClassificationFourier");
}

TEST(LoadModel, AConfigThatClaimsMoreThanTheWeightsIsRefusedBeforeAnythingIsAllocated) {
  const fs::path folder = fs::path(testing::TempDir()) / "perceiver_greedy_folder";
  fs::remove_all(folder);
  fs::create_directories(folder);
  fs::copy_file("tests/golden/huggingface/text-classifier/model.safetensors",
                folder / "model.safetensors");
  Json json = Json::parse(read_file("tests/golden/huggingface/text-classifier/config.json").bytes);
  const auto error_with = [&](const char* key, int64_t value) {
    Json greedy = json;
    greedy[key] = value;
    write_file(folder / "config.json", greedy.dump());
    return error_of([&] { load_model(folder); });
  };
  const std::string file = (folder / "model.safetensors").string();
  EXPECT_EQ(error_with("num_latents", 10'000'000),
            file +
                ": tensor 'perceiver.embeddings.latents' has shape [8, 32], expected "
                "[10000000, 32]");
  EXPECT_EQ(error_with("num_self_attends_per_block", 10'000'000),
            (folder / "config.json").string() +
                ": 10000000 self-attends a block, more than the file has tensors (74)");
  fs::remove_all(folder);
}

// The text of the settings, once and for all. Every format that holds weights, and a config.
TEST(LoadModel, ParsesTheSettingsOnce) {
  for (const std::string& path :
       {std::string("tests/golden/huggingface/language"),
        std::string("tests/golden/deepmind/language"),
        std::string("tests/golden/huggingface/text-classifier"),
        shipped("models/image-mini").string(), shipped("configs/flow_mini.toml").string()}) {
    const int64_t before = num_parsed_configs();
    const Model model = load_model(path, Reference::kHuggingFace);
    EXPECT_EQ(num_parsed_configs() - before, 1) << path;
    save_model(model, fs::path(testing::TempDir()) / "perceiver_parsed_once", at::kFloat);
    EXPECT_EQ(num_parsed_configs() - before, 1) << path;
  }
  fs::remove_all(fs::path(testing::TempDir()) / "perceiver_parsed_once");
}

TEST(LoadModel, NamesOfTheClassesComeAlong) {
  const fs::path folder = fs::path(testing::TempDir()) / "perceiver_labels";
  fs::remove_all(folder);
  Model model = load_model("tests/golden/huggingface/text-classifier");
  ASSERT_EQ(model.labels, (std::vector<std::string>{"LABEL_0", "LABEL_1", "LABEL_2"}));
  model.labels = {"bad", "so so", "good"};
  save_model(model, folder, at::kFloat);
  EXPECT_EQ(load_model(folder).labels, model.labels);
  fs::remove_all(folder);
}

TEST(LoadModel, MistakesInAFolderAreOneLineEach) {
  const fs::path folder = fs::path(testing::TempDir()) / "perceiver_broken_folder";
  fs::remove_all(folder);
  fs::create_directories(folder);
  EXPECT_EQ(error_of([&] { load_model(folder / "nope"); }),
            (folder / "nope").string() + ": no such file or folder");
  EXPECT_EQ(error_of([&] { load_model(folder); }),
            (folder / "config.json").string() + ": cannot open: No such file or directory");

  fs::copy_file("tests/golden/huggingface/text-classifier/config.json", folder / "config.json");
  TensorMap tensors =
      read_safetensors("tests/golden/huggingface/text-classifier/model.safetensors").tensors;
  const auto write = [&] {
    write_safetensors(folder / "model.safetensors", {tensors.begin(), tensors.end()});
  };
  const std::string file = (folder / "model.safetensors").string();
  tensors["extra"] = at::zeros({1});
  write();
  EXPECT_EQ(error_of([&] { load_model(folder); }),
            file + ": tensor 'extra' is not one of this model's");
  tensors.erase("extra");
  tensors["perceiver.embeddings.latents"] = at::zeros({3, 32});
  write();
  EXPECT_EQ(error_of([&] { load_model(folder); }),
            file + ": tensor 'perceiver.embeddings.latents' has shape [3, 32], expected [8, 32]");
  tensors.erase("perceiver.embeddings.latents");
  write();
  EXPECT_EQ(error_of([&] { load_model(folder); }),
            file + ": tensor 'perceiver.embeddings.latents' is missing");
  fs::remove_all(folder);
}

TEST(SaveModel, WhatNoReferenceHasIsKeptUnderOurOwnNames) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("ours_" + std::to_string(getpid()));
  for (const char* config : {"audioset_mini", "starcraft_mini"}) {
    const Model model = load_model(shipped("configs") / fmt::format("{}.toml", config));
    save_model(model, folder, at::kFloat);
    const Model back = load_model(folder);
    EXPECT_EQ(back.settings->model_text(), model.settings->model_text()) << config;
    const auto before = model.task->model().named_parameters();
    const auto after = back.task->model().named_parameters();
    ASSERT_EQ(before.size(), after.size());
    for (const auto& item : before) EXPECT_TRUE(after[item.key()].equal(item.value()));
    std::filesystem::remove_all(folder);
  }
}

}  // namespace
}  // namespace perceiver
