#include "perceiver/tasks/audioset/augment.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "perceiver/core/beta.h"
#include "perceiver/tasks/audioset/views.h"

namespace perceiver {
namespace {

// What was there is moved by `by` samples; what leaves the clip is lost.
Tensor shifted(const Tensor& samples, int64_t by) {
  const int64_t size = samples.size(-1), moved = std::min(std::abs(by), size);
  const Tensor kept = samples.narrow(-1, by < 0 ? moved : 0, size - moved);
  return by < 0 ? at::constant_pad_nd(kept, {0, moved}) : at::constant_pad_nd(kept, {moved, 0});
}

// Samples after the last that is not 0.
int64_t silence_behind(const Tensor& samples) {
  const Tensor heard = samples.ne(0.0).nonzero();
  const int64_t end = heard.size(0) == 0 ? 0 : heard.select(1, 1).max().item<int64_t>() + 1;
  return samples.size(-1) - end;
}

// Between the samples there are, as many as before: a faster one ends in silence, a slower one is
// cut short.
Tensor at_speed(const Tensor& samples, double factor) {
  const int64_t size = samples.size(-1);
  const auto count = std::max<int64_t>(1, std::llround(static_cast<double>(size) / factor));
  const Tensor played =
      at::upsample_linear1d(samples.unsqueeze(0), {count}, /*align_corners=*/false).squeeze(0);
  if (count >= size) return played.narrow(-1, 0, size).contiguous();
  return at::constant_pad_nd(played, {0, size - count});
}

// Drawn by `rng`, so that the example is the same on any thread.
Tensor white_noise(int64_t size, double loudness, Rng& rng) {
  const Tensor noise = at::empty({1, size}, at::kFloat);
  for (float& value : std::span(noise.data_ptr<float>(), static_cast<size_t>(size))) {
    value = static_cast<float>(loudness * rng.normal());
  }
  return noise;
}

}  // namespace

Tensor augmented(Tensor samples, const SoundAugmentConfig& augment, const AudioSetConfig& model,
                 Rng& rng) {
  if (augment.speed > 0.0) {
    samples = at_speed(samples, rng.uniform(1.0 - augment.speed, 1.0 + augment.speed));
  }
  if (augment.gain_db > 0.0) {
    const double decibels = rng.uniform(-augment.gain_db, augment.gain_db);
    samples = (samples * std::pow(10.0, decibels / 20.0)).clamp(-1.0, 1.0);
  }
  if (augment.any_place) samples = shifted(samples, rng.integer(silence_behind(samples) + 1));
  if (augment.shift_seconds > 0.0) {
    const double rate = static_cast<double>(model.num_samples) * kFramesPerSecond /
                        static_cast<double>(model.num_frames);
    const double by = rng.uniform(-augment.shift_seconds, augment.shift_seconds) * rate;
    samples = shifted(samples, std::llround(by));
  }
  if (augment.noise > 0.0) {
    constexpr double kDecadesDown = 3.0;
    const double loudness = augment.noise * std::pow(10.0, -rng.uniform(0.0, kDecadesDown));
    samples = (samples + white_noise(samples.size(-1), loudness, rng)).clamp(-1.0, 1.0);
  }
  return samples;
}

void mask_elements(Tensor& elements, const SoundAugmentConfig& augment, const AudioSetConfig& model,
                   Rng& rng) {
  const Tensor grid = elements.view({-1, model.mel.num_energies});
  const auto hide = [&](int64_t dim, int64_t longest) {
    const int64_t all = grid.size(dim), length = rng.integer(std::min(longest, all) + 1);
    grid.narrow(dim, rng.integer(all - length + 1), length).fill_(-1.0);
  };
  for (int64_t i = 0; i < augment.masks; ++i) {
    hide(0, augment.mask_windows);
    hide(1, augment.mask_energies);
  }
}

void mix_sounds(Example& batch, double parameter, Rng& rng) {
  const int64_t count = batch.at("labels").size(0);
  const Tensor share = at::empty({count}, at::kFloat), other = at::empty({count}, at::kLong);
  for (int64_t i = 0; i < count; ++i) {
    share.data_ptr<float>()[i] = static_cast<float>(beta(parameter, rng));
    other.data_ptr<int64_t>()[i] = rng.integer(count);
  }
  for (auto& [name, array] : batch) {
    if (name == "views") continue;
    std::vector<int64_t> each(array.dim(), 1);
    each[0] = count;
    const Tensor own = array.to(at::kFloat);
    const Tensor mixed = at::lerp(own.index_select(0, other), own, share.view(each));
    array = (array.scalar_type() == at::kByte ? mixed.round() : mixed).to(array.scalar_type());
  }
}

}  // namespace perceiver
