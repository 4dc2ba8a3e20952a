#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include "cli/format.h"
#include "cli/progress.h"
#include "cli/query.h"
#include "cli/selection.h"
#include "perceiver/core/error.h"
#include "perceiver/tasks/optical_flow/draw.h"
#include "perceiver/tasks/optical_flow/latents.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

// The frames, which latents of this many tiles must be of.
Tensor frames_of(OpticalFlowImpl& model, const LatentsFile& file, const std::string& path) {
  const Tensor frames = required_array(file, "frames", at::kByte, {2, 3, kAny, kAny}, path);
  if (frames.numel() == 0) fail("{}: its frames are empty", path);
  const FrameTiles tiles = cut_into_tiles(model.config(), frames, TilePlacement::kEven);
  const auto starts = file.geometry.find("tile_starts");
  if (starts == file.geometry.end() || starts->second != tile_starts(tiles) ||
      file.latents().size(0) != std::ssize(tiles.corners)) {
    fail("{}: its tiles are not those of frames of {} x {}", path, frames.size(3), frames.size(2));
  }
  return frames;
}

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

// flow [2, h, w] as rows of pixels.
Json rows_of(const Tensor& flow) {
  const Tensor pixels = flow.permute({1, 2, 0}).contiguous();
  const auto value = pixels.accessor<float, 3>();
  Json rows = Json::array();
  for (int64_t y = 0; y < value.size(0); ++y) {
    Json row = Json::array();
    for (int64_t x = 0; x < value.size(1); ++x) row.push_back({value[y][x][0], value[y][x][1]});
    rows.push_back(std::move(row));
  }
  return rows;
}

Answer of_box(const Box& box, const Tensor& flow, bool json) {
  Answer answer{.json = {{"box", {box.x0, box.y0, box.x1, box.y1}}}, .arrays = {{"flow", flow}}};
  if (json) answer.json["flow"] = rows_of(flow);  // large: only where it is shown
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

Answer ask_flow(OpticalFlowImpl& model, const LatentsFile& file, const QueryArgs& args) {
  const Tensor frames = frames_of(model, file, args.file);
  const FrameSize size{frames.size(2), frames.size(3)};
  if (!args.pixels.empty()) {
    if (!args.box.empty()) fail("--pixels and --box: ask for one of them");
    const std::vector<Pixel> pixels = parse_pixels(args.pixels, size);
    return of_pixels(pixels, flow_at(model, file.latents(), frames, flat_indices(pixels, size)));
  }
  const Box box = parse_box(args.box, size);
  const double share = static_cast<double>(box.width() * box.height()) / (size.height * size.width);
  ModelSummary decoder;
  for (const Part& part : model.summary().parts) {
    if (part.name.starts_with("decoder.")) decoder.parts.push_back(part);
  }
  const PassProgress progress("query", attention_work(decoder) * file.latents().size(0) * share);
  const Tensor flow = flow_at(model, file.latents(), frames, box.pixels(size.width));
  return of_box(box, flow.t().reshape({2, box.height(), box.width()}),
                args.json && args.output.empty());
}

}  // namespace perceiver
