// perceiver flow, with a model that sees the same motion everywhere.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "perceiver/media/flow.h"
#include "perceiver/media/video.h"
#include "tests/constant_flow.h"

namespace perceiver {
namespace {

using Json = nlohmann::json;

Tensor constant_flow(int64_t height, int64_t width, float x = kX, float y = kY) {
  return at::tensor({x, y}).view({2, 1, 1}).expand({2, height, width}).contiguous();
}

using CliFlow = ConstantFlow;

TEST_F(CliFlow, WritesTheFlowOfEveryPixelAtAnySize) {
  for (const auto& [height, width] : {std::pair{24, 30}, {16, 20}, {5, 3}, {1, 1}, {10, 70}}) {
    write_frame("x", height, width);
    write_frame("y", height, width);
    for (const std::string tiles : {"", " --tiles notebook"}) {
      EXPECT_TRUE(flow("@x.png @y.png -o @xy.flo" + tiles).ends_with(path("xy.flo\n")));
      const FlowField field = decode_flow(read_file(path("xy.flo")));
      EXPECT_TRUE(field.flow.equal(constant_flow(height, width)));
    }
  }
  flow("@x.png @y.png -o @xy.flo --semantics huggingface");
  const Tensor scaled = decode_flow(read_file(path("xy.flo"))).flow;
  EXPECT_TRUE(at::allclose(scaled, constant_flow(10, 70))) << "in pixels too";
}

// In a picture of one colour, a constant is found again at each size: 1 + 2 of it at two, 1 + 2 + 4
// at three.
TEST_F(CliFlow, LevelsAreTheModelsUnlessOthersAreAskedFor) {
  for (const char* name : {"x.png", "y.png"}) {
    write_file(path(name), encode_png(at::full({3, 64, 80}, 128, at::kByte)));
  }
  const auto flow_at = [&](const std::string& options, const std::string& model) {
    const Result result = run("flow -q " + path("x.png ") + path("y.png -o ") + path("levels.flo") +
                              options + " -m " + path(model));
    EXPECT_EQ(result.code, 0) << result.err;
    return decode_flow(read_file(path("levels.flo"))).flow;
  };
  EXPECT_TRUE(flow_at("", "model").equal(constant_flow(64, 80)));
  EXPECT_TRUE(flow_at(" --levels 2", "model").equal(constant_flow(64, 80, 3 * kX, 3 * kY)));
  fs::copy(path("model"), path("model_of_levels"));
  std::string config = read_file(path("model/config.json")).bytes;
  const std::string levels = "model.levels = ";
  config.replace(config.find(levels) + levels.size(), 1, "3");
  write_file(path("model_of_levels/config.json"), config);
  EXPECT_TRUE(flow_at("", "model_of_levels").equal(constant_flow(64, 80, 7 * kX, 7 * kY)));
  EXPECT_TRUE(flow_at(" --levels 1", "model_of_levels").equal(constant_flow(64, 80)));
}

TEST_F(CliFlow, EndingOrFormatDecidesWhatIsWritten) {
  const std::string frames = "@frames/a.png @frames/b.png ";
  flow(frames + "-o @colours.png");
  const Tensor colours = decode_image(read_file(path("colours.png")));
  EXPECT_TRUE(colours.eq(colours.select(2, 0).select(1, 0).view({3, 1, 1})).all().item<bool>());
  flow(frames + "-o @fast.png --max-flow 1");
  EXPECT_LT(decode_image(read_file(path("fast.png"))).max().item<int>(), 192) << "out of range";
  flow(frames + "-o @legend.png --legend");
  EXPECT_FALSE(decode_image(read_file(path("legend.png"))).equal(colours));

  for (const std::string option : {"--kitti", "--format kitti"}) {
    flow(frames + "-o @kitti.png " + option);
    EXPECT_TRUE(decode_flow(read_file(path("kitti.png"))).flow.equal(constant_flow(24, 30)));
  }
  flow(frames + "-o @arrows.png --arrows");
  const Tensor changed = decode_image(read_file(path("arrows.png")))
                             .ne(decode_image(read_file(path("frames/a.png"))))
                             .any(0);
  EXPECT_GT(changed.sum().item<int64_t>(), 0);
  EXPECT_LT(changed.sum().item<int64_t>(), changed.numel());
}

TEST_F(CliFlow, WithoutAnOutputItIsInTheWorkingFolder) {
  const std::string there = "cd " + folder + " &&";
  const auto last_line = [&](const std::string& arguments) {
    const std::string out = run("flow -q -m model " + arguments, there).out;
    return out.substr(out.rfind('\n', out.size() - 2) + 1);
  };
  EXPECT_EQ(last_line("frames/a.png frames/b.png"), "flow.png\n");
  EXPECT_EQ(last_line("frames/a.png frames/b.png --format flo"), "flow.flo\n");
  EXPECT_EQ(last_line("frames"), "flow\n");
  EXPECT_TRUE(fs::exists(path("flow.png")));
  EXPECT_TRUE(fs::exists(path("flow.flo")));
  EXPECT_TRUE(fs::exists(path("flow/a.png")));
  EXPECT_TRUE(fs::exists(path("flow/b.png")));
  EXPECT_FALSE(fs::exists(path("flow/c.png")));
}

TEST_F(CliFlow, WithoutInputsItIsAShippedPairBesideItsTruth) {
  const Json document = Json::parse(flow("--json -o @sample.png"));
  ASSERT_EQ(document["pairs"].size(), 1u);
  EXPECT_EQ(document["pairs"][0]["first"],
            (shipped("samples/flow/objects") / "frame1.png").string());
  EXPECT_EQ(document["measures"]["pixels"], 384 * 224);
}

TEST_F(CliFlow, FoldersOfFoldersAreClipsOfTheirOwn) {
  for (const char* clip : {"clips/one", "clips/more/two", "clips/bad"}) {
    fs::create_directories(path(clip));
    for (const char* name : {"/a", "/b"}) write_frame(clip + std::string(name), 16, 20);
  }
  write_file(path("clips/bad/b.png"), "no picture");
  const Result result = run(filled("@clips -o @flows --format flo --json"));
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err, "perceiver: " + path("clips/bad/b.png") +
                            ": not a picture: expected PNG, JPEG, PPM, WebP, GIF, BMP, TIFF or "
                            "AVIF\nperceiver: 1 of 3 clips could not be read\n");
  const Json document = Json::parse(result.out);
  ASSERT_EQ(document.size(), 2);
  EXPECT_EQ(document[0]["output"], path("flows/more/two"));
  EXPECT_EQ(document[1]["pairs"][0]["first"], path("clips/one/a.png"));
  EXPECT_TRUE(fs::exists(path("flows/more/two/a.flo")));
  EXPECT_TRUE(fs::exists(path("flows/one/a.flo")));
  EXPECT_FALSE(fs::exists(path("flows/bad")));
  expect_flow_complaint("@clips -o @flows.png",
                        "@flows.png: one file cannot hold the flow of a folder of clips; give a "
                        "folder");
}

TEST_F(CliFlow, VideosOfAFolderBecomeVideosOfFlow) {
  if (!video_is_built_in()) GTEST_SKIP() << "built without FFmpeg's libraries";
  fs::create_directories(path("videos/inside"));
  VideoWriter video(path("videos/inside/clip.avi"),
                    {.height = 16, .width = 20, .frames_per_second = 5.0});
  for (int i = 0; i < 3; ++i) video.write(at::randint(0, 256, {3, 16, 20}, at::kByte));
  video.finish();
  flow("@videos -o @flow_videos");
  EXPECT_EQ(VideoReader(read_file(path("flow_videos/inside/clip.avi"))).info().width, 40);
}

TEST_F(CliFlow, ColoursOfSeveralPairsKeepOneScale) {
  fs::create_directories(path("still"));
  for (const char* name : {"still/a", "still/b", "still/c"}) write_frame(name, 16, 20);
  flow("@still -o @still_colours");
  flow("@still/a.png @still/b.png -o @still_pair.png --max-flow 2.236068");
  const auto picture = [](const std::string& name) { return decode_image(read_file(path(name))); };
  EXPECT_TRUE(picture("still_colours/a.png").equal(picture("still_colours/b.png")));
  EXPECT_TRUE(picture("still_colours/a.png").equal(picture("still_pair.png")));
}

TEST_F(CliFlow, GroundTruthIsMeasuredAgainst) {
  write_file(path("truth.flo"), encode_flo(constant_flow(24, 30, kX + 3, kY + 4)));
  EXPECT_EQ(flow("@frames/a.png @frames/b.png -o @t.png --ground-truth @truth.flo "
                 "--error-picture @error.png"),
            "         mean flow  longest       EPE    > 1 px    > 3 px  > 5 px    Fl-all\n"
            "  a.png    2.24 px  2.24 px  5.000 px  100.00 %  100.00 %  0.00 %  100.00 %\n" +
                path("t.png\n") + path("error.png\n"));
  EXPECT_EQ(decode_image(read_file(path("error.png"))).sizes(), (std::vector<int64_t>{3, 24, 30}));
}

TEST_F(CliFlow, FolderIsOnePairAfterAnother) {
  fs::create_directory(path("truths"));
  write_file(path("truths/a.flo"), encode_flo(constant_flow(24, 30, kX + 1, kY)));
  write_file(path("truths/b.flo"), encode_flo(constant_flow(24, 30, kX + 4, kY)));
  const Json all = Json::parse(
      flow("@frames -o @out --format flo --json --ground-truth @truths --error-picture @errors"));
  EXPECT_EQ(all["output"], path("out"));
  EXPECT_EQ(all["measures"]["epe"], 2.5);
  EXPECT_EQ(all["measures"]["above_3px"], 0.5);
  EXPECT_EQ(all["measures"]["pixels"], 2 * 24 * 30);
  ASSERT_EQ(all["pairs"].size(), 2);
  const Json& second = all["pairs"][1];
  EXPECT_EQ(second["first"], path("frames/b.png"));
  EXPECT_EQ(second["second"], path("frames/c.png"));
  EXPECT_EQ(second["output"], path("out/b.flo"));
  EXPECT_EQ(second["error_picture"], path("errors/b.png"));
  EXPECT_EQ(second["measures"]["epe"], 4.0);
  EXPECT_NEAR(second["mean_flow"], std::sqrt(5.0), 1e-6);
  EXPECT_GE(second["seconds"], 0.0);
  EXPECT_TRUE(decode_flow(read_file(path("out/a.flo"))).flow.equal(constant_flow(24, 30)));

  std::istringstream lines(flow("@frames -o @out --jsonl"));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_EQ(Json::parse(line)["output"], path(count == 0 ? "out/a.png" : "out/b.png"));
  }
  EXPECT_EQ(count, 2);
}

