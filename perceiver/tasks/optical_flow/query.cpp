#include "perceiver/tasks/optical_flow/query.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include "perceiver/core/error.h"
#include "perceiver/core/text.h"
#include "perceiver/tasks/optical_flow/draw.h"
#include "perceiver/tasks/optical_flow/latents.h"
#include "perceiver/tasks/optical_flow/pair.h"
#include "perceiver/tasks/selection.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

Answer of_pixels(const std::vector<Pixel>& pixels, const Tensor& flow) {
  Answer answer{.json = {{"pixels", Json::array()}}};
  std::vector<std::vector<std::string>> rows = {{"x", "y", "right", "down"}};
  Tensor places = at::empty({std::ssize(pixels), 2}, at::kLong);
  for (int64_t i = 0; i < std::ssize(pixels); ++i) {
    const auto [x, y] = pixels[i];
    const double right = flow[i][0].item<double>(), down = flow[i][1].item<double>();
    places[i][0] = x;
    places[i][1] = y;
    answer.json["pixels"].push_back({{"x", x}, {"y", y}, {"flow", {right, down}}});
    rows.push_back({std::to_string(x), std::to_string(y), fmt::format("{:.3f}", right),
                    fmt::format("{:.3f}", down)});
  }
  answer.text = table(rows) + "flow in pixels\n";
  answer.arrays = {{"pixels", places}, {"flow", flow}};
  return answer;
}

Answer of_box(const Box& box, const Tensor& flow) {
  Answer answer{.json = {{"box", {box.x0, box.y0, box.x1, box.y1}}}, .arrays = {{"flow", flow}}};
  const FlowField field{flow, flow.isfinite().all(0)};
  const double largest = largest_flow(field);
  const double mean = flow.norm(2, at::IntArrayRef{0}).mean().item<double>();
  answer.text = fmt::format("flow of {} x {} pixels: mean length {:.3f}, largest {:.3f}\n",
                            box.width(), box.height(), mean, largest);
  answer.flow = flow;
  answer.picture = flow_colours(field, std::max(largest, 1e-3));
  return answer;
}

}  // namespace

Tensor frames_in(OpticalFlowImpl& model, const LatentsFile& file) {
  const Tensor frames = required_array(file, "frames", at::kByte, {2, 3, kAny, kAny});
  if (frames.numel() == 0) fail("{}: its frames are empty", file.name);
  const FrameTiles tiles = cut_into_tiles(model.config(), frames, TilePlacement::kEven);
  const auto starts = file.geometry.find("tile_starts");
  if (starts == file.geometry.end() || starts->second != tile_starts(tiles) ||
      file.latents().size(0) != std::ssize(tiles.corners)) {
    fail("{}: its tiles are not those of frames of {} x {}", file.name, frames.size(3),
         frames.size(2));
  }
  return frames;
}

void encode_frames(OpticalFlowImpl& model, std::span<const File> files, LatentsFile& file,
                   const Hooks& hooks) {
  const Tensor frames = read_frames(files);
  const FrameTiles tiles = cut_into_tiles(model.config(), frames, TilePlacement::kEven);
  const auto num_tiles = static_cast<double>(tiles.corners.size());
  hooks.begin("encode", attention_work(model.summary(), "encoder.") * num_tiles);
  file.arrays = {{"latents", encode_tiles(model, frames)}, {"frames", frames}};
  file.geometry = {{"frame_size", {frames.size(2), frames.size(3)}},
                   {"tile_starts", tile_starts(tiles)}};
}

Answer answer_flow(OpticalFlowImpl& model, const LatentsFile& file, const Query& query) {
  const Tensor frames = frames_in(model, file);
  const FrameSize size{frames.size(2), frames.size(3)};
  if (!query.pixels.empty()) {
    if (!query.box.empty()) fail("--pixels and --box: ask for one of them");
    const std::vector<Pixel> pixels = parse_pixels(query.pixels, size);
    return of_pixels(pixels, flow_at(model, file.latents(), frames, flat_indices(pixels, size)));
  }
  const Box box = parse_box(query.box, size);
  const double share = static_cast<double>(box.width() * box.height()) / (size.height * size.width);
  query.hooks.begin("query",
                    attention_work(model.summary(), "decoder.") * file.latents().size(0) * share);
  const Tensor flow = flow_at(model, file.latents(), frames, box.pixels(size.width));
  return of_box(box, flow.t().reshape({2, box.height(), box.width()}));
}

}  // namespace perceiver
