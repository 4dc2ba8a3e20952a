// Encodes pictures and sound into a container. Only built where FFmpeg's libraries are.
#pragma once

#include "perceiver/media/ffmpeg.h"
#include "perceiver/media/output_file.h"
#include "perceiver/media/video_sink.h"

namespace perceiver {

class Muxer : public VideoSink {
 public:
  Muxer(const std::filesystem::path& path, const AVOutputFormat& container,
        const VideoFormat& format);

  void write(const Tensor& frame) override;
  void write_samples(const Tensor& samples) override;
  void finish() override;

 private:
  // A stream of the container. What its encoder gives goes there.
  struct Track {
    AvCodec encoder;
    AVStream* stream = nullptr;
    AvFrame frame;   // what is encoded next
    int64_t at = 0;  // its time, in frames or in samples
  };
  struct FreeOutput {
    void operator()(AVFormatContext* output) const { ffmpeg().avformat_free_context(output); }
  };

  Track make_track(AvCodec encoder);
  void make_picture_frames();
  void encode(Track& track, const AVFrame* frame);  // null: nothing more comes
  void encode_samples(const Tensor& samples);

  OutputFile file_;
  std::unique_ptr<AVFormatContext, FreeOutput> output_;
  AvPacket packet_;
  Track video_, audio_;
  AvFrame planes_;  // one a colour
  Scaler scaler_;
  Tensor pending_;  // samples, too few for a frame of the encoder
};

}  // namespace perceiver
