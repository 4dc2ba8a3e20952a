#include "perceiver/media/sound_container.h"

#include <ATen/ATen.h>

#include "perceiver/core/error.h"
#include "perceiver/media/ffmpeg.h"
#include "perceiver/media/reading_limits.h"

namespace perceiver {
namespace {

using Converter = std::unique_ptr<SwrContext, FreeAtAddress<&Ffmpeg::swr_free>>;

// To floats, one channel after another, at the rate it has.
Converter make_converter(const std::string& name, AVFrame& frame) {
  SwrContext* converter = nullptr;
  int result = ffmpeg().swr_alloc_set_opts2(
      &converter, &frame.ch_layout, AV_SAMPLE_FMT_FLTP, frame.sample_rate, &frame.ch_layout,
      static_cast<AVSampleFormat>(frame.format), frame.sample_rate, 0, nullptr);
  Converter owner(converter);
  if (result >= 0) result = ffmpeg().swr_init(converter);
  if (result < 0) fail("{}: cannot convert its sound: {}", name, av_words(result));
  return owner;
}

// -> float [channels, S]
Tensor convert(SwrContext& converter, const AVFrame& frame) {
  const int64_t channels = frame.ch_layout.nb_channels;
  const Tensor samples = at::empty({channels, frame.nb_samples}, at::kFloat);
  std::vector<uint8_t*> planes(channels);
  for (int64_t i = 0; i < channels; ++i) {
    planes[i] = reinterpret_cast<uint8_t*>(samples[i].data_ptr<float>());
  }
  ffmpeg().swr_convert(&converter, planes.data(), frame.nb_samples,
                       const_cast<const uint8_t**>(frame.extended_data), frame.nb_samples);
  return samples;
}

}  // namespace

Sound decode_sound_container(const File& file) {
  FrameReader reader(file, AVMEDIA_TYPE_AUDIO);
  Converter converter;
  std::vector<Tensor> parts;
  int64_t channels = 0, rate = 0, samples = 0;
  int format = AV_SAMPLE_FMT_NONE;
  while (AVFrame* frame = reader.next()) {
    if (!converter) {
      channels = frame->ch_layout.nb_channels;
      rate = frame->sample_rate;
      format = frame->format;
      converter = make_converter(file.name, *frame);
    }
    if (frame->ch_layout.nb_channels != channels || frame->sample_rate != rate ||
        frame->format != format) {
      fail("{}: its sound changes from {} channels at {} samples a second to {} at {}", file.name,
           channels, rate, frame->ch_layout.nb_channels, frame->sample_rate);
    }
    parts.push_back(convert(*converter, *frame));
    samples += frame->nb_samples;
    check_length_read(file.name, static_cast<double>(samples) / static_cast<double>(rate));
  }
  if (parts.empty()) fail("{}: has no samples", file.name);
  return {at::cat(parts, 1), rate};
}

}  // namespace perceiver