TEST_F(CliFlow, ConsistencyIsWhiteWhereTheFlowBackConfirms) {
  const Json pair = Json::parse(
      flow("@frames/a.png @frames/b.png -o @c.png --consistency @mask.png --json"))["pairs"][0];
  // There and back are the same vector, so it never comes back.
  EXPECT_EQ(pair["consistent"], 0.0);
  EXPECT_EQ(pair["consistency"], path("mask.png"));
  EXPECT_EQ(decode_image(read_file(path("mask.png"))).max().item<int>(), 0);
}

TEST_F(CliFlow, ShowDrawsAndMeasuresFilesOfFlow) {
  write_file(path("zero.flo"), encode_flo(at::zeros({2, 24, 30})));
  const Tensor moving = at::randn({2, 24, 30}) * 5;
  write_file(path("moving.flo"), encode_flo(moving));
  const Json shown =
      Json::parse(flow("--show @zero.flo -o @zero.png --ground-truth @moving.flo --json"));
  EXPECT_NEAR(shown["measures"]["epe"], moving.norm(2, 0).mean().item<double>(), 1e-5);
  EXPECT_TRUE(decode_image(read_file(path("zero.png"))).eq(255).all().item<bool>());

  flow("--show @moving.flo -o @moving.png --kitti");
  flow("--show @moving.png -o @again.flo");
  const Tensor again = decode_flow(read_file(path("again.flo"))).flow;
  EXPECT_LE((again - moving).abs().max().item<double>(), 0.5 / 64 + 1e-6) << "KITTI's steps";
  EXPECT_EQ(flow("--show @moving.flo @frames/a.png --arrows -o @arrows.png --jsonl").back(), '\n');
  expect_flow_complaint("--show @moving.flo --arrows -o @n.png",
                        "--show with arrows needs the frame to draw them over: flow --show "
                        "@moving.flo FRAME --arrows");
  expect_flow_complaint("--show @moving.flo @frames/a.png",
                        "@frames/a.png: --show takes a frame for --arrows alone");
  write_frame("narrow", 24, 29);
  expect_flow_complaint("--show @moving.flo --arrows @narrow.png",
                        "@narrow.png is 29 x 24, @moving.flo is 30 x 24: the two must have one "
                        "size");
  expect_flow_complaint("--show @moving.flo -o @n.mp4",
                        "@n.mp4: --show draws one picture, no video");
  expect_flow_complaint("@moving.flo",
                        "@moving.flo: is flow, expected frames; draw it with --show "
                        "@moving.flo");
}

