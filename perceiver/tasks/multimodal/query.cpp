#include "perceiver/tasks/multimodal/query.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

#include "perceiver/core/error.h"
#include "perceiver/core/text.h"
#include "perceiver/media/paint.h"
#include "perceiver/tasks/multimodal/latents.h"
#include "perceiver/tasks/selection.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

int64_t num_frames_of(const LatentsFile& file, const MultimodalConfig& config) {
  const auto found = file.geometry.find("num_frames");
  const int64_t most = file.latents().size(0) * config.num_frames;
  if (found == file.geometry.end() || found->second.size() != 1 || found->second[0] < 1 ||
      found->second[0] > most) {
    fail("{}: its metadata give no number of frames between 1 and {}", file.name, most);
  }
  return found->second[0];
}

void add_pixels(Answer& answer, const std::vector<int64_t>& frames,
                const std::vector<Pixel>& pixels, const Tensor& colours) {
  Json list = Json::array();
  std::vector<std::vector<std::string>> rows = {{"frame", "x", "y", "red", "green", "blue"}};
  for (size_t f = 0; f < frames.size(); ++f) {
    for (size_t p = 0; p < pixels.size(); ++p) {
      const Tensor rgb = colours[static_cast<int64_t>(f)][static_cast<int64_t>(p)];
      Json item = {{"frame", frames[f] + 1}, {"x", pixels[p].x}, {"y", pixels[p].y}};
      std::vector<std::string> row = {std::to_string(frames[f] + 1), std::to_string(pixels[p].x),
                                      std::to_string(pixels[p].y)};
      for (int64_t c = 0; c < 3; ++c) {
        item["colour"].push_back(rgb[c].item<double>());
        row.push_back(fmt::format("{:.3f}", rgb[c].item<double>()));
      }
      list.push_back(std::move(item));
      rows.push_back(std::move(row));
    }
  }
  answer.json["pixels"] = std::move(list);
  answer.text += table(rows);
  answer.arrays.emplace_back("colours", colours);
}

// colours [F, P, 3] of a box -> pictures side by side
void add_boxes(Answer& answer, const std::vector<int64_t>& frames, const Box& box,
               const Tensor& colours) {
  const Tensor image = colours.transpose(1, 2).reshape({-1, 3, box.height(), box.width()});
  std::vector<Tensor> pictures;
  Json numbers = Json::array();
  for (size_t f = 0; f < frames.size(); ++f) {
    pictures.push_back(image[static_cast<int64_t>(f)].mul(255.0).round().to(at::kByte));
    numbers.push_back(frames[f] + 1);
  }
  const auto columns = static_cast<int64_t>(std::ceil(std::sqrt(pictures.size())));
  answer.picture = pictures.size() == 1 ? pictures[0] : contact_sheet(pictures, columns);
  const std::vector<double> means = {image.select(1, 0).mean().item<double>(),
                                     image.select(1, 1).mean().item<double>(),
                                     image.select(1, 2).mean().item<double>()};
  answer.json["frames"] = std::move(numbers);
  answer.json["box"] = {box.x0, box.y0, box.x1, box.y1};
  answer.json["mean_colour"] = means;
  answer.text += fmt::format(
      "{} {} of {} x {} pixels, mean colour {:.3f} {:.3f} {:.3f}; -o FILE.png shows them\n",
      frames.size(), frames.size() == 1 ? "frame" : "frames", box.width(), box.height(), means[0],
      means[1], means[2]);
  answer.arrays.emplace_back("image", image);
}

void add_pictures(Answer& answer, MultimodalImpl& model, const LatentsFile& file,
                  const Query& query, int64_t num_frames) {
  const FrameSize size{model.config().image_size, model.config().image_size};
  const std::string asked = query.frames.empty() ? fmt::format("1-{}", num_frames) : query.frames;
  const std::vector<int64_t> frames = parse_numbers(asked, num_frames, "--frames", "frames");
  if (!query.pixels.empty() && !query.box.empty()) fail("--pixels and --box: ask for one of them");
  const auto colours = [&](const Tensor& pixels) {
    return pixels_at(model, file.latents(), at::tensor(frames), pixels);
  };
  if (!query.pixels.empty()) {
    const std::vector<Pixel> pixels = parse_pixels(query.pixels, size);
    add_pixels(answer, frames, pixels, colours(flat_indices(pixels, size)));
  } else {
    const Box box = parse_box(query.box, size);
    add_boxes(answer, frames, box, colours(box.pixels(size.width)));
  }
}

void add_sound(Answer& answer, const Seconds& seconds, const Tensor& samples, int64_t rate) {
  const double loudness = samples.square().mean().sqrt().item<double>();
  answer.json["sound"] = {{"begin", seconds.begin},
                          {"end", seconds.end},
                          {"samples_per_second", rate},
                          {"samples", samples.size(0)},
                          {"root_mean_square", loudness}};
  answer.text += fmt::format(
      "{:g} to {:g} s: {} samples at {} a second, root mean square {:.4f}; -o FILE.wav is heard\n",
      seconds.begin, seconds.end, grouped(samples.size(0)), grouped(rate), loudness);
  answer.arrays.emplace_back("audio", samples);
  answer.sound = Sound{samples.unsqueeze(0), rate};
}

}  // namespace

void encode_chunks(MultimodalImpl& model, std::span<const File> files, LatentsFile& file,
                   const Hooks& hooks) {
  if (files.size() != 1) fail("a clip is one file, got {}", files.size());
  ChunkReader clip(files[0], model.config());
  for (const auto& [there, what] :
       {std::pair{clip.has_sound(), "sound"}, {clip.has_picture(), "picture"}}) {
    if (!there)
      hooks.tell(fmt::format("{}: has no {}; the model fills it in", files[0].name, what));
  }
  hooks.begin("encode", attention_work(model.summary(model.num_outputs()), "encoder.") *
                            static_cast<double>(clip.expected_chunks()));
  const ClipLatents encoded = encode_clip(model, clip);
  if (encoded.num_frames == 0) fail("{}: has no frames", files[0].name);
  file.arrays = {{"latents", encoded.latents}};
  file.geometry = {{"num_frames", {encoded.num_frames}},
                   {"frames_per_second", {kFramesPerSecond}},
                   {"frames_per_chunk", {model.config().num_frames}}};
}

Answer answer_clip(MultimodalImpl& model, const LatentsFile& file, const Query& query,
                   const std::vector<std::string>& labels) {
  const MultimodalConfig& config = model.config();
  const int64_t num_frames = num_frames_of(file, config);
  const bool pictures = !query.frames.empty() || !query.box.empty() || !query.pixels.empty();
  Answer answer;
  if (pictures) add_pictures(answer, model, file, query, num_frames);
  if (!query.seconds.empty()) {
    const int64_t rate = config.samples_per_frame * kFramesPerSecond;
    const double most = static_cast<double>(num_frames) / kFramesPerSecond;
    const Seconds seconds = parse_seconds(query.seconds, most);
    const int64_t begin = std::llround(seconds.begin * rate);
    const int64_t end = std::max(std::llround(seconds.end * rate), begin + 1LL);
    add_sound(answer, seconds, samples_at(model, file.latents(), begin, end), rate);
  }
  if (query.label || (!pictures && query.seconds.empty())) {
    const Answer label =
        answer_classes(label_of(model, file.latents()).unsqueeze(0), query, labels);
    answer.json["top"] = label.json["top"];
    answer.text += label.text;
    answer.arrays.push_back(label.arrays[0]);
  }
  return answer;
}

}  // namespace perceiver
