// perceiver data flow: pairs in folders, made again as they were.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/media/flow.h"
#include "perceiver/media/image.h"
#include "tests/program.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

class CliDataFlow : public testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder); }
  Result make(const std::string& options) const {
    return run("data flow -o " + folder + " --threads 1 " + options);
  }
  File file(const std::string& name) const { return read_file(fs::path(folder) / name); }

  const std::string folder = testing::TempDir() + "data_flow_" + std::to_string(getpid());
};

TEST_F(CliDataFlow, WritesAutoFlowsFoldersAndGoesOnWhereItStopped) {
  const Result first = make("--count 2 --size 48x32");
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out, folder + "\n");
  const Tensor picture = decode_image(file("table_0_run_000001/im0.png"));
  EXPECT_EQ(picture.sizes(), (std::vector<int64_t>{3, 32, 48}));
  EXPECT_EQ(decode_image(file("table_0_run_000001/im1.png")).sizes(), picture.sizes());
  const File flow = file("table_0_run_000001/forward.flo");
  EXPECT_TRUE(decode_flow(flow).valid.all().item<bool>());

  fs::remove(folder + "/table_0_run_000001/forward.flo");  // as if stopped before
  write_file(folder + "/table_0_run_000000/im0.png", "left alone");
  EXPECT_EQ(make("--count 3 --size 48x32").code, 0);
  EXPECT_EQ(file("table_0_run_000001/forward.flo").bytes, flow.bytes);
  EXPECT_EQ(file("table_0_run_000000/im0.png").bytes, "left alone");
  EXPECT_TRUE(fs::exists(folder + "/table_0_run_000002/forward.flo"));
  EXPECT_FALSE(fs::exists(folder + "/table_0_run_000003"));
}

TEST_F(CliDataFlow, OtherOptionsAreNotMixedIntoAFolder) {
  ASSERT_EQ(make("--count 1 --size 48x32").code, 0);
  const Result other = make("--count 1 --size 48x32 --seed 1");
  EXPECT_EQ(other.code, 1);
  EXPECT_EQ(other.err, "perceiver: " + folder +
                           "/generator.toml: pairs made with other options are in this folder; "
                           "take the same or another folder\n");
}

TEST_F(CliDataFlow, SaysWhatASizeIs) {
  for (const std::string size : {"48", "48x", "48x32x", "8x48", "48x9000"}) {
    const Result result = make("--count 1 --size " + size);
    EXPECT_EQ(result.code, 1);
    EXPECT_EQ(result.err,
              "perceiver: --size is WIDTHxHEIGHT, each from 16 to 8192, got '" + size + "'\n");
    EXPECT_FALSE(fs::exists(folder));
  }
}

TEST_F(CliDataFlow, CutOutsMustBeSeen) {
  const std::string cutouts = folder + "_cutouts";
  fs::create_directories(cutouts);
  write_file(cutouts + "/empty.png", encode_png(at::zeros({4, 20, 20}, at::kByte)));
  const Result result = make("--count 5 --size 48x32 --cutouts " + cutouts);
  fs::remove_all(cutouts);
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err,
            "perceiver: " + cutouts + "/empty.png: nothing of this cut-out can be seen\n");
}

}  // namespace
}  // namespace perceiver
