#include "perceiver/tasks/multimodal/model.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/modalities/audio.h"
#include "perceiver/tasks/multimodal/clip.h"

namespace perceiver {
namespace {

constexpr int64_t kMinInputPadding = 4, kMinQueryPadding = 2;
constexpr int64_t kColours = 3;

// What the features' frequencies go up to stays when pixels are asked for instead of patches.
std::vector<int64_t> image_resolution(const MultimodalConfig& c, std::vector<int64_t> patches) {
  if (c.max_resolution.empty()) return patches;
  if (c.max_resolution.size() != 3) {
    fail("max_resolution must have 3 values, of time, height and width; got {}",
         c.max_resolution.size());
  }
  return c.max_resolution;
}

int64_t total(const ModalitySizes& sizes) {
  int64_t sum = 0;
  for (const auto& [name, size] : sizes) sum += size;
  return sum;
}

}  // namespace

SoundElements sound_of(const MultimodalConfig& c) {
  const int64_t rate = c.samples_per_frame * kFramesPerSecond;
  if (c.audio == AudioInput::kMel && c.mel.samples_per_second != rate) {
    fail("mel.samples_per_second ({}) must be {}, {} frames of samples_per_frame",
         c.mel.samples_per_second, rate, kFramesPerSecond);
  }
  return {.audio = c.audio,
          .num_samples = c.num_frames * c.samples_per_frame,
          .samples_per_patch = c.samples_per_patch,
          .mel = c.mel,
          .energies_per_element = c.energies_per_element};
}

MultimodalImpl::MultimodalImpl(const MultimodalConfig& config)
    : config_(config),
      video_{config.num_frames, config.image_size, config.image_size},
      patches_(patch_grid(video_, config.patch)),
      num_samples_(config.num_frames * config.samples_per_frame),
      num_audio_patches_(num_sample_patches(num_samples_, config.samples_per_patch)),
      sound_(sound_of(config)),
      image_position_(image_resolution(config, patches_), config.num_image_bands),
      audio_position_({sound_.resolution()}, config.num_audio_bands),
      image_query_{video_, image_resolution(config, patches_), config.num_image_bands},
      audio_query_{{num_audio_patches_}, {num_samples_}, config.num_audio_bands} {
  sound_.check();
  for (const auto& [name, queries] : num_train_queries()) {
    const int64_t all = num_outputs().at(name);
    if (queries > all)
      fail("train_queries.{} ({}) must be at most {}, all there are", name, queries, all);
  }
  const int64_t image_channels = config.patch.pixels() * kColours + image_position_.channels();
  const int64_t audio_channels = sound_.values() + audio_position_.channels();
  input_padding_ =
      register_module("input_padding", ModalityPadding(ModalitySizes{{"audio", audio_channels},
                                                                     {"image", image_channels},
                                                                     {"label", config.num_classes}},
                                                       kMinInputPadding));
  input_mask_ = register_module("input_mask",
                                ModalityMask(std::vector<std::string>{"audio", "image", "label"},
                                             input_padding_->channels()));
  label_query_ = register_module("label_query", LearnedQuery(1, config.label_query_channels));
  query_padding_ = register_module(
      "query_padding", ModalityPadding(ModalitySizes{{"audio", audio_query_.channels()},
                                                     {"image", image_query_.channels()},
                                                     {"label", label_query_->channels()}},
                                       kMinQueryPadding));
  perceiver_ = register_module(
      "perceiver", PerceiverIo(PerceiverIoChannels{.inputs = input_padding_->channels(),
                                                   .queries = query_padding_->channels(),
                                                   .outputs = config.output_channels},
                               config.encoder, config.decoder, config.semantics));
  for (const auto& [name, channels] : ModalitySizes{{"audio", config.samples_per_patch},
                                                    {"image", kColours},
                                                    {"label", config.num_classes}}) {
    heads_.emplace(name, register_module("head_" + name, Linear(config.output_channels, channels)));
  }
  for (const auto& [name, query] : {std::pair{"audio", audio_query_}, {"image", image_query_}}) {
    grids_.emplace(name,
                   std::make_unique<GridDecoder>(perceiver_->decoder(), query,
                                                 query_padding_->padding(name), heads_.at(name)));
  }
  for (const Spacing spacing : {Spacing::kInclusive, Spacing::kSubsampled}) {
    recorded_decode_.try_emplace(spacing);
  }
}

Tensor MultimodalImpl::input_array(const Modalities& inputs, const Modalities& hidden) {
  for (const auto& [name, head] : heads_) {
    if (!inputs.contains(name)) fail("inputs must be audio, image and label; {} is missing", name);
  }
  const Tensor &audio = inputs.at("audio"), &image = inputs.at("image"),
               &label = inputs.at("label");
  check_shape(image, {kAny, video_[0], kColours, video_[1], video_[2]}, "image");
  check_shape(label, {kAny, config_.num_classes}, "label");
  const Tensor sounds = heard(audio).to(image.scalar_type());
  const Tensor pictures = video_to_patches(image, config_.patch);
  const Modalities padded = input_padding_(Modalities{
      {"audio", audio_position_.behind(sounds, {sound_.count()}).materialise()},
      {"image", image_position_.behind(pictures, patches_).materialise()},
      {"label", label.unsqueeze(1)},
  });
  return pack(input_mask_(padded, hidden));
}

Tensor MultimodalImpl::heard(const Tensor& audio) const {
  if (audio.dim() == 3) {
    check_shape(audio, {kAny, sound_.count(), sound_.values()}, "audio");
    return audio;
  }
  check_shape(audio, {kAny, num_samples_}, "audio");
  return sound_.of(audio);
}

Tensor MultimodalImpl::encode(const Modalities& inputs, const Modalities& hidden) {
  // What is recorded takes arrays: the modalities' own, then which of their elements are hidden.
  const std::vector<std::string> names = {"audio", "image", "label"};
  std::vector<Tensor> arrays;
  for (const Modalities& given : {inputs, hidden}) {
    for (const std::string& name : names) {
      arrays.push_back(given.contains(name) ? given.at(name) : Tensor());
    }
  }
  // A spectrogram's filters come from the CPU, which cannot be recorded.
  if (inputs.contains("audio") && arrays[0].defined()) arrays[0] = heard(arrays[0]);
  return recorded_encode_(*this, arrays, [&](const std::vector<Tensor>& x) {
    Modalities now, hidden_now;
    for (size_t i = 0; i < names.size(); ++i) {
      if (inputs.contains(names[i])) now[names[i]] = x[i];
      if (hidden.contains(names[i])) hidden_now[names[i]] = x[names.size() + i];
    }
    const Tensor array = input_array(now, hidden_now);
    return perceiver_->process(perceiver_->encode(array), array);
  });
}

Tensor MultimodalImpl::outputs(const Tensor& latents, const Modalities& points, Spacing spacing) {
  const int64_t batch = latents.size(0);
  Modalities queries;
  for (const auto& [name, asked] : points) {
    const Tensor indices = asked.to(latents.device());
    const Tensor query = name == "label"   ? label_query_(batch, indices).materialise()
                         : name == "audio" ? audio_query_.at(batch, indices, spacing)
                                           : image_query_.at(batch, indices, spacing);
    queries[name] = query.to(latents.dtype());
  }
  return perceiver_->decode(latents, pack(query_padding_(queries)));
}

Modalities MultimodalImpl::heads(const Tensor& outputs, const Modalities& points) {
  ModalitySizes sizes;
  for (const auto& [name, indices] : points) sizes[name] = indices.size(-1);
  Modalities values = take_apart(outputs, sizes);
  for (auto& [name, value] : values) value = heads_.at(name)(value);
  return values;
}

Modalities MultimodalImpl::decode(const Tensor& latents, const Modalities& points,
                                  Spacing spacing) {
  Modalities values;
  for (const auto& [name, indices] : points) {
    if (grids_.contains(name)) {
      values[name] = grids_.at(name)->at(latents, indices, spacing);
    } else {
      const Modalities of_it = {{name, indices}};
      values[name] = heads(outputs(latents, of_it, spacing), of_it).at(name);
    }
  }
  return values;
}

Modalities MultimodalImpl::decode_all_plain(const Tensor& latents, Spacing spacing) {
  const int64_t count = total(num_outputs());
  std::map<std::string, std::vector<Tensor>> slices;
  for (int64_t begin = 0; begin < count; begin += config_.decode_slice) {
    const Modalities some = points(begin, std::min(begin + config_.decode_slice, count));
    for (const auto& [name, values] : heads(outputs(latents, some, spacing), some)) {
      slices[name].push_back(values);
    }
  }
  Modalities values;
  for (const auto& [name, parts] : slices) values[name] = at::cat(parts, 1);
  return values;
}

Modalities MultimodalImpl::decode_all_now(const Tensor& latents, Spacing spacing) {
  if (!grids_.at("image")->has_form()) return decode_all_plain(latents, spacing);
  // A GPU is not busy with fewer, and rows of the form are narrow. The arrays of a CPU's slices are
  // to be small enough to be given back and taken again without the system's help.
  constexpr int64_t kOnCpu = 2048, kMoreOnGpu = 4;
  const int64_t slice = latents.is_cuda() ? kMoreOnGpu * config_.decode_slice
                                          : std::min(kOnCpu, config_.decode_slice);
  Modalities values;
  for (const auto& [name, grid] : grids_) {
    values[name] = decode_in_slices(num_outputs().at(name), slice, [&](int64_t begin, int64_t end) {
      return grid->range(latents, begin, end, spacing);
    });
  }
  const Modalities label = {{"label", label_query_(latents.size(0)).materialise()}};
  const Tensor classes = perceiver_->decode(latents, query_padding_(label).at("label"));
  values["label"] = heads_.at("label")(classes);
  return values;
}

Modalities MultimodalImpl::decode_all(const Tensor& latents, Spacing spacing) {
  // What is recorded gives one array: all values of an example in a row.
  const Tensor rows =
      recorded_decode_.at(spacing)(*this, {latents}, [&](const std::vector<Tensor>& x) {
        const Modalities values = decode_all_now(x[0], spacing);
        const Tensor video = patches_to_video(values.at("image"), video_, VideoPatch{1, 1, 1});
        const Tensor sound = patches_to_samples(values.at("audio"));
        return at::cat({sound, video.flatten(1), values.at("label").squeeze(1)}, 1);
      });
  const int64_t pixels = c10::multiply_integers(video_) * kColours;
  const std::vector<Tensor> parts =
      rows.split_with_sizes({num_samples_, pixels, config_.num_classes}, 1);
  return {{"audio", parts[0]},
          {"image", parts[1].unflatten(1, {video_[0], kColours, video_[1], video_[2]})},
          {"label", parts[2]}};
}

Modalities MultimodalImpl::hide(const std::vector<std::string>& modalities, int64_t batch) const {
  const ModalitySizes sizes = num_inputs();
  const at::Device device = input_padding_->parameters().front().device();
  Modalities hidden;
  for (const std::string& name : modalities) {
    hidden[name] = at::ones({batch, sizes.at(name)}, at::dtype(at::kBool).device(device));
  }
  return hidden;
}

ModalitySizes MultimodalImpl::num_inputs() const {
  return {{"audio", sound_.count()}, {"image", c10::multiply_integers(patches_)}, {"label", 1}};
}

ModalitySizes MultimodalImpl::num_outputs() const {
  return {{"audio", num_audio_patches_}, {"image", c10::multiply_integers(video_)}, {"label", 1}};
}

ModalitySizes MultimodalImpl::num_train_queries() const {
  return {
      {"audio", config_.train_queries.audio}, {"image", config_.train_queries.image}, {"label", 1}};
}

Modalities MultimodalImpl::points(int64_t begin, int64_t end) const {
  Modalities indices;
  int64_t first = 0;  // output of the modality
  for (const auto& [name, count] : num_outputs()) {
    const int64_t from = std::max(begin - first, int64_t{0}), to = std::min(end - first, count);
    if (from < to) indices[name] = at::arange(from, to);
    first += count;
  }
  return indices;
}

ModelSummary MultimodalImpl::summary(const ModalitySizes& num_queries) const {
  const int64_t m = total(num_inputs());
  const int64_t o = total(num_queries);
  ModelSummary s{.inputs = {m, input_padding_->channels()},
                 .latents = perceiver_->latent_size(),
                 .queries = ArraySize{o, query_padding_->channels()},
                 .outputs = {o, config_.output_channels}};
  s.compression = compression(s.inputs, *s.latents);
  // Pictures with their positions, all modalities padded, and the same one behind the other.
  const int64_t picture = num_inputs().at("image");
  s.made_inputs = 2 * m * s.inputs.channels +
                  picture * (config_.patch.pixels() * kColours + image_position_.channels());
  if (sound_.audio == AudioInput::kMel) {
    s.add("input.", {{.name = "mel_filterbank", .flops = sound_.flops()}});
  }
  s.add("input.", {{.name = "padding", .parameters = num_parameters(*input_padding_)},
                   {.name = "mask", .parameters = num_parameters(*input_mask_)}});
  s.add("query.", {{.name = "label", .parameters = num_parameters(*label_query_)},
                   {.name = "padding", .parameters = num_parameters(*query_padding_)}});
  s.add("", perceiver_->parts(m, o));
  if (const auto pixels = grids_.at("image")->shape()) {  // nearly all queries
    std::ranges::find(s.parts, "decoder.cross_attend", &Part::name)->shape = pixels;
  }
  for (const auto& [name, head] : heads_) {
    s.add("heads.", {{.name = name,
                      .parameters = num_parameters(*head),
                      .flops = head->flops(num_queries.at(name))}});
  }
  return s;
}

}  // namespace perceiver
