// FFmpeg's functions, looked for in its libraries when one is called for the first time: linked,
// they and the hundred libraries that they bring along would be loaded by every verb. Only built
// where FFmpeg's headers are.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/channel_layout.h>
#include <libavutil/log.h>
#include <libavutil/mem.h>
#include <libavutil/pixdesc.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>
}

// clang-format off
#define PERCEIVER_FFMPEG_FUNCTIONS(X) \
  X(av_channel_layout_copy) X(av_channel_layout_default) X(av_d2q) X(av_dict_free) \
  X(av_dict_parse_string) X(av_dict_set) X(av_frame_alloc) X(av_frame_free) \
  X(av_frame_get_buffer) X(av_frame_make_writable) X(av_freep) X(av_log_set_level) \
  X(av_malloc) X(av_max_alloc) X(av_pix_fmt_desc_get) X(av_strerror) X(av_version_info) \
  X(swr_alloc_set_opts2) X(swr_convert) X(swr_free) X(swr_init) \
  X(sws_freeContext) X(sws_getCachedContext) X(sws_getCoefficients) X(sws_getContext) \
  X(sws_scale) X(sws_setColorspaceDetails) \
  X(av_new_packet) X(av_packet_alloc) X(av_packet_free) X(av_packet_rescale_ts) \
  X(av_packet_unref) X(avcodec_alloc_context3) X(avcodec_find_decoder) \
  X(avcodec_find_encoder_by_name) X(avcodec_free_context) X(avcodec_get_name) \
  X(avcodec_open2) X(avcodec_parameters_from_context) X(avcodec_parameters_to_context) \
  X(avcodec_receive_frame) X(avcodec_receive_packet) X(avcodec_send_frame) \
  X(avcodec_send_packet) \
  X(av_find_best_stream) X(av_find_input_format) X(av_guess_format) X(av_guess_frame_rate) \
  X(av_interleaved_write_frame) X(av_read_frame) X(av_write_trailer) \
  X(avformat_alloc_context) X(avformat_alloc_output_context2) X(avformat_close_input) \
  X(avformat_find_stream_info) X(avformat_free_context) X(avformat_index_get_entries_count) \
  X(avformat_index_get_entry) X(avformat_new_stream) X(avformat_open_input) \
  X(avformat_query_codec) X(avformat_write_header) \
  X(avio_alloc_context) X(avio_context_free) X(avio_flush) X(avio_size)
// clang-format on
#if LIBAVFORMAT_VERSION_INT < AV_VERSION_INT(60, 15, 100)
#define PERCEIVER_FFMPEG_SIDE_DATA(X) X(av_stream_get_side_data)
#else
#define PERCEIVER_FFMPEG_SIDE_DATA(X) X(av_packet_side_data_get)
#endif

namespace perceiver {

struct Ffmpeg {
#define PERCEIVER_MEMBER(name) decltype(&::name) name;
  PERCEIVER_FFMPEG_FUNCTIONS(PERCEIVER_MEMBER)
  PERCEIVER_FFMPEG_SIDE_DATA(PERCEIVER_MEMBER)
#undef PERCEIVER_MEMBER
};

// Fails where the libraries are not on this machine.
const Ffmpeg& ffmpeg();

}  // namespace perceiver
