// Which container and which of FFmpeg's encoders a video is written with. Only built where FFmpeg's
// libraries are.
#pragma once

#include "perceiver/media/ffmpeg.h"
#include "perceiver/media/video.h"

namespace perceiver {

// By the path's ending; null where FFmpeg cannot write such files.
const AVOutputFormat* container_of(const std::filesystem::path& path);

bool has_video_encoder(const AVOutputFormat& container);

// The best encoder that the container takes and that takes the size and the rates, opened; null
// where there is none. Sizes are even.
AvCodec open_video_encoder(const AVOutputFormat& container, const VideoFormat& format);
AvCodec open_audio_encoder(const AVOutputFormat& container, int64_t samples_per_second);

}  // namespace perceiver
