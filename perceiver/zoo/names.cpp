#include "perceiver/zoo/names.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <array>
#include <span>
#include <string_view>

namespace perceiver {
namespace {

struct Pair {
  std::string_view ours, theirs;
  Layout layout = Layout::kSame;
  bool state = false, optional = false;
};

const Pair* find(std::span<const Pair> pairs, std::string_view ours) {
  for (const Pair& pair : pairs) {
    if (pair.ours == ours) return &pair;
  }
  return nullptr;
}

// "encoder.self_attend_3.mlp.widen.weight" -> where, number, "mlp.widen", "weight"
struct AttendName {
  enum class Where { kEncode, kProcess, kDecode } where;
  int64_t number = 0;
  std::string part, tensor;
};

std::optional<AttendName> parse_attend(std::string_view ours) {
  AttendName name;
  const auto take = [&](std::string_view prefix) {
    if (!ours.starts_with(prefix)) return false;
    ours.remove_prefix(prefix.size());
    return true;
  };
  if (take("encoder.cross_attend.")) {
    name.where = AttendName::Where::kEncode;
  } else if (take("decoder.cross_attend.")) {
    name.where = AttendName::Where::kDecode;
  } else if (take("encoder.self_attend_")) {
    name.where = AttendName::Where::kProcess;
    const size_t dot = ours.find('.');
    name.number = std::stoll(std::string(ours.substr(0, dot)));
    ours.remove_prefix(dot + 1);
  } else {
    return {};
  }
  const size_t dot = ours.rfind('.');
  name.part = ours.substr(0, dot);
  name.tensor = ours.substr(dot + 1);
  return name;
}

// Flow and multimodal keep encoder and decoder in a module of their own.
std::string_view without_perceiver(std::string_view ours) {
  constexpr std::string_view kPrefix = "perceiver.";
  return ours.starts_with(kPrefix) ? ours.substr(kPrefix.size()) : ours;
}

// Hugging Face
// -------------------------------------------------------------------------------------

constexpr Pair kHuggingFaceAttend[] = {{"norm_q", "attention.self.layernorm1"},
                                       {"norm_kv", "attention.self.layernorm2"},
                                       {"norm", "attention.self.layernorm1"},
                                       {"norm_mlp", "layernorm"},
                                       {"attention.q", "attention.self.query"},
                                       {"attention.k", "attention.self.key"},
                                       {"attention.v", "attention.self.value"},
                                       {"attention.o", "attention.output.dense"},
                                       {"mlp.widen", "mlp.dense1"},
                                       {"mlp.narrow", "mlp.dense2"}};

constexpr Pair kHuggingFaceLanguage[] = {
    {"encoder.latents", "perceiver.embeddings.latents"},
    {"input.token.weight", "perceiver.input_preprocessor.embeddings.weight"},
    {"input.position.weight", "perceiver.input_preprocessor.position_embeddings.weight"},
    {"query.queries", "perceiver.decoder.output_position_encodings.position_embeddings"},
    {"bias", "embedding_decoder.bias"}};

constexpr Pair kHuggingFaceOthers[] = {
    {"encoder.latents", "perceiver.embeddings.latents"},
    {"decoder.output.weight", "perceiver.decoder.decoder.final_layer.weight"},
    {"decoder.output.bias", "perceiver.decoder.decoder.final_layer.bias"},
    {"query.queries", "perceiver.decoder.decoder.output_position_encodings.position_embeddings"},
    // text
    {"input.token.weight", "perceiver.input_preprocessor.embeddings.weight"},
    {"input.position.weight", "perceiver.input_preprocessor.position_embeddings.weight"},
    // images
    {"content.weight", "perceiver.input_preprocessor.convnet_1x1.weight", Layout::kPointwise},
    {"content.bias", "perceiver.input_preprocessor.convnet_1x1.bias"},
    {"positions.weight", "perceiver.input_preprocessor.position_embeddings.position_embeddings"},
    {"position_projection.weight", "perceiver.input_preprocessor.positions_projection.weight"},
    {"position_projection.bias", "perceiver.input_preprocessor.positions_projection.bias"},
    {"conv_stage.conv.weight", "perceiver.input_preprocessor.convnet.conv.weight"},
    {"conv_stage.norm.weight", "perceiver.input_preprocessor.convnet.batchnorm.weight"},
    {"conv_stage.norm.bias", "perceiver.input_preprocessor.convnet.batchnorm.bias"},
    {"conv_stage.norm.running_mean", "perceiver.input_preprocessor.convnet.batchnorm.running_mean"},
    {"conv_stage.norm.running_var", "perceiver.input_preprocessor.convnet.batchnorm.running_var"},
    {"conv_stage.norm.num_batches",
     "perceiver.input_preprocessor.convnet.batchnorm.num_batches_tracked", Layout::kSame,
     /*state=*/false, /*optional=*/true},
    // flow
    {"patch.weight", "perceiver.input_preprocessor.conv_after_patches.weight"},
    {"patch.bias", "perceiver.input_preprocessor.conv_after_patches.bias"},
    // multimodal
    {"label_query.queries",
     "perceiver.decoder.modalities.label.decoder.output_position_encodings.position_embeddings"}};

// Families of tensors, one for each modality.
constexpr Pair kHuggingFaceModalities[] = {
    {"input_padding.", "perceiver.input_preprocessor.padding.", Layout::kRow},
    {"input_mask.", "perceiver.input_preprocessor.mask.", Layout::kRow},
    {"query_padding.", "perceiver.decoder.padding.", Layout::kRow}};

// haiku
// --------------------------------------------------------------------------------------------

// norm_q, norm_kv and norm_mlp are numbered in the order of their making, as are linear layers.
constexpr Pair kHaikuAttend[] = {{"norm_q", "layer_norm"},
                                 {"norm_kv", "layer_norm_1"},
                                 {"norm", "layer_norm"},
                                 {"attention.q", "attention/linear"},
                                 {"attention.k", "attention/linear_1"},
                                 {"attention.v", "attention/linear_2"},
                                 {"attention.o", "attention/linear_3"},
                                 {"mlp.widen", "mlp/linear"},
                                 {"mlp.narrow", "mlp/linear_1"}};

constexpr Pair kHaikuLanguage[] = {
    {"input.token.weight", "embed:embeddings"},
    {"input.position.weight", "trainable_position_encoding:pos_embs"},
    {"query.queries", "basic_decoder/~/trainable_position_encoding:pos_embs"},
    {"bias", "embedding_decoder:bias"}};

constexpr Pair kHaikuImage[] = {
    {"content.weight", "image_preprocessor/~/conv2_d:w", Layout::kPointwiseHwio},
    {"content.bias", "image_preprocessor/~/conv2_d:b"},
    {"positions.weight",
     "image_preprocessor/~_build_network_inputs/trainable_position_encoding:pos_embs"},
    {"position_projection.weight",
     "image_preprocessor/~_build_network_inputs/position_encoding_projector/linear:w",
     Layout::kTransposed},
    {"position_projection.bias",
     "image_preprocessor/~_build_network_inputs/position_encoding_projector/linear:b"},
    {"conv_stage.conv.weight", "image_preprocessor/~/conv2_d_downsample/~/conv:w", Layout::kHwio},
    {"conv_stage.norm.weight", "image_preprocessor/~/conv2_d_downsample/~/batchnorm:scale",
     Layout::kChannelsLast},
    {"conv_stage.norm.bias", "image_preprocessor/~/conv2_d_downsample/~/batchnorm:offset",
     Layout::kChannelsLast},
    {"conv_stage.norm.running_mean",
     "image_preprocessor/~/conv2_d_downsample/~/batchnorm/~/mean_ema:average",
     Layout::kChannelsLast, /*state=*/true},
    {"conv_stage.norm.running_var",
     "image_preprocessor/~/conv2_d_downsample/~/batchnorm/~/var_ema:average", Layout::kChannelsLast,
     /*state=*/true},
    {"conv_stage.norm.num_batches",
     "image_preprocessor/~/conv2_d_downsample/~/batchnorm/~/mean_ema:counter", Layout::kSame,
     /*state=*/true, /*optional=*/true},
    {"query.queries",
     "classification_decoder/~/basic_decoder/~/trainable_position_encoding:pos_embs"},
    {"decoder.output.weight", "classification_decoder/~/basic_decoder/output:w",
     Layout::kTransposed},
    {"decoder.output.bias", "classification_decoder/~/basic_decoder/output:b"}};

constexpr Pair kHaikuFlow[] = {
    {"patch.weight", "image_preprocessor/patches_linear:w", Layout::kTransposed},
    {"patch.bias", "image_preprocessor/patches_linear:b"},
    {"decoder.output.weight", "flow_decoder/~/basic_decoder/output:w", Layout::kTransposed},
    {"decoder.output.bias", "flow_decoder/~/basic_decoder/output:b"}};

constexpr Pair kHaikuMultimodal[] = {
    {"label_query.queries",
     "classification_decoder/~/basic_decoder/~/trainable_position_encoding:pos_embs"},
    {"decoder.output.weight", "multimodal_decoder/~/basic_decoder/output:w", Layout::kTransposed},
    {"decoder.output.bias", "multimodal_decoder/~/basic_decoder/output:b"},
    {"head_audio.weight", "audio_postprocessor/linear:w", Layout::kTransposed},
    {"head_audio.bias", "audio_postprocessor/linear:b"},
    {"head_image.weight", "projection_postprocessor/linear:w", Layout::kTransposed},
    {"head_image.bias", "projection_postprocessor/linear:b"},
    {"head_label.weight", "classification_postprocessor/linear:w", Layout::kTransposed},
    {"head_label.bias", "classification_postprocessor/linear:b"}};

struct HaikuTask {
  std::string_view task, encoder, decoder;
  std::span<const Pair> pairs;
};
const HaikuTask kHaikuTasks[] = {
    {"language", "perceiver_encoder", "basic_decoder", kHaikuLanguage},
    {"imagenet", "perceiver_encoder", "classification_decoder/~/basic_decoder", kHaikuImage},
    {"optical_flow", "perceiver_encoder", "flow_decoder/~/basic_decoder", kHaikuFlow},
    {"multimodal", "encoder", "multimodal_decoder/~/basic_decoder", kHaikuMultimodal}};

ForeignName haiku_attend(const AttendName& name, const HaikuTask& task) {
  const bool norm = name.part.starts_with("norm");
  std::string module;
  if (name.where == AttendName::Where::kDecode) {
    module = fmt::format("{}/cross_attention/", task.decoder);
  } else if (name.where == AttendName::Where::kEncode) {
    module = fmt::format("{}/~/cross_attention/", task.encoder);
  } else {
    module = fmt::format("{}/~/self_attention{}/", task.encoder,
                         name.number == 0 ? "" : fmt::format("_{}", name.number));
  }
  if (name.part == "norm_mlp") {  // a self-attend has one norm before it, a cross-attend two
    module += name.where == AttendName::Where::kProcess ? "layer_norm_1" : "layer_norm_2";
  } else {
    module += find(kHaikuAttend, name.part)->theirs;
  }
  const bool weight = name.tensor == "weight";
  const std::string_view parameter = norm ? (weight ? "scale" : "offset") : (weight ? "w" : "b");
  return {fmt::format("{}:{}", module, parameter),
          weight && !norm ? Layout::kTransposed : Layout::kSame};
}

}  // namespace

Tensor from_layout(const Tensor& t, Layout layout) {
  switch (layout) {
    case Layout::kSame:
      return t;
    case Layout::kTransposed:
      return t.dim() == 2 ? t.t() : t;
    case Layout::kRow:
      return t.dim() == 2 && t.size(0) == 1 ? t.squeeze(0) : t;
    case Layout::kPointwise:
      return t.dim() == 4 && t.size(2) == 1 && t.size(3) == 1 ? t.flatten(1) : t;
    case Layout::kPointwiseHwio:
      return t.dim() == 4 && t.size(0) == 1 && t.size(1) == 1 ? t.flatten(0, 2).t() : t;
    case Layout::kHwio:
      return t.dim() == 4 ? t.permute({3, 2, 0, 1}) : t;
    case Layout::kReversed:
      return t.dim() == 4 ? t.permute({3, 2, 1, 0}) : t;
    case Layout::kSwappedKernel:
      return t.dim() == 4 ? t.transpose(2, 3) : t;
    case Layout::kChannelsLast:
      return t.dim() == 4 && t.numel() == t.size(3) ? t.flatten() : t;
  }
  return t;
}

Tensor to_layout(const Tensor& t, Layout layout) {
  switch (layout) {
    case Layout::kSame:
      return t;
    case Layout::kTransposed:
      return t.t();
    case Layout::kRow:
      return t.unsqueeze(0);
    case Layout::kPointwise:
      return t.unsqueeze(-1).unsqueeze(-1);
    case Layout::kPointwiseHwio:
      return t.t().unsqueeze(0).unsqueeze(0);
    case Layout::kHwio:
      return t.permute({2, 3, 1, 0});
    case Layout::kReversed:
      return t.permute({3, 2, 1, 0});
    case Layout::kSwappedKernel:
      return t.transpose(2, 3);
    case Layout::kChannelsLast:
      return t.view({1, 1, 1, -1});
  }
  return t;
}

std::optional<ForeignName> hugging_face_name(const std::string& task, const std::string& ours,
                                             bool deepmind_kernel) {
  const std::string_view name = without_perceiver(ours);
  if (const auto attend = parse_attend(name)) {
    const Pair* part = find(kHuggingFaceAttend, attend->part);
    if (part == nullptr) return {};
    std::string module = "perceiver.encoder.cross_attention";
    if (attend->where == AttendName::Where::kProcess) {
      module = fmt::format("perceiver.encoder.self_attends.{}", attend->number);
    } else if (attend->where == AttendName::Where::kDecode) {
      module = task == "language" ? "perceiver.decoder.decoding_cross_attention"
                                  : "perceiver.decoder.decoder.decoding_cross_attention";
    }
    return ForeignName{fmt::format("{}.{}.{}", module, part->theirs, attend->tensor)};
  }
  if (name.starts_with("head_")) {
    const size_t dot = name.find('.');
    return ForeignName{fmt::format("perceiver.output_postprocessor.modalities.{}.classifier{}",
                                   name.substr(5, dot - 5), name.substr(dot))};
  }
  for (const Pair& family : kHuggingFaceModalities) {
    if (!name.starts_with(family.ours)) continue;
    return ForeignName{fmt::format("{}{}", family.theirs, name.substr(family.ours.size())),
                       family.layout};
  }
  const Pair* pair =
      task == "language" ? find(kHuggingFaceLanguage, name) : find(kHuggingFaceOthers, name);
  if (pair == nullptr) return {};
  const bool swap = deepmind_kernel && name == "conv_stage.conv.weight";
  return ForeignName{std::string(pair->theirs), swap ? Layout::kSwappedKernel : pair->layout,
                     pair->state, pair->optional};
}

std::optional<ForeignName> haiku_name(const std::string& task, const std::string& ours,
                                      bool deepmind_kernel) {
  const std::string_view name = without_perceiver(ours);
  for (const HaikuTask& entry : kHaikuTasks) {
    if (entry.task != task) continue;
    if (name == "encoder.latents") {
      return ForeignName{fmt::format("{}/~/trainable_position_encoding:pos_embs", entry.encoder)};
    }
    if (const auto attend = parse_attend(name)) return haiku_attend(*attend, entry);
    for (const auto& [prefix, module, suffix] :
         {std::array<std::string_view, 3>{"input_padding.", "multimodal_preprocessor/", "_padding"},
          {"input_mask.", "multimodal_preprocessor/", "_mask_token"},
          {"query_padding.", "multimodal_decoder/~decoder_query/", "_padding"}}) {
      if (!name.starts_with(prefix)) continue;
      return ForeignName{fmt::format("{}{}{}:pos_embs", module, name.substr(prefix.size()), suffix),
                         Layout::kRow};
    }
    const Pair* pair = find(entry.pairs, name);
    if (pair == nullptr) return {};
    const bool swap = !deepmind_kernel && pair->layout == Layout::kHwio;
    return ForeignName{std::string(pair->theirs), swap ? Layout::kReversed : pair->layout,
                       pair->state, pair->optional};
  }
  return {};
}

}  // namespace perceiver
