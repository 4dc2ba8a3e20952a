#include "perceiver/zoo/deepmind.h"

#include <nlohmann/json.hpp>

#include "perceiver/tasks/imagenet/model.h"
#include "perceiver/tasks/language/model.h"
#include "perceiver/tasks/multimodal/model.h"
#include "perceiver/tasks/optical_flow/model.h"
#include "perceiver/zoo/json_keys.h"
#include "perceiver/zoo/settings.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

using Json = nlohmann::json;

// Sizes of a checkpoint's tensors, and the few settings that only a config.json can tell.
class Checkpoint {
 public:
  Checkpoint(const HaikuModules& modules, const std::string& name,
             const std::optional<File>& config)
      : modules_(modules), name_(name) {
    if (!config) return;
    try {
      config_ = Json::parse(config->bytes);
    } catch (const Json::exception& e) {
      fail("{}: not JSON: {}", config->name, e.what());
    }
    config_name_ = config->name;
  }

  bool has(const std::string& module) const { return modules_.contains(module); }

  int64_t size(const std::string& module, const char* parameter, int64_t dim) const {
    const auto found = modules_.find(module);
    if (found == modules_.end() || !found->second.contains(parameter)) {
      fail("{}: '{}' of module '{}' is missing", name_, parameter, module);
    }
    const Tensor& t = found->second.at(parameter);
    if (t.dim() <= dim) {
      fail("{}: '{}' of module '{}' has shape {}", name_, parameter, module, to_string(t.sizes()));
    }
    return t.size(dim);
  }

  // An integer at "a.b.c" of the config.json, or what the released model has.
  int64_t setting(const std::string& path, int64_t released) const {
    const Json* value = lookup(path);
    if (value == nullptr) return released;
    if (const std::optional<int64_t> count = count_of(*value)) return *count;
    fail("{}: '{}' must be an integer from 1 to {}", config_name_, path, kLargestCount);
  }

  bool setting(const std::string& path, bool released) const {
    const Json* value = lookup(path);
    if (value == nullptr) return released;
    if (!value->is_boolean()) fail("{}: '{}' must be true or false", config_name_, path);
    return value->get<bool>();
  }

  std::vector<int64_t> setting(const std::string& path, std::vector<int64_t> released) const {
    const Json* value = lookup(path);
    if (value == nullptr) return released;
    std::vector<int64_t> values;
    for (const Json& item : *value) {
      const std::optional<int64_t> count = count_of(item);
      if (!count || values.size() == released.size()) break;
      values.push_back(*count);
    }
    if (values.size() != released.size() || value->size() != released.size()) {
      fail("{}: '{}' must be {} integers from 1 to {}", config_name_, path, released.size(),
           kLargestCount);
    }
    return values;
  }

 private:
  const Json* lookup(std::string_view path) const {
    const Json* at = &config_;
    while (!path.empty()) {
      const size_t dot = std::min(path.find('.'), path.size());
      const std::string key(path.substr(0, dot));
      if (!at->is_object() || !at->contains(key)) return nullptr;
      at = &at->at(key);
      path.remove_prefix(std::min(dot + 1, path.size()));
    }
    return at;
  }

  const HaikuModules& modules_;
  std::string name_, config_name_;
  Json config_;
};

// Channels of an attention's projections are those of its tensors.
AttendConfig attend_of(const Checkpoint& c, const std::string& module, int64_t num_heads) {
  const int64_t out = c.size(module + "/attention/linear_3", "w", 1);
  return {.num_heads = num_heads,
          .qk_channels = c.size(module + "/attention/linear", "w", 1),
          .v_channels = c.size(module + "/attention/linear_2", "w", 1),
          .widening_factor = c.size(module + "/mlp/linear", "w", 1) / std::max<int64_t>(out, 1)};
}

struct Released {
  int64_t num_blocks, self_heads, cross_heads;
};

EncoderConfig encoder_of(const Checkpoint& c, const std::string& encoder,
                         const Released& released) {
  const std::string latents = encoder + "/~/trainable_position_encoding";
  EncoderConfig e{.num_latents = c.size(latents, "pos_embs", 0),
                  .latent_channels = c.size(latents, "pos_embs", 1),
                  .num_blocks = c.setting("encoder.num_blocks", released.num_blocks),
                  .self_attends_per_block = 0,
                  .cross_attend = {},
                  .self_attend = {}};
  e.cross_attend = attend_of(c, encoder + "/~/cross_attention",
                             c.setting("encoder.num_cross_attend_heads", released.cross_heads));
  e.cross_attend.query_residual = c.setting("encoder.use_query_residual", true);
  e.self_attend = attend_of(c, encoder + "/~/self_attention",
                            c.setting("encoder.num_self_attend_heads", released.self_heads));
  const auto layer = [&](int64_t i) {
    return fmt::format("{}/~/self_attention{}/attention/linear", encoder,
                       i == 0 ? "" : fmt::format("_{}", i));
  };
  while (c.has(layer(e.self_attends_per_block))) ++e.self_attends_per_block;
  return e;
}

