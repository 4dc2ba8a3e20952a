// perceiver encode and perceiver query, on small models with random weights.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "perceiver/media/flow.h"
#include "perceiver/media/image.h"
#include "perceiver/media/sound.h"
#include "perceiver/weights/safetensors.h"
#include "tests/program.h"

namespace perceiver {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

class CliQuery : public testing::Test {
 protected:
  CliQuery() { fs::create_directories(folder); }
  ~CliQuery() override { fs::remove_all(folder); }

  std::string at(const std::string& name) const { return (folder / name).string(); }

  static Json json_of(const std::string& arguments) {
    const Result result = run(arguments + " --json");
    EXPECT_EQ(result.code, 0) << result.err;
    return Json::parse(result.out, nullptr, false);
  }

  const fs::path folder = fs::path(testing::TempDir()) / ("query_" + std::to_string(getpid()));
  const std::string z = at("z.safetensors");
};

const std::string kFlow = "tests/golden/huggingface/optical-flow";
const std::string kLanguage = "tests/golden/huggingface/language";
const std::string kFrames =
    "tests/golden/media/linear_opencv_53x37_to_64x48.png "
    "tests/golden/media/cubic_opencv_53x37_to_64x48.png ";

constexpr const char* kClipModel = R"(
task = "multimodal"
[model]
num_frames = 4
image_size = 8
samples_per_frame = 320
samples_per_patch = 32
num_image_bands = 3
num_audio_bands = 5
num_classes = 11
label_query_channels = 20
output_channels = 12
train_queries = { audio = 4, image = 7 }
encoder = { num_latents = 6, latent_channels = 16, self_attends_per_block = 1 }
)";

TEST_F(CliQuery, PartsOfTheFlowAreThoseOfTheWhole) {
  const Result whole = run("flow -q " + kFrames + "-m " + kFlow + " -o " + at("whole.flo"));
  ASSERT_EQ(whole.code, 0) << whole.err;
  const Tensor flow = decode_flow(read_file(at("whole.flo"))).flow;

  const Result encoded = run("encode -q " + kFrames + "-m " + kFlow + " -o " + z);
  ASSERT_EQ(encoded.code, 0) << encoded.err;
  EXPECT_EQ(encoded.out, "latents 25 x 24 x 32\n" + z + "\n");

  const Result box = run("query -q " + z + " --box 3,5,40,20 -o " + at("box.flo"));
  EXPECT_EQ(box.code, 0) << box.err;
  EXPECT_EQ(box.out, at("box.flo") + "\n");
  EXPECT_TRUE(at::allclose(decode_flow(read_file(at("box.flo"))).flow,
                           flow.slice(1, 5, 20).slice(2, 3, 40), 1e-4, 1e-4));
  EXPECT_EQ(run("query -q " + z + " -o " + at("whole.png")).code, 0);
  EXPECT_EQ(decode_image(read_file(at("whole.png"))).sizes(), (std::vector<int64_t>{3, 48, 64}));

  const Json pixels = json_of("query -q " + z + " --pixels 0,0 63,47 -m " + kFlow)["pixels"];
  ASSERT_EQ(pixels.size(), 2u);
  EXPECT_EQ(pixels[1]["x"], 63);
  EXPECT_NEAR(pixels[1]["flow"][1].get<double>(), flow[1][47][63].item<double>(), 1e-3);

  const std::string query = "query -q " + z;
  expect_complaint(query + " --pixels 1", "--pixels: expected x,y for each pixel, got '1'");
  expect_complaint(query + " --pixels 1,2 64,0",
                   "--pixels 64,0: is not in the frame of 64 x 48, counted from 0");
  expect_complaint(query + " --pixels 1,2 --box 0,0,1,1",
                   "--pixels and --box: ask for one of them");
  expect_complaint(query + " --box 1,2,3", "--box: expected x0,y0,x1,y1 in pixels, got '1,2,3'");
  expect_complaint(query + " --box 3,3,3,9",
                   "--box 3,3,3,9: is empty; x1 and y1 are the first pixels outside");
  expect_complaint(query + " --pixels 1,2 -o a.flo",
                   "-o a.flo: the answer is no flow of a box; ask optical flow for --box, or take "
                   ".safetensors");
  expect_complaint(query + " -o a.wav",
                   "-o a.wav: the answer is no sound; ask for --seconds, or take .safetensors");
}

