#include "perceiver/tasks/optical_flow/folders.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "perceiver/core/error_test.h"
#include "perceiver/core/file.h"
#include "perceiver/media/flow.h"
#include "perceiver/media/image.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

class FlowFolders : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(root); }
  void TearDown() override { fs::remove_all(root); }

  void write(const fs::path& name, const std::string& bytes) const {
    fs::create_directories((root / name).parent_path());
    write_file(root / name, bytes);
  }
  // A picture all of whose values are `grey`, so that one can tell which was read.
  void picture(const fs::path& name, int grey, int64_t height = 4, int64_t width = 6) const {
    write(name, encode_png(at::full({3, height, width}, grey, at::kByte)));
  }
  void flow(const fs::path& name, float value, int64_t height = 4) const {
    write(name, encode_flo(at::full({2, height, 6}, value)));
  }
  std::vector<PairFiles> pairs(SintelPass pass = SintelPass::kBoth) const {
    return find_pairs(root, pass);
  }
  // Greys of the frames and the flow of each pair.
  std::vector<std::vector<double>> values() const {
    std::vector<std::vector<double>> all;
    for (const PairFiles& files : pairs()) {
      const FlowPair pair = read_pair(files);
      all.push_back({pair.frames[0][0][0][0].item<double>(), pair.frames[1][0][0][0].item<double>(),
                     pair.flow[0][0][0].item<double>()});
    }
    return all;
  }
  std::string path(const std::string& name) const { return (root / name).string(); }

  const fs::path root = fs::path(testing::TempDir()) / ("flow_folders_" + std::to_string(getpid()));
};

using Values = std::vector<std::vector<double>>;

TEST_F(FlowFolders, SintelHasEachSceneCleanAndFinal) {
  for (const std::string pass : {"clean", "final"}) {
    for (int i = 9; i <= 11; ++i) {
      picture(fmt::format("training/{}/alley/frame_{:04}.png", pass, i),
              i + (pass == "clean" ? 0 : 100));
    }
  }
  flow("training/flow/alley/frame_0009.flo", 1.5f);
  flow("training/flow/alley/frame_0010.flo", 2.5f);
  EXPECT_EQ(values(), (Values{{9, 10, 1.5}, {10, 11, 2.5}, {109, 110, 1.5}, {110, 111, 2.5}}));
  EXPECT_EQ(pairs(SintelPass::kFinal).size(), 2u);
  EXPECT_EQ(pairs(SintelPass::kFinal)[1].set, FlowSet::kSintelFinal);
  EXPECT_EQ(pairs(SintelPass::kClean)[1].set, FlowSet::kSintelClean);
  EXPECT_EQ(pairs(SintelPass::kFinal)[0].first, root / "training/final/alley/frame_0009.png");
}

TEST_F(FlowFolders, KittiKnowsSomePixels) {
  picture("training/image_2/000007_10.png", 1);
  picture("training/image_2/000007_11.png", 2);
  Tensor valid = at::zeros({4, 6}, at::kBool);
  valid[0][0] = true;
  write("training/flow_occ/000007_10.png", encode_kitti_flow({at::full({2, 4, 6}, -3.0), valid}));
  EXPECT_EQ(values(), (Values{{1, 2, -3.0}}));
  EXPECT_TRUE(read_pair(pairs()[0]).valid.equal(valid));
  EXPECT_EQ(pairs()[0].set, FlowSet::kKitti);
}

TEST_F(FlowFolders, FlyingChairsAreNumberedFiles) {
  const auto ppm = [](char grey) { return "P6 6 4 255\n" + std::string(72, grey); };
  for (const std::string number : {"00001", "00002"}) {
    write("data/" + number + "_img1.ppm", ppm(3));
    write("data/" + number + "_img2.ppm", ppm(4));
    flow("data/" + number + "_flow.flo", number == "00001" ? 1.0f : 2.0f);
  }
  EXPECT_EQ(values(), (Values{{3, 4, 1.0}, {3, 4, 2.0}}));
}

TEST_F(FlowFolders, AutoFlowHasAFolderForEachPair) {
  for (const std::string name : {"table_0_run_0", "table_0_run_1"}) {
    picture("auto/" + name + "/im0.png", 5);
    picture("auto/" + name + "/im1.png", 6);
    flow("auto/" + name + "/forward.flo", 1.0f);
    flow("auto/" + name + "/backward.flo", -1.0f);
  }
  EXPECT_EQ(values(), (Values{{5, 6, 1.0}, {5, 6, 1.0}}));
}

TEST_F(FlowFolders, VeryLongVectorsAreUnknown) {
  picture("im0.png", 5);
  picture("im1.png", 6);
  flow("forward.flo", 1000.0f);
  const FlowPair pair = read_pair(pairs().at(0));
  EXPECT_FALSE(pair.valid.any().item<bool>());
  EXPECT_TRUE(pair.flow.eq(0.0).all().item<bool>());
}

TEST_F(FlowFolders, ErrorsNameTheFile) {
  EXPECT_EQ(error_of([&] { pairs(); }),
            root.string() +
                ": no pairs with flow, expected the folders of Sintel, KITTI 2015, FlyingChairs or "
                "AutoFlow");
  picture("clean/alley/frame_0001.png", 1);
  flow("flow/alley/frame_0001.flo", 1.0f);
  EXPECT_EQ(error_of([&] { pairs(); }), path("clean/alley/frame_0002.png") +
                                            ": no such file, expected for the flow in " +
                                            path("flow/alley/frame_0001.flo"));
  picture("clean/alley/frame_0002.png", 1, 4, 7);
  EXPECT_EQ(error_of([&] { read_pair(pairs()[0]); }), path("clean/alley/frame_0002.png") +
                                                          ": 7 x 4 pixels, expected 6 x 4 as in " +
                                                          path("clean/alley/frame_0001.png"));
  picture("clean/alley/frame_0002.png", 1);
  flow("flow/alley/frame_0001.flo", 1.0f, 5);
  EXPECT_EQ(error_of([&] { read_pair(pairs()[0]); }), path("flow/alley/frame_0001.flo") +
                                                          ": 6 x 5 pixels, expected 6 x 4 as in " +
                                                          path("clean/alley/frame_0001.png"));
  write("flow/alley/frame_0001.flo", "PIEH");
  EXPECT_EQ(error_of([&] { read_pair(pairs()[0]); }),
            path("flow/alley/frame_0001.flo") + ": broken .flo: cut short");
}

}  // namespace
}  // namespace perceiver
