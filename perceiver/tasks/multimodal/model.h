// Multimodal autoencoding of Kinetics (paper, Sec. 4.3 and App. I): video, audio and class label
// through one latent array, and back. Modalities are called audio, image and label, as released.
#pragma once

#include <memory>

#include "perceiver/model/grid_decoder.h"
#include "perceiver/model/multimodal.h"
#include "perceiver/model/perceiver_io.h"
#include "perceiver/model/query.h"
#include "perceiver/model/recorded.h"
#include "perceiver/tasks/multimodal/config.h"

namespace perceiver {

using ModalitySizes = std::map<std::string, int64_t>;

class MultimodalImpl : public torch::nn::Module {
 public:
  explicit MultimodalImpl(const MultimodalConfig& config);

  // image [B, T, 3, H, W] in [0, 1], audio [B, S] in [-1, 1] or as sound() makes elements of it,
  // label [B, classes] one-hot -> inputs [B, M, C]. `hidden` [B, M_i] bool hides elements of some
  // modalities: the label always at test time, half of the labels in training.
  Tensor input_array(const Modalities& inputs, const Modalities& hidden = {});

  Tensor encode(const Modalities& inputs, const Modalities& hidden = {});  // -> latents [B, N, D]

  // Outputs by their index in each modality asked for, [O_i] or of each example its own [B, O_i]:
  // pixels of {T, H, W}, patches of audio, 0 for the label. latents [B, N, D] -> outputs [B, O, E].
  // Both in training and at test time the released model knows subsets only, hence the spacing.
  Tensor outputs(const Tensor& latents, const Modalities& points,
                 Spacing spacing = Spacing::kSubsampled);

  // outputs [B, O, E] of those points -> image [B, O_i, 3], audio [B, O_i, samples of a patch],
  // label logits [B, O_i, classes]
  Modalities heads(const Tensor& outputs, const Modalities& points);

  // Both, of points [O_i]; without gradients, pixels and sounds by what is left of both for them.
  Modalities decode(const Tensor& latents, const Modalities& points,
                    Spacing spacing = Spacing::kSubsampled);

  // Everything, in slices: -> image [B, T, 3, H, W], audio [B, S], label logits [B, classes].
  Modalities decode_all(const Tensor& latents, Spacing spacing = Spacing::kSubsampled);

  // For encode(): every element of these modalities is hidden.
  Modalities hide(const std::vector<std::string>& modalities, int64_t batch) const;

  const MultimodalConfig& config() const { return config_; }
  const SoundElements& sound() const { return sound_; }
  ModalitySizes num_inputs() const;
  ModalitySizes num_outputs() const;
  ModalitySizes num_train_queries() const;
  Modalities points(int64_t begin, int64_t end) const;  // of outputs [begin, end) of all, in order

  ModelSummary summary(const ModalitySizes& num_queries) const;

 private:
  // Samples as elements; elements as they are.
  Tensor heard(const Tensor& audio) const;

  // Everything, [B, O_i, values] each: pixels and sounds each in their own form where there is one,
  // or all by the modules.
  Modalities decode_all_now(const Tensor& latents, Spacing spacing);
  Modalities decode_all_plain(const Tensor& latents, Spacing spacing);

  MultimodalConfig config_;
  std::vector<int64_t> video_, patches_;  // {T, H, W}, and in patches
  int64_t num_samples_, num_audio_patches_;
  SoundElements sound_;
  GridFeatures image_position_, audio_position_;
  PositionQuery image_query_, audio_query_;
  ModalityPadding input_padding_{nullptr}, query_padding_{nullptr};
  ModalityMask input_mask_{nullptr};
  LearnedQuery label_query_{nullptr};
  PerceiverIo perceiver_{nullptr};
  std::map<std::string, Linear> heads_;
  std::map<std::string, std::unique_ptr<GridDecoder>> grids_;  // image and audio
  RecordedForward recorded_encode_;
  std::map<Spacing, RecordedForward> recorded_decode_;
};
TORCH_MODULE(Multimodal);

}  // namespace perceiver