TEST_F(CliQuery, FilesThatDoNotFitTheModelAreRefused) {
  const std::string bad = at("bad.safetensors");
  // The file with other arrays or metadata, asked.
  const auto complaint = [&](const std::function<void(Safetensors&)>& change) {
    Safetensors file = read_safetensors(z);
    change(file);
    write_safetensors(bad, {file.tensors.begin(), file.tensors.end()}, file.metadata);
    const std::string error = run("query -q " + bad).err, place = "perceiver: " + bad + ": ";
    return error.starts_with(place) ? error.substr(place.size()) : error;
  };
  ASSERT_EQ(run("encode -q " + kFrames + "-m " + kFlow + " -o " + z).code, 0);
  EXPECT_EQ(complaint([](Safetensors& f) { f.tensors.erase("frames"); }),
            "has no array 'frames'\n");
  EXPECT_EQ(complaint([](Safetensors& f) {
              f.tensors["frames"] = at::zeros({2, 3, 0, 5}, at::kByte);
            }),
            "its frames are empty\n");
  EXPECT_EQ(complaint([](Safetensors& f) {
              f.tensors["frames"] = at::zeros({2, 3, 90, 64}, at::kByte);
            }),
            "its tiles are not those of frames of 64 x 90\n");
  EXPECT_EQ(complaint([](Safetensors& f) {
              f.tensors["latents"] = at::zeros({25, 24, 8});
            }),
            "latents of 24 x 8, the model's are 24 x 32\n");
  ASSERT_EQ(run("encode -q --text a -m " + kLanguage + " -o " + z).code, 0);
  EXPECT_EQ(complaint([](Safetensors& f) {
              f.tensors["ids"] = at::full({1, 1}, 262, at::kInt);
            }),
            "'ids' are not those of a text of at most 48 bytes a row\n");
  EXPECT_EQ(complaint([](Safetensors& f) {
              f.tensors["ids"] = at::full({1, 1}, 38, at::kInt);
            }),
            "its text has no words\n");
  write_file(at("small.toml"), kClipModel);
  write_file(at("tone.wav"), encode_wav({at::zeros({1, 3200}), 8000}));
  ASSERT_EQ(run("encode -q " + at("tone.wav") + " -m " + at("small.toml") + " -o " + z).code, 0);
  EXPECT_EQ(complaint([](Safetensors& f) { f.metadata["geometry.num_frames"] = "13"; }),
            "its metadata give no number of frames between 1 and 12\n");
}

TEST_F(CliQuery, AWordIsAskedByteByByte) {
  const Json encoded = json_of("encode -q --text 'Île de France' -m " + kLanguage + " -o " + z);
  EXPECT_EQ(encoded["latents"], (std::vector<int64_t>{1, 12, 40})) << encoded;
  EXPECT_EQ(encoded["task"], "language");
  const Json words = json_of("query -q " + z + " --words 1,3 -k 2")["words"];
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(words[0]["word"], "Île");
  EXPECT_EQ(words[0]["bytes"].size(), 4u);
  EXPECT_EQ(words[0]["bytes"][0]["byte"], "\\xC3");
  EXPECT_EQ(words[1]["number"], 3);
  EXPECT_EQ(words[1]["bytes"][5]["byte"], "e");
  EXPECT_EQ(words[1]["bytes"][5]["top"].size(), 2u);
  EXPECT_LE(words[1]["bytes"][5]["log_probability"].get<double>(), 0.0);
  const Result table = run("query -q " + z + " --words 2");
  EXPECT_TRUE(table.out.starts_with("  word  byte  log-probability")) << table.out;
  EXPECT_NE(table.out.find("\n  2 de     d  "), std::string::npos) << table.out;
  EXPECT_EQ(run("query -q " + z + " -o " + at("out.safetensors")).code, 0);
  EXPECT_EQ(read_safetensors(at("out.safetensors")).tensors.at("log_probabilities").sizes(),
            (std::vector<int64_t>{12, 262}));
}

