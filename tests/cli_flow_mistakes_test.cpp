// What perceiver flow says of wrong inputs, ground truths and outputs.
#include "perceiver/media/flow.h"
#include "tests/constant_flow.h"

namespace perceiver {
namespace {

using CliFlowMistakes = ConstantFlow;

TEST_F(CliFlowMistakes, OfTheInputAreOneLine) {
  const std::string a = "@frames/a.png ";
  expect_flow_complaint(a + "@nowhere.png", "@nowhere.png: cannot open: No such file or directory");
  expect_flow_complaint(a,
                        "@frames/a.png: one picture, flow needs two; give a second one, a "
                        "folder or a video");
  expect_flow_complaint(a + "@frames", "@frames: is a folder, expected a file");
  fs::create_directory(path("empty"));
  expect_flow_complaint(
      "@empty", "@empty: no picture in it, expected PNG, JPEG, PPM, WebP, GIF, BMP, TIFF or AVIF");
  fs::create_directory(path("single"));
  write_frame("single/a", 4, 4);
  expect_flow_complaint("@single", "@single: one picture, flow needs two");
  write_file(path("text.png"), "Not a picture.");
  expect_flow_complaint(
      a + "@text.png",
      "@text.png: not a picture: expected PNG, JPEG, PPM, WebP, GIF, BMP, TIFF or AVIF");
  write_file(path("cut.png"), read_file(path("frames/a.png")).bytes.substr(0, 700));
  const Result cut = run(filled(a + "@cut.png"));
  EXPECT_EQ(cut.code, 1);
  EXPECT_TRUE(cut.err.starts_with("perceiver: " + path("cut.png: broken PNG: "))) << cut.err;
  write_frame("small", 8, 9);
  expect_flow_complaint(a + "@small.png",
                        "@frames/a.png is 30 x 24, @small.png is 9 x 8: the two frames must have "
                        "one size");
}

TEST_F(CliFlowMistakes, OfTheGroundTruthAreOneLine) {
  const std::string frames = "@frames/a.png @frames/b.png -o @n.png ";
  write_file(path("other.flo"), encode_flo(at::zeros({2, 8, 9})));
  expect_flow_complaint(frames + "--ground-truth @other.flo",
                        "@other.flo is 9 x 8, expected 30 x 24: ground truth must have the frames' "
                        "size");
  expect_flow_complaint(frames + "--ground-truth @frames/c.png",
                        "@frames/c.png: not a flow: PNG of 3 channels of 8 bits, expected KITTI's "
                        "3 of 16");
  fs::create_directory(path("none"));
  expect_flow_complaint("@frames --ground-truth @none",
                        "@none: no ground truth that has the name of a frame, such as a.flo");
  write_file(path("right.flo"), encode_flo(at::zeros({2, 24, 30})));
  expect_flow_complaint("@frames --ground-truth @right.flo",
                        "@right.flo: is a file; several pairs need a folder");
  EXPECT_FALSE(fs::exists(path("n.png")));
}

TEST_F(CliFlowMistakes, OfTheOutputAreFoundBeforeTheWork) {
  const std::string frames = "@frames/a.png @frames/b.png ";
  expect_flow_complaint(frames + "-o @n.xyz",
                        "@n.xyz: unknown ending '.xyz', expected .flo, .png, a video's such as "
                        ".mp4, or none for a folder");
  expect_flow_complaint(frames + "-o @n.flo --arrows",
                        "@n.flo: --format arrows is written to files that end in .png");
  expect_flow_complaint(frames + "-o @n.mp4 --kitti",
                        "@n.mp4: a video cannot hold --format kitti, give a folder or a file that "
                        "ends in .png");
  expect_flow_complaint(frames + "-o @nowhere/n.flo",
                        "@nowhere/n.flo: there is no folder @nowhere");
  expect_flow_complaint(frames + "-o /dev/null",
                        "/dev/null: is no folder, and the name of a file must have an ending");
  expect_flow_complaint("@frames -o @n.flo",
                        "@n.flo: one file cannot hold the flow of several pairs; give a folder, or "
                        "a video with -o");
  expect_flow_complaint(frames + "-o @frames/../frames/b.png",
                        "@frames/../frames/b.png: is an input and would be overwritten; give "
                        "another output");
  expect_flow_complaint("@frames -o @frames",
                        "@frames/a.png: is an input and would be overwritten; give another output");
  expect_flow_complaint(frames + "-o @n.png --consistency @n.png",
                        "@n.png: is asked for twice; each output needs its own place");
  expect_flow_complaint(frames + "-o @n.png --consistency @n.jpg",
                        "--consistency @n.jpg: expected a name that ends in .png, or a folder");
  expect_flow_complaint(frames + "--error-picture @n.png",
                        "--error-picture needs --ground-truth; see 'perceiver flow -h'");
  fs::create_directory(path("twins"));
  for (const char* name : {"a.png", "a.ppm", "b.png"}) {
    fs::copy(path("frames/a.png"), path("twins/") + name);
  }
  expect_flow_complaint("@twins -o @n", "@n/a.png: two frames have this name, 'a'");
}

TEST_F(CliFlowMistakes, FullDiskAndWrongModelsAreOneLine) {
  const std::string frames = "@frames/a.png @frames/b.png ";
  fs::create_symlink("/dev/full", path("full.flo"));
  expect_flow_complaint(frames + "-o @full.flo",
                        "@full.flo: cannot write: No space left on device");
  const std::string classifier = "tests/golden/huggingface/text-classifier";
  const Result wrong = run("flow -m " + classifier + " " + path("frames") + " -o " + path("n.mp4"));
  EXPECT_EQ(wrong.code, 1);
  EXPECT_TRUE(wrong.err.ends_with(
      "perceiver: " + classifier +
      "/model.safetensors: flow needs a model of the task optical_flow, got text_classifier\n"))
      << wrong.err;
  EXPECT_FALSE(fs::exists(path("n.mp4")));
}

}  // namespace
}  // namespace perceiver