LanguageConfig language_of(const Checkpoint& c) {
  const int64_t heads = c.setting("heads", int64_t{8});
  LanguageConfig m{.vocabulary_size = c.size("embed", "embeddings", 0),
                   .num_inputs = c.size("trainable_position_encoding", "pos_embs", 0),
                   .input_channels = c.size("embed", "embeddings", 1),
                   .encoder = encoder_of(c, "perceiver_encoder",
                                         {c.setting("blocks", int64_t{1}), heads, heads}),
                   .decoder = {}};
  m.decoder.cross_attend = attend_of(c, "basic_decoder/cross_attention", heads);
  m.decoder.cross_attend.query_residual = false;
  return m;
}

ImageNetConfig image_of(const Checkpoint& c) {
  ImageNetConfig m;
  const std::string decoder = "classification_decoder/~/basic_decoder";
  int64_t resolution = 224;
  if (c.has("image_preprocessor/~/conv2_d_downsample/~/conv")) {
    m.input = ImageInput::kConv;
    m.content_channels = c.size("image_preprocessor/~/conv2_d_downsample/~/conv", "w", 3);
    resolution = 56;
  } else if (c.has("image_preprocessor/~/conv2_d")) {
    const std::string positions = "image_preprocessor/~_build_network_inputs/";
    m.input = ImageInput::kLearned;
    m.content_channels = c.size("image_preprocessor/~/conv2_d", "w", 3);
    m.position_channels = c.size(positions + "trainable_position_encoding", "pos_embs", 1);
    m.image_size = static_cast<int64_t>(std::lround(std::sqrt(
        static_cast<double>(c.size(positions + "trainable_position_encoding", "pos_embs", 0)))));
  }
  const std::string fourier = "input_preprocessor.fourier_position_encoding_kwargs.";
  m.num_bands = c.setting(fourier + "num_bands", int64_t{64});
  m.max_resolution =
      c.setting(fourier + "max_resolution", std::vector<int64_t>{resolution, resolution})[0];
  m.num_classes = c.size(decoder + "/output", "w", 1);
  m.query_channels = c.size(decoder + "/~/trainable_position_encoding", "pos_embs", 1);
  m.encoder = encoder_of(c, "perceiver_encoder", {8, 8, 1});
  m.decoder.cross_attend = attend_of(c, decoder + "/cross_attention", 1);
  // The released model with learned positions has none.
  m.decoder.cross_attend.query_residual =
      c.setting("decoder.use_query_residual", m.input != ImageInput::kLearned);
  return m;
}

OpticalFlowConfig flow_of(const Checkpoint& c) {
  const std::vector<int64_t> size = c.setting("train_size", std::vector<int64_t>{368, 496});
  OpticalFlowConfig m;
  m.height = size[0];
  m.width = size[1];
  m.patch_channels = c.size("image_preprocessor/patches_linear", "w", 1);
  m.encoder = encoder_of(c, "perceiver_encoder", {1, 16, 1});
  m.decoder.cross_attend = attend_of(c, "flow_decoder/~/basic_decoder/cross_attention", 1);
  m.decoder.cross_attend.query_residual = false;
  return m;
}

MultimodalConfig multimodal_of(const Checkpoint& c) {
  MultimodalConfig m;
  m.num_frames = c.setting("frames", int64_t{16});
  m.image_size = c.setting("image_size", int64_t{224});
  m.samples_per_frame = c.setting("audio_samples_per_frame", int64_t{1920});
  m.samples_per_patch = c.size("audio_postprocessor/linear", "w", 1);
  m.num_classes = c.size("classification_postprocessor/linear", "w", 1);
  m.label_query_channels =
      c.size("classification_decoder/~/basic_decoder/~/trainable_position_encoding", "pos_embs", 1);
  m.output_channels = c.size("multimodal_decoder/~/basic_decoder/output", "w", 1);
  m.train_queries = fitting_train_queries(m);
  m.encoder = encoder_of(c, "encoder", {1, 8, 1});
  m.decoder.cross_attend = attend_of(c, "multimodal_decoder/~/basic_decoder/cross_attention", 1);
  m.decoder.cross_attend.query_residual = false;
  return m;
}

template <typename ModelConfig>
std::string written(const std::string& task, const ModelConfig& model) {
  return to_toml(ModelOnly<ModelConfig>{task, model});
}

}  // namespace

fs::path haiku_file(const fs::path& path) {
  if (!fs::is_directory(path)) return path;
  const fs::path inside = path / "checkpoint.pystate";
  // Not exists(): that throws for a link to itself.
  const bool ours = fs::exists(fs::symlink_status(path / "model.safetensors"));
  return fs::exists(fs::symlink_status(inside)) && !ours ? inside : fs::path();
}

std::string settings_of_haiku(const HaikuCheckpoint& checkpoint, const std::string& name,
                              const std::optional<File>& config_json) {
  const Checkpoint c(checkpoint.params, name, config_json);
  if (c.has("embed")) return written("language", language_of(c));
  if (c.has("image_preprocessor/patches_linear")) return written("optical_flow", flow_of(c));
  if (c.has("multimodal_decoder/~/basic_decoder/output")) {
    return written("multimodal", multimodal_of(c));
  }
  if (c.has("classification_decoder/~/basic_decoder/output"))
    return written("imagenet", image_of(c));
  fail(
      "{}: none of the released models has these modules (expected 'embed', "
      "'image_preprocessor/patches_linear', 'multimodal_decoder/…' or 'classification_decoder/…')",
      name);
}

}  // namespace perceiver