TEST_F(CliQuery, AMissingWordIsAskedForWhatFits) {
  ASSERT_EQ(run("encode -q --text 'in the [MASK] of <mask>.' -m " + kLanguage + " -o " + z).code,
            0);
  const Json words = json_of("query -q " + z + " --words 3,5 -k 2")["words"];
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(words[0]["word"], "[MASK]");
  EXPECT_EQ(words[1]["word"], "[MASK].");
  for (const Json& word : words) {
    ASSERT_EQ(word["candidates"].size(), 2u) << word;
    EXPECT_GE(word["candidates"][0]["probability"], word["candidates"][1]["probability"]);
    EXPECT_FALSE(word.contains("bytes"));
  }
  const Result table = run("query -q " + z + " --words 2-3 -k 1");
  EXPECT_TRUE(table.out.starts_with("  word      candidate")) << table.out;
  EXPECT_NE(table.out.find("\n  3 [MASK]  "), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("\n  2 the     t  "), std::string::npos) << table.out;
}

TEST_F(CliQuery, OfClassifiersTheLabelIsAsked) {
  const Result encoded =
      run("encode -q --text 'good' -m tests/golden/huggingface/text-classifier -o " + z);
  ASSERT_EQ(encoded.code, 0) << encoded.err;
  const Json top = json_of("query -q " + z + " -k 1")["top"];
  ASSERT_EQ(top.size(), 1u);
  EXPECT_GE(top[0]["probability"].get<double>(), 0.0);
  EXPECT_TRUE(top[0].contains("name"));
}

TEST_F(CliQuery, OfAClipFramesPixelsSecondsAndTheLabelAreAsked) {
  write_file(at("small.toml"), kClipModel);
  // A sound of 0.4 s alone: ten black frames, which the model fills in.
  write_file(at("tone.wav"), encode_wav({(at::arange(3200) * 0.2).sin().unsqueeze(0) * 0.5, 8000}));
  const Result encoded = run("encode " + at("tone.wav") + " -m " + at("small.toml") + " -o " + z);
  ASSERT_EQ(encoded.code, 0) << encoded.err;
  EXPECT_NE(encoded.err.find("tone.wav: has no picture; the model fills it in\n"),
            std::string::npos);
  EXPECT_TRUE(encoded.out.starts_with("latents 3 x 6 x 16\n")) << encoded.out;

  EXPECT_EQ(json_of("query -q " + z)["top"].size(), 5u);
  const Json pixels = json_of("query -q " + z + " --frames 2,9-10 --pixels 7,3")["pixels"];
  ASSERT_EQ(pixels.size(), 3u);
  EXPECT_EQ(pixels[2]["frame"], 10);
  EXPECT_EQ(pixels[2]["colour"].size(), 3u);

  EXPECT_EQ(run("query -q " + z + " --frames 2 --box 1,2,8,6 -o " + at("frame.png")).code, 0);
  EXPECT_EQ(decode_image(read_file(at("frame.png"))).sizes(), (std::vector<int64_t>{3, 4, 7}));
  EXPECT_EQ(run("query -q " + z + " --frames 2-4 -o " + at("frames.png")).code, 0);
  EXPECT_EQ(run("query -q " + z + " --seconds 0.1-0.3 -o " + at("part.wav")).code, 0);
  const Sound part = decode_sound(read_file(at("part.wav")));
  EXPECT_EQ(part.samples_per_second, 8000);
  EXPECT_EQ(part.samples.sizes(), (std::vector<int64_t>{1, 1600}));
  EXPECT_EQ(
      run("query -q " + z + " --frames 10 --seconds 0-0.4 --label -o " + at("all.safetensors"))
          .code,
      0);
  const TensorMap all = read_safetensors(at("all.safetensors")).tensors;
  EXPECT_EQ(all.at("image").sizes(), (std::vector<int64_t>{1, 3, 8, 8}));
  EXPECT_EQ(all.at("audio").size(0), 3200);
  EXPECT_EQ(all.at("probabilities").size(0), 11);

  expect_complaint("query -q " + z + " --frames 11",
                   "--frames 11: there are 10 frames, counted from 1");
  expect_complaint("query -q " + z + " --seconds 0.2-0.5",
                   "--seconds 0.2-0.5: the clip lasts 0.40 s");
  expect_complaint("query -q " + z + " --seconds now",
                   "--seconds: expected a beginning and an end such as 0.1-0.4, got 'now'");
  expect_complaint("query -q " + z + " --box 0,0,9,8",
                   "--box 0,0,9,8: reaches out of the frame of 8 x 8");
}

