#include "perceiver/media/sound.h"

#include <ATen/ATen.h>

#include <array>
#include <cmath>
#include <numeric>

#include "perceiver/core/error.h"
#include "perceiver/media/ending.h"
#include "perceiver/media/reading_limits.h"
#include "perceiver/media/sound_container.h"
#include "perceiver/media/wav.h"

namespace perceiver {
namespace {

constexpr std::array<std::string_view, 7> kEndings = {".wav",  ".flac", ".mp3", ".ogg",
                                                      ".opus", ".m4a",  ".aac"};

// The sinc is cut after so many zeros to each side by Kaiser's window, with 90 dB between what
// passes and what does not: the way from one to the other then takes 9 % of the band, and half of
// it lies below the limit.
constexpr double kZeros = 64, kKaiserBeta = 9.0, kPassed = 0.955;

double windowed_sinc(double x) {
  if (std::abs(x) >= kZeros) return 0;
  const double across = x / kZeros;
  const double window = std::cyl_bessel_i(0.0, kKaiserBeta * std::sqrt(1 - across * across));
  const double angle = M_PI * x * kPassed;
  return window * (x == 0 ? 1.0 : std::sin(angle) / angle);
}

// Output n lies at n * step / phases of the input; every `phases` outputs the weights repeat.
struct Phases {
  int64_t phases, step;
  int64_t reach;               // weights to each side
  std::vector<float> weights;  // [phases, 2 * reach]

  int64_t first_input(int64_t n) const { return n * step / phases - reach + 1; }
};

Phases make_phases(int64_t from, int64_t to, int64_t num_outputs) {
  const int64_t common = std::gcd(from, to);
  Phases p{to / common, from / common, 0, {}};
  const double band = std::min(1.0, static_cast<double>(to) / static_cast<double>(from));
  p.reach = static_cast<int64_t>(std::ceil(kZeros / band));
  for (int64_t n = 0; n < std::min(p.phases, num_outputs); ++n) {
    const double centre = static_cast<double>(n * p.step) / static_cast<double>(p.phases);
    std::vector<double> weights(2 * p.reach);
    for (int64_t i = 0; i < 2 * p.reach; ++i) {
      weights[i] = windowed_sinc((static_cast<double>(p.first_input(n) + i) - centre) * band);
    }
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (const double weight : weights) p.weights.push_back(static_cast<float>(weight / sum));
  }
  return p;
}

// The products of two rows, added up side by side: one sum would wait for itself at every product.
float dot(const float* a, const float* b, int64_t count) {
  std::array<float, 16> sums{};
  constexpr auto kLanes = static_cast<int64_t>(sums.size());
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  float sum = std::accumulate(sums.begin(), sums.end(), 0.0f);
  for (; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

// in [S] -> out [num_outputs]; beyond its ends the sound is silent.
void resample_channel(const float* in, int64_t num_inputs, const Phases& p, float* out,
                      int64_t num_outputs) {
  for (int64_t n = 0; n < num_outputs; ++n) {
    const int64_t first = p.first_input(n);
    const float* weights = p.weights.data() + n % p.phases * 2 * p.reach;
    const int64_t begin = std::max<int64_t>(0, -first);
    const int64_t end = std::min(2 * p.reach, num_inputs - first);
    out[n] = dot(weights + begin, in + first + begin, end - begin);
  }
}

}  // namespace

Sound decode_sound(const File& file) {
  if (file.bytes.empty()) fail("{}: is empty, expected a sound", file.name);
  // Beyond these, a second of sound or its filter would take minutes to resample.
  constexpr int64_t kLowest = 1'000, kHighest = 1'000'000;
  Sound sound = is_wav(file.bytes) ? decode_wav(file) : decode_sound_container(file);
  if (sound.samples_per_second < kLowest || sound.samples_per_second > kHighest) {
    fail("{}: sound of {} samples a second, expected {} to {}", file.name, sound.samples_per_second,
         kLowest, kHighest);
  }
  check_length_read(file.name, static_cast<double>(sound.samples.size(1)) /
                                   static_cast<double>(sound.samples_per_second));
  return sound;
}

Sound mono(const Sound& sound) {
  return {sound.samples.mean(0, /*keepdim=*/true), sound.samples_per_second};
}

Sound resample(const Sound& sound, int64_t samples_per_second) {
  check_shape(sound.samples, {kAny, kAny}, "sound");
  const int64_t from = sound.samples_per_second, to = samples_per_second;
  if (from < 1 || to < 1) fail("cannot resample from {} to {} samples a second", from, to);
  if (from == to) return sound;
  const int64_t num_inputs = sound.samples.size(1),
                num_outputs = (num_inputs * to + from - 1) / from;
  const Phases phases = make_phases(from, to, num_outputs);
  const Tensor in = sound.samples.to(at::kCPU, at::kFloat).contiguous();
  const Tensor out = at::empty({in.size(0), num_outputs}, at::kFloat);
  for (int64_t channel = 0; channel < in.size(0); ++channel) {
    resample_channel(in.const_data_ptr<float>() + channel * num_inputs, num_inputs, phases,
                     out.data_ptr<float>() + channel * num_outputs, num_outputs);
  }
  return {out, to};
}

bool has_sound_ending(const std::filesystem::path& path) { return has_ending(path, kEndings); }

}  // namespace perceiver
