// Pairs with true flow in the folders that data sets come in: Sintel, KITTI 2015, FlyingChairs and
// AutoFlow.
#pragma once

#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include "perceiver/tasks/optical_flow/pair.h"

namespace perceiver {

struct PairFiles {
  std::filesystem::path first, second, flow;
  FlowSet set = FlowSet::kOther;
};

// Sintel shows each scene twice: clean, and as in the film, with blur and fog.
enum class SintelPass { kClean, kFinal, kBoth };
constexpr std::array<std::string_view, 3> enum_words(SintelPass) {
  return {"clean", "final", "both"};
}

// The pairs of a folder, in the order of their names, by its layout:
//   Sintel        [training/]{clean,final}/SCENE/frame_0001.png,
//   [training/]flow/SCENE/frame_0001.flo KITTI 2015    [training/]image_2/000000_{10,11}.png,
//   [training/]flow_occ/000000_10.png FlyingChairs  [data/]00001_{img1,img2}.ppm,
//   [data/]00001_flow.flo AutoFlow      at any depth a folder each pair: two pictures (im0.png,
//   im1.png) and a .flo
// Fails when there is none, or when a file of a pair is missing.
std::vector<PairFiles> find_pairs(const std::filesystem::path& folder, SintelPass pass);

// Fails when the three do not have the same size. Vectors of 1000 pixels and more are taken for
// unknown, as RAFT does.
FlowPair read_pair(const PairFiles& files);

}  // namespace perceiver
