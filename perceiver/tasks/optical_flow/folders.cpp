#include "perceiver/tasks/optical_flow/folders.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/core/config.h"
#include "perceiver/core/file.h"
#include "perceiver/media/flow.h"
#include "perceiver/media/image.h"

namespace perceiver {
namespace {

using Path = std::filesystem::path;
constexpr double kLongest = 1000.0;  // pixels

void add(std::vector<PairFiles>& pairs, PairFiles files) {
  for (const Path& path : {files.first, files.second}) {
    if (std::filesystem::exists(path)) continue;
    fail("{}: no such file, expected for the flow in {}", path.string(), files.flow.string());
  }
  pairs.push_back(std::move(files));
}

// The first of these folders that exists, else nothing.
Path one_of(const std::vector<Path>& folders) {
  for (const Path& folder : folders) {
    if (std::filesystem::is_directory(folder)) return folder;
  }
  return {};
}

// "frame_0001" -> "frame_0002"; nothing where the name does not end in a number.
std::string next_name(const std::string& stem) {
  const size_t digits = stem.find_last_not_of("0123456789") + 1;
  if (digits == stem.size() || stem.size() - digits > 9) return {};
  return fmt::format("{}{:0{}}", stem.substr(0, digits), std::stoi(stem.substr(digits)) + 1,
                     stem.size() - digits);
}

std::vector<PairFiles> sintel(const Path& folder, SintelPass pass) {
  const Path flow = one_of({folder / "training" / "flow", folder / "flow"});
  std::vector<PairFiles> pairs;
  if (flow.empty()) return pairs;
  for (const std::string name : {"clean", "final"}) {
    const bool wanted = pass == SintelPass::kBoth || to_word(pass) == name;
    const FlowSet set = name == "clean" ? FlowSet::kSintelClean : FlowSet::kSintelFinal;
    const Path frames = flow.parent_path() / name;
    if (!wanted || !std::filesystem::is_directory(frames)) continue;
    for (const Path& scene : sorted_entries(flow)) {
      if (!std::filesystem::is_directory(scene)) continue;
      for (const Path& file : sorted_entries(scene)) {
        const std::string next = next_name(file.stem().string());
        if (file.extension() != ".flo" || next.empty()) continue;
        const Path of_scene = frames / scene.filename();
        add(pairs, {of_scene / file.stem().concat(".png"), of_scene / (next + ".png"), file, set});
      }
    }
  }
  return pairs;
}

std::vector<PairFiles> kitti(const Path& folder) {
  const Path flow = one_of({folder / "training" / "flow_occ", folder / "flow_occ"});
  std::vector<PairFiles> pairs;
  if (flow.empty()) return pairs;
  const Path frames = flow.parent_path() / "image_2";
  for (const Path& file : sorted_entries(flow)) {
    const std::string name = file.filename().string();
    if (!name.ends_with("_10.png")) continue;
    const std::string second = name.substr(0, name.size() - 7) + "_11.png";
    add(pairs, {frames / name, frames / second, file, FlowSet::kKitti});
  }
  return pairs;
}

std::vector<PairFiles> flying_chairs(const Path& folder) {
  constexpr std::string_view kEnding = "_flow.flo";
  const Path data = one_of({folder / "data", folder});
  std::vector<PairFiles> pairs;
  for (const Path& file : sorted_entries(data)) {
    const std::string name = file.filename().string();
    if (!name.ends_with(kEnding)) continue;
    const std::string number = name.substr(0, name.size() - kEnding.size());
    add(pairs, {data / (number + "_img1.ppm"), data / (number + "_img2.ppm"), file});
  }
  return pairs;
}

// This folder's pair, where it holds just one, then those of the folders inside it.
void add_auto_flow(const Path& folder, std::vector<PairFiles>& pairs) {
  std::vector<Path> pictures, flows, inside;
  for (const Path& entry : sorted_entries(folder)) {
    if (std::filesystem::is_directory(entry)) {
      inside.push_back(entry);
    } else if (entry.extension() == ".flo") {
      flows.push_back(entry);
    } else if (has_image_ending(entry)) {
      pictures.push_back(entry);
    }
  }
  // AutoFlow's own have a backward.flo beside it.
  std::erase_if(flows, [](const Path& path) { return path.filename() == "backward.flo"; });
  if (pictures.size() == 2 && flows.size() == 1) add(pairs, {pictures[0], pictures[1], flows[0]});
  for (const Path& entry : inside) add_auto_flow(entry, pairs);
}

void check_size(const Tensor& x, const Tensor& like, const Path& path, const Path& other) {
  const auto height = [](const Tensor& t) { return t.size(-2); };
  const auto width = [](const Tensor& t) { return t.size(-1); };
  if (height(x) == height(like) && width(x) == width(like)) return;
  fail("{}: {} x {} pixels, expected {} x {} as in {}", path.string(), width(x), height(x),
       width(like), height(like), other.string());
}

}  // namespace

std::vector<PairFiles> find_pairs(const std::filesystem::path& folder, SintelPass pass) {
  std::vector<PairFiles> pairs = sintel(folder, pass);
  if (pairs.empty()) pairs = kitti(folder);
  if (pairs.empty()) pairs = flying_chairs(folder);
  if (pairs.empty()) add_auto_flow(folder, pairs);
  if (pairs.empty()) {
    fail(
        "{}: no pairs with flow, expected the folders of Sintel, KITTI 2015, FlyingChairs or "
        "AutoFlow",
        folder.string());
  }
  return pairs;
}

FlowPair read_pair(const PairFiles& files) {
  const Tensor first = decode_image(read_file(files.first));
  const Tensor second = decode_image(read_file(files.second));
  const FlowField field = decode_flow(read_file(files.flow));
  check_size(second, first, files.second, files.first);
  check_size(field.flow, first, files.flow, files.first);
  const Tensor valid = field.valid.logical_and(field.flow.abs().lt(kLongest).all(0));
  return {at::stack({first, second}), field.flow.masked_fill(valid.logical_not(), 0.0), valid};
}

}  // namespace perceiver