TEST_F(CliFlow, VideosGoInAndOut) {
  if (!video_is_built_in()) GTEST_SKIP() << "a build without FFmpeg";
  flow("@frames -o @clip.mkv --fps 5");
  std::optional<VideoReader> written(std::in_place, read_file(path("clip.mkv")));
  EXPECT_EQ(written->info().width, 60) << "the frame beside its flow";
  EXPECT_EQ(written->info().frames_per_second, 5.0);
  // Its two frames make one pair.
  const Json again = Json::parse(flow("@clip.mkv -o @clip --format flo --json"));
  ASSERT_EQ(again["pairs"].size(), 1);
  EXPECT_EQ(again["pairs"][0]["output"], path("clip/000001.flo"));
  EXPECT_EQ(decode_flow(read_file(path("clip/000001.flo"))).flow.size(2), 60);
  flow("@clip.mkv -o @arrows.mp4 --arrows");
  EXPECT_EQ(VideoReader(read_file(path("arrows.mp4"))).info().width, 60);
  expect_flow_complaint("@clip.mkv -o @clip.flo",
                        "@clip.flo: one file cannot hold the flow of several pairs; give a folder, "
                        "or a video with -o");
  expect_flow_complaint("@arrows.mp4 -o @n.mp4", "@arrows.mp4: has one frame, flow needs two");
  expect_flow_complaint("@clip.mkv -o @clip.mkv",
                        "@clip.mkv: is an input and would be overwritten; give another output");
}

}  // namespace
}  // namespace perceiver
