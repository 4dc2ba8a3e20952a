#include "perceiver/media/encoders.h"

#include "perceiver/media/ending.h"

namespace perceiver {
namespace {

struct VideoEncoder {
  const char* name;
  const char* options;  // hardly a difference to be seen, in reasonable time
  AVPixelFormat format = AV_PIX_FMT_YUV420P;
};

constexpr VideoEncoder kVideoEncoders[] = {
    {"libx264", "crf=18:preset=fast"},
    {"libopenh264", "b=8M"},
    {"libvpx-vp9", "crf=20:b=0:deadline=good:cpu-used=5:row-mt=1"},
    {"libvpx", "crf=8:b=8M:deadline=good:cpu-used=4"},
    {"mpeg4", "flags=+qscale:global_quality=236"},  // 2, in FFmpeg's units of 1/118
    {"mpeg2video", "flags=+qscale:global_quality=236"},
    {"mpeg1video", "flags=+qscale:global_quality=236"},
    {"libtheora", "flags=+qscale:global_quality=1062"},  // 9 of 10
    {"flv", "flags=+qscale:global_quality=236"},
    {"gif", "", AV_PIX_FMT_RGB8},
};

struct AudioEncoder {
  const char* name;
  AVSampleFormat format;
};

constexpr AudioEncoder kAudioEncoders[] = {
    {"aac", AV_SAMPLE_FMT_FLTP},       {"libopus", AV_SAMPLE_FMT_FLT},
    {"libvorbis", AV_SAMPLE_FMT_FLTP}, {"libmp3lame", AV_SAMPLE_FMT_FLTP},
    {"mp2", AV_SAMPLE_FMT_S16},        {"ac3", AV_SAMPLE_FMT_FLTP},
    {"pcm_s16le", AV_SAMPLE_FMT_S16},
};

// The encoder of this name, if it is there and the container takes what it makes.
const AVCodec* find_encoder(const char* name, const AVOutputFormat& container) {
  const AVCodec* codec = ffmpeg().avcodec_find_encoder_by_name(name);
  const bool fits =
      codec && ffmpeg().avformat_query_codec(&container, codec->id, FF_COMPLIANCE_NORMAL) == 1;
  return fits ? codec : nullptr;
}

AvCodec make_context(const AVCodec& encoder, const AVOutputFormat& container) {
  AvCodec codec(allocated(ffmpeg().avcodec_alloc_context3(&encoder)));
  if (container.flags & AVFMT_GLOBALHEADER) codec->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  return codec;
}

bool open(AVCodecContext& codec, const char* options) {
  AVDictionary* parsed = nullptr;
  ffmpeg().av_dict_parse_string(&parsed, options, "=", ":", 0);
  const int result = ffmpeg().avcodec_open2(&codec, nullptr, &parsed);
  ffmpeg().av_dict_free(&parsed);
  return result >= 0;
}

}  // namespace

const AVOutputFormat* container_of(const std::filesystem::path& path) {
  const std::string ending = ending_in_lower_case(path);
  // FFmpeg takes .m4v for a bare stream without a container.
  return ffmpeg().av_guess_format(nullptr, ending == ".m4v" ? ".mp4" : ending.c_str(), nullptr);
}

bool has_video_encoder(const AVOutputFormat& container) {
  for (const VideoEncoder& candidate : kVideoEncoders) {
    if (find_encoder(candidate.name, container)) return true;
  }
  return false;
}

AvCodec open_video_encoder(const AVOutputFormat& container, const VideoFormat& format) {
  for (const VideoEncoder& candidate : kVideoEncoders) {
    const AVCodec* encoder = find_encoder(candidate.name, container);
    if (!encoder) continue;
    AvCodec codec = make_context(*encoder, container);
    codec->width = static_cast<int>(format.width);
    codec->height = static_cast<int>(format.height);
    codec->framerate = ffmpeg().av_d2q(format.frames_per_second, 1'001'000);
    codec->time_base = av_inv_q(codec->framerate);
    codec->pix_fmt = candidate.format;
    // Frames that are stored out of order: AVI cannot, and others then start late.
    codec->max_b_frames = 0;
    codec->thread_count = num_codec_threads(format.height, format.width);
    if (candidate.format == AV_PIX_FMT_YUV420P) {
      // BT.601, what readers assume where a container has no place to say so.
      codec->colorspace = AVCOL_SPC_SMPTE170M;
      codec->color_primaries = AVCOL_PRI_SMPTE170M;
      codec->color_trc = AVCOL_TRC_SMPTE170M;
      codec->color_range = AVCOL_RANGE_MPEG;
    }
    if (open(*codec, candidate.options)) return codec;
  }
  return nullptr;
}

AvCodec open_audio_encoder(const AVOutputFormat& container, int64_t samples_per_second) {
  // Most encoders start early. AVI knows no times: it would put empty pictures before the first.
  const bool must_not_start_early = std::string_view(container.name) == "avi";
  for (const AudioEncoder& candidate : kAudioEncoders) {
    const AVCodec* encoder = find_encoder(candidate.name, container);
    if (!encoder || (must_not_start_early && encoder->id != AV_CODEC_ID_PCM_S16LE)) continue;
    AvCodec codec = make_context(*encoder, container);
    ffmpeg().av_channel_layout_default(&codec->ch_layout, 1);
    codec->sample_rate = static_cast<int>(samples_per_second);
    codec->sample_fmt = candidate.format;
    codec->time_base = {1, codec->sample_rate};
    if (open(*codec, "b=128k")) return codec;
  }
  return nullptr;
}

}  // namespace perceiver