TEST_F(CliQuery, LatentsAreAskedWithTheModelThatMadeThem) {
  ASSERT_EQ(run("encode -q --text a -m " + kLanguage + " -o " + z).code, 0);
  const std::string other = "tests/golden/deepmind/language";
  const Result result = run("query -q " + z + " -m " + other);
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(result.err.starts_with("perceiver: " + z + ": the latents are of " + kLanguage +
                                     " (fingerprint "))
      << result.err;
  EXPECT_NE(result.err.find("), which is not " + other + "/checkpoint.pystate (fingerprint "),
            std::string::npos);
  EXPECT_TRUE(result.err.ends_with("); query them with the model that made them\n"));
  // What is computed in another dtype is asked in any.
  EXPECT_EQ(run("query -q " + z + " --dtype bfloat16").code, 0);
}

TEST_F(CliQuery, MistakesAreOneLine) {
  expect_complaint("encode", "give what to encode: files, or a text with --text");
  expect_complaint("encode -q --text '' -m " + kLanguage, "--text: the text is empty");
  expect_complaint("encode a.txt --text a", "got a.txt and --text; give only one of them");
  const std::string png = "tests/golden/media/shapes_53x37.png";
  expect_complaint("encode -q " + png + " -m " + kLanguage,
                   png + ": a binary file, expected a text; is the model the right one (-m)?");
  const std::string place = "perceiver: " + png + ": not latents (header of ";
  const Result picture = run("query " + png);
  EXPECT_EQ(picture.code, 1);
  EXPECT_TRUE(picture.err.starts_with(place)) << picture.err;
  EXPECT_TRUE(
      picture.err.ends_with("); make them with 'perceiver encode', see 'perceiver encode -h'\n"))
      << picture.err;
  expect_complaint("encode -q tests/golden/media/shapes_53x37.png -m " + kFlow,
                   "optical flow is of two frames, got 1");
  expect_complaint(
      "encode -q tests/golden/media/shapes_53x37.png "
      "tests/golden/media/photo_97x71.png -m " +
          kFlow,
      "tests/golden/media/shapes_53x37.png is 53 x 37, "
      "tests/golden/media/photo_97x71.png is 97 x 71: the two must have one size");
  expect_complaint("query " + kLanguage + "/model.safetensors",
                   kLanguage +
                       "/model.safetensors: no file of latents; make one with "
                       "'perceiver encode'");
  ASSERT_EQ(run("encode -q --text 'a b' -m " + kLanguage + " -o " + z).code, 0);
  expect_complaint("query -q " + z + " --box 0,0,1,1",
                   "--box: cannot be asked of latents of the task language, which takes --words");
  expect_complaint("query -q " + z + " --words 3", "--words 3: there are 2 words, counted from 1");
  expect_complaint("query -q " + z + " --words 1,b",
                   "--words: expected numbers and ranges such as 3,5-7, got '1,b'");
  expect_complaint("query -q " + z + " -o out.png",
                   "-o out.png: the answer is no picture; ask for --box or --frames, or take "
                   ".safetensors");
  expect_complaint(
      "query -q " + z + " -o out.txt",
      "-o out.txt: expected a name that ends in .png, .flo, .wav, .npz or .safetensors");
}

}  // namespace
}  // namespace perceiver
