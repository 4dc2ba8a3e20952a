// What models of clips are to be held against: on the clips that a config measures, the PSNR of the
// mean picture of those that it trains on, of silence, and of JPEG with as many values as a clip's
// latents have.
//
//   clip_baselines multimodal_mini "data.train=['grid_s1']" [key=value ...] [2048 8192 ...]
//
// The values of a JPEG are its coefficients that are not 0, of all frames and colours (libjpeg's
// default, half as many rows and columns of both colour differences as of brightness); each clip
// gets the highest quality with which its frames together have no more values than the latents, or
// than the numbers given. Headers, quantisation tables and where the coefficients stand count
// nothing. PSNRs are as `perceiver eval` has them: over all values of all clips, with a peak of 1.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <jpeglib.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>

#include "perceiver/core/error.h"
#include "perceiver/core/file.h"
#include "perceiver/core/rng.h"
#include "perceiver/media/image.h"
#include "perceiver/tasks/multimodal/psnr.h"
#include "perceiver/tasks/settings.h"
#include "perceiver/tasks/task.h"
#include "perceiver/tasks/training.h"

namespace perceiver {
namespace {

// uint8 [3, H, W]
std::string encode_jpeg(const Tensor& pixels, int quality) {
  const Tensor rows = pixels.permute({1, 2, 0}).contiguous();
  jpeg_compress_struct jpeg = {};
  jpeg_error_mgr errors = {};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_height = static_cast<JDIMENSION>(rows.size(0));
  jpeg.image_width = static_cast<JDIMENSION>(rows.size(1));
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, quality, /*force_baseline=*/TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = rows.data_ptr<uint8_t>() + jpeg.next_scanline * 3 * rows.size(1);
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  const std::unique_ptr<unsigned char, decltype(&std::free)> owned(bytes, &std::free);
  return {reinterpret_cast<const char*>(bytes), size};
}

// Coefficients that are not 0.
int64_t values_of(const std::string& bytes) {
  jpeg_decompress_struct jpeg = {};
  jpeg_error_mgr errors = {};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&jpeg, TRUE);
  jvirt_barray_ptr* blocks = jpeg_read_coefficients(&jpeg);
  int64_t values = 0;
  for (int c = 0; c < jpeg.num_components; ++c) {
    const jpeg_component_info& component = jpeg.comp_info[c];
    for (JDIMENSION y = 0; y < component.height_in_blocks; ++y) {
      const JBLOCKARRAY row = jpeg.mem->access_virt_barray(reinterpret_cast<j_common_ptr>(&jpeg),
                                                           blocks[c], y, 1, FALSE);
      for (JDIMENSION x = 0; x < component.width_in_blocks; ++x) {
        values += DCTSIZE2 - std::count(row[0][x], row[0][x] + DCTSIZE2, 0);
      }
    }
  }
  jpeg_finish_decompress(&jpeg);
  jpeg_destroy_decompress(&jpeg);
  return values;
}

struct Encoded {
  std::vector<std::string> frames;
  int64_t values = 0, bytes = 0;
};

Encoded encoded(const Tensor& frames, int quality) {
  Encoded all;
  for (const Tensor& frame : frames.unbind(0)) {
    all.frames.push_back(encode_jpeg(frame, quality));
    all.values += values_of(all.frames.back());
    all.bytes += std::ssize(all.frames.back());
  }
  return all;
}

// With the highest quality of at most so many values, else with the lowest there is.
Encoded best_jpeg(const Tensor& frames, int64_t values) {
  int low = 1, high = 100;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (encoded(frames, middle).values <= values) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return encoded(frames, low);
}

Tensor decoded(const Encoded& clip) {
  std::vector<Tensor> frames;
  for (const std::string& frame : clip.frames) frames.push_back(decode_image({"frame", frame}));
  return at::stack(frames);
}

Tensor colours(const Tensor& pixels) { return pixels.to(at::kDouble) / 255.0; }

// Nothing where it cannot be read: tables have rows without a clip.
std::optional<Example> clip_of(const Dataset& clips, int64_t index) {
  Rng rng(0, 0, index);
  try {
    return clips.get(index, rng);
  } catch (const Error&) {
    return {};
  }
}

// [3, H, W], of one draw from each training clip
Tensor mean_picture(const Dataset& clips) {
  Tensor sum;
  double count = 0.0;
  for (int64_t i = 0; i < clips.size(); ++i) {
    const std::optional<Example> clip = clip_of(clips, i);
    if (!clip) continue;
    const Tensor mean = colours(clip->at("image")).mean(0);
    sum = sum.defined() ? sum + mean : mean;
    ++count;
  }
  return sum / count;
}

struct Jpegs {
  int64_t most_values;
  Psnr psnr = {};
  int64_t values = 0, bytes = 0, clips = 0;
};

void measure(Training& training, std::vector<Jpegs> jpegs) {
  const auto held_out = training.dataset(Split::kEval);
  if (!held_out) fail("nothing is held out, so there is nothing to measure");
  const Tensor mean = mean_picture(*training.dataset(Split::kTrain));
  Psnr mean_psnr, silence_psnr;
  int64_t count = 0;
  for (int64_t i = 0; i < held_out->size(); ++i) {
    const std::optional<Example> read = clip_of(*held_out, i);
    if (!read) continue;
    ++count;
    const Example& clip = *read;
    const auto own = clip.at("num_frames").item<int64_t>();
    const Tensor frames = clip.at("image").narrow(0, 0, own), original = colours(frames);
    const int64_t all = clip.at("image").size(0);
    const Tensor sound = clip.at("audio").narrow(0, 0, clip.at("audio").size(0) / all * own);
    mean_psnr.add(original, mean.expand_as(original));
    silence_psnr.add(sound, at::zeros_like(sound));
    for (Jpegs& jpeg : jpegs) {
      const Encoded best = best_jpeg(frames, jpeg.most_values);
      jpeg.psnr.add(original, colours(decoded(best)));
      jpeg.values += best.values;
      jpeg.bytes += best.bytes;
      ++jpeg.clips;
    }
  }
  fmt::print("{} clips\nmean picture: {:.2f} dB\nsilence: {:.2f} dB\n", count, mean_psnr.decibels(),
             silence_psnr.decibels());
  for (const Jpegs& jpeg : jpegs) {
    fmt::print("JPEG of at most {} values a clip: {:.2f} dB ({} values, {} bytes)\n",
               jpeg.most_values, jpeg.psnr.decibels(), jpeg.values / jpeg.clips,
               jpeg.bytes / jpeg.clips);
  }
}

void run(int argc, char** argv) {
  if (argc < 2) fail("expected a config, maybe key=value, and numbers of values");
  std::vector<std::string> overrides;
  std::vector<Jpegs> jpegs;
  for (const std::string argument : std::span(argv + 2, argv + argc)) {
    int64_t values = 0;
    const char* end = argument.data() + argument.size();
    const bool is_number = std::from_chars(argument.data(), end, values).ptr == end;
    is_number ? jpegs.push_back(Jpegs{values}) : overrides.push_back(argument);
  }
  const std::string name = argv[1];
  const auto path =
      name.ends_with(".toml") ? std::filesystem::path(name) : shipped("configs") / (name + ".toml");
  const std::unique_ptr<Task> task = read_settings(read_file(path), overrides)->make();
  const ArraySize latents = task->summary(Split::kEval).latents.value();
  jpegs.insert(jpegs.begin(), Jpegs{latents.index * latents.channels});
  measure(*task->training(), std::move(jpegs));
}

}  // namespace
}  // namespace perceiver

int main(int argc, char** argv) {
  try {
    perceiver::run(argc, argv);
  } catch (const perceiver::Error& e) {
    fmt::print(stderr, "clip_baselines: {}\n", e.what());
    return 1;
  }
}
