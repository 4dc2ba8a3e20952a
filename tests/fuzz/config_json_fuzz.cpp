// Any bytes as a config.json: settings that can be read, or an Error, never anything else.
#include "perceiver/core/error.h"
#include "perceiver/tasks/imagenet/model.h"
#include "perceiver/tasks/language/classifier.h"
#include "perceiver/tasks/language/model.h"
#include "perceiver/tasks/multimodal/model.h"
#include "perceiver/tasks/optical_flow/model.h"
#include "perceiver/zoo/hugging_face.h"

// The registry's, which takes every task along.
std::string perceiver::trained_tasks() { return "other tasks"; }

namespace {

using namespace perceiver;

// Settings of our own may be of other tasks, whose structs this program does not have.
void read(const File& settings) {
  const auto as = [&]<typename ModelConfig>(std::type_identity<ModelConfig>) {
    read_config<ModelOnly<ModelConfig>>(settings);
  };
  const std::string task = ConfigReader(settings, {}).peek("task");
  if (task == "language") as(std::type_identity<LanguageConfig>{});
  if (task == "text_classifier") as(std::type_identity<TextClassifierConfig>{});
  if (task == "imagenet") as(std::type_identity<ImageNetConfig>{});
  if (task == "optical_flow") as(std::type_identity<OpticalFlowConfig>{});
  if (task == "multimodal") as(std::type_identity<MultimodalConfig>{});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const File json{"x", std::string(reinterpret_cast<const char*>(data), size)};
  try {
    reference_of_config_json(json);
    labels_of_config_json(json);
    read({"x", settings_of_config_json(json)});
  } catch (const Error&) {
  }
  return 0;
}
