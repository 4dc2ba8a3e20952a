// perceiver demo, with small models of random weights: what they find is nonsense, but they are
// asked all that the shipped ones are. And the shipped language model, on everyday sentences.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "perceiver/core/error.h"
#include "perceiver/core/lines.h"
#include "perceiver/media/video.h"
#include "tests/child.h"
#include "tests/program.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kImages = R"(
task = "imagenet"
[model]
image_size = 16
input = "fourier"
num_bands = 4
num_classes = 10
query_channels = 16
encoder = { num_latents = 6, latent_channels = 16, self_attends_per_block = 1, num_blocks = 1 }
)";

constexpr const char* kFlow = R"(
task = "optical_flow"
[model]
height = 112
width = 192
patch = "conv"
num_bands = 4
patch_channels = 8
[model.encoder]
num_latents = 8
latent_channels = 16
num_blocks = 1
self_attends_per_block = 1
self_attend.num_heads = 2
)";

constexpr const char* kClips = R"(
task = "multimodal"
[model]
num_frames = 16
image_size = 16
samples_per_frame = 640  # 16 kHz, for which there are encoders
num_image_bands = 3
num_audio_bands = 5
num_classes = 11
label_query_channels = 20
output_channels = 12
train_queries = { audio = 4, image = 7 }
encoder = { num_latents = 6, latent_channels = 16, self_attends_per_block = 1 }
)";

constexpr const char* kSounds = R"(
task = "audioset"
[model]
video = false
num_frames = 25
num_samples = 8000
audio = "mel"
mel = { samples_per_second = 8000, window_samples = 512, hop_samples = 400, num_energies = 8, high_hz = 4000.0 }
energies_per_element = 8
num_audio_bands = 3
num_classes = 4
several_labels = false
query_channels = 16
encoder = { num_latents = 6, latent_channels = 16, self_attends_per_block = 1 }
)";

class CliDemo : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = fs::path(testing::TempDir()) / ("perceiver_demo_" + std::to_string(getpid()));
    fs::create_directories(folder / "models");
    fs::create_directory_symlink(fs::absolute("tests/golden/huggingface/language"),
                                 folder / "models" / "language-mini");
    add_model("image-mini", kImages);
    add_model("flow-mini", kFlow);
  }
  static void TearDownTestSuite() { fs::remove_all(folder); }

  static void add_model(const std::string& name, const std::string& settings) {
    write_file(folder / "settings.toml", settings);
    const Result result = run("convert " + path("settings.toml") + " " + path("models/" + name));
    ASSERT_EQ(result.code, 0) << result.err;
  }
  static std::string path(const std::string& name) { return (folder / name).string(); }
  static std::string demo(const std::string& output) {
    return "demo -q --models " + path("models") + " -o " + path(output);
  }
  // Every file below, as "words/filled.txt".
  static std::vector<std::string> files_below(const fs::path& output) {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(output)) {
      if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), output));
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  static fs::path folder;
};

fs::path CliDemo::folder;

const std::vector<std::string> kClasses = {"airplane", "automobile", "bird",  "cat",  "deer",
                                           "dog",      "frog",       "horse", "ship", "truck"};

std::vector<std::string> expected_files() {
  std::vector<std::string> files = {
      "index.html",         "motion/camera.flo",    "motion/camera.png", "motion/objects.flo",
      "motion/objects.png", "words/attention.html", "words/filled.txt"};
  for (const std::string& name : kClasses) files.push_back("pictures/" + name + "-attention.png");
  std::sort(files.begin(), files.end());
  return files;
}

TEST_F(CliDemo, ShowsEveryDomainThatHasAModelAndNamesTheOthers) {
  const Result result = run(demo("shown"));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(result.out.starts_with("words, by language-mini in ")) << result.out;
  for (const char* line :
       {"\n  We must go now, or we shall [MASK] late.\n      ", "\npictures, by image-mini in ",
        "\n  airplane.png ", "\nmotion, by flow-mini in ", "\n  objects  384 x 224 "}) {
    EXPECT_NE(result.out.find(line), std::string::npos) << line << "\n" << result.out;
  }
  const std::string program = std::string("  ") + std::getenv("PERCEIVER_PROGRAM");
  const std::string samples = fs::proximate(shipped("samples")).string();
  EXPECT_TRUE(result.out.ends_with(
      "\nNot shown: sounds (no sound-mini), entities (no entity-mini), clips (no "
      "multimodal-mini)\n\n"
      "Next, on these samples or on what is yours:\n" +
      program + " fill \"She opened the [MASK] and looked into the garden.\"\n" + program +
      " classify " + samples + "/pictures/frog.png -k 10\n" + program + " flow " + samples +
      "/flow/camera -o flow.png --legend\n\n" +
      "Pictures, files, and a page with all of it: " + path("shown/index.html") + "\n"))
      << result.out;
  EXPECT_EQ(files_below(folder / "shown"), expected_files());
}

TEST_F(CliDemo, ThePageHoldsWhatItShowsAndNamesTheFilesBesideIt) {
  ASSERT_EQ(run(demo("page")).code, 0);
  const std::string page = read_file(folder / "page" / "index.html").bytes;
  size_t pictures = 0;
  for (size_t at = 0; (at = page.find("<img src=\"", at)) != page.npos; ++pictures) {
    at += std::string("<img src=\"").size();
    EXPECT_EQ(page.substr(at, 25), "data:image/png;base64,iVB") << "a PNG within the page";
  }
  EXPECT_EQ(pictures, kClasses.size() + 2 * 4);
  EXPECT_EQ(page.find("http"), page.find("https://arxiv.org/abs/2107.14795"));
  for (const std::string& file : expected_files()) {
    if (file == "index.html") continue;
    EXPECT_NE(page.find("=\"" + file + "\""), std::string::npos) << file;
  }
}

TEST_F(CliDemo, JsonIsOneDocumentWithAllThatIsShown) {
  const Result result = run(demo("json") + " --json");
  ASSERT_EQ(result.code, 0) << result.err;
  const Json document = Json::parse(result.out);
  EXPECT_EQ(document["output"], path("json"));
  EXPECT_EQ(document["left_out"],
            Json::array({"sounds (no sound-mini)", "entities (no entity-mini)",
                         "clips (no multimodal-mini)"}));
  const Json& domains = document["domains"];
  ASSERT_EQ(domains.size(), 3u);
  const std::vector<std::string> texts =
      lines_of(read_file(shipped("samples/sentences.txt")).bytes);
  ASSERT_EQ(domains[0]["results"].size(), texts.size());
  EXPECT_EQ(domains[0]["name"], "words");
  EXPECT_EQ(domains[0]["model"], path("models/language-mini"));
  EXPECT_EQ(domains[0]["results"][0]["text"], texts[0]);
  EXPECT_EQ(domains[0]["results"][0]["masks"][0]["candidates"].size(), 3u);
  ASSERT_EQ(domains[1]["results"].size(), kClasses.size());
  EXPECT_EQ(domains[1]["results"][8]["top"].size(), 3u);
  EXPECT_EQ(domains[1]["results"][8]["attention"], path("json/pictures/ship-attention.png"));
  ASSERT_EQ(domains[2]["results"].size(), 2u);
  const Json& pair = domains[2]["results"][1];
  EXPECT_EQ(pair["flow"], path("json/motion/objects.flo"));
  EXPECT_GT(pair["epe"], 0.0);
  EXPECT_NEAR(pair["epe_of_no_motion"], 2.9, 0.2);  // what the things' motions were drawn with
}

TEST_F(CliDemo, AModelOfSoundsHearsTheDigits) {
  fs::create_directories(folder / "sounds");
  add_model("../sounds/sound-mini", kSounds);
  const Result result = run("demo -q --models " + path("sounds") + " -o " + path("of_sounds"));
  ASSERT_EQ(result.code, 0) << result.err;
  std::vector<std::string> files = {"index.html"};
  for (const fs::path& digit : sorted_entries(shipped("samples/digits"))) {
    EXPECT_NE(result.out.find("\n  " + digit.filename().string() + " "), std::string::npos)
        << result.out;
    files.push_back("sounds/" + digit.stem().string() + ".png");
  }
  EXPECT_EQ(files.size(), 11u);
  EXPECT_EQ(files_below(folder / "of_sounds"), files);
  const std::string page = read_file(folder / "of_sounds" / "index.html").bytes;
  EXPECT_NE(page.find("<audio controls src=\"data:audio/wav;base64,"), std::string::npos);
}

TEST_F(CliDemo, AModelOfEntitiesNamesWhatTheSampleLeavesOpen) {
  const fs::path model = folder / "states" / "entity-mini";
  fs::create_directories(folder / "states");
  add_model("../states/entity-mini",
            "task = 'starcraft'\n[model]\nentities = { num_types = 2 }\n"
            "encoder = { num_latents = 4, latent_channels = 16, self_attends_per_block = 1 }\n");
  write_file(model / "labels.txt", "Probe\nSCV\n");
  const Result result =
      run("demo --json -q --models " + path("states") + " -o " + path("of_states"));
  ASSERT_EQ(result.code, 0) << result.err;
  const Json results = Json::parse(result.out)["domains"][0]["results"];
  const Json sample = Json::parse(read_file(shipped("samples/entities.jsonl")).bytes);
  ASSERT_EQ(results.size(), sample["answers"].size());
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i]["answer"], sample["answers"][i]);
    EXPECT_EQ(sample["entities"][results[i]["entity"].get<size_t>()][0], "?");
    EXPECT_EQ(results[i]["top"].size(), 2u);
  }
  EXPECT_EQ(files_below(folder / "of_states"),
            (std::vector<std::string>{"entities/map.svg", "index.html"}));
}

TEST_F(CliDemo, AModelOfClipsIsShownTheClip) {
  if (!video_is_built_in()) GTEST_SKIP() << "this build has no FFmpeg to read clips with";
  fs::create_directories(folder / "clips");
  add_model("../clips/multimodal-mini", kClips);
  const Result result = run("demo -q --models " + path("clips") + " -o " + path("of_clips"));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("\n  clip.avi "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("\nNot shown: words (no language-mini), pictures (no image-mini), "
                            "motion (no flow-mini), sounds (no sound-mini), entities (no "
                            "entity-mini)\n"),
            std::string::npos)
      << result.out;
  EXPECT_EQ(files_below(folder / "of_clips"),
            (std::vector<std::string>{"clips/clip.mp4", "index.html"}));
}

TEST_F(CliDemo, MistakesAreOneLineAndLeaveNothingBehind) {
  fs::create_directories(folder / "none");
  expect_complaint("demo --models " + path("none"),
                   "there is no trained model to show: words (no language-mini), pictures (no "
                   "image-mini), motion (no flow-mini), sounds (no sound-mini), entities (no "
                   "entity-mini), clips (no multimodal-mini); --models names a folder of models");
  expect_complaint("demo --models " + path("nowhere"),
                   "--models " + path("nowhere") + ": is no folder");
  write_file(folder / "file", "");
  expect_complaint(demo("file"), path("file") + ": is no folder; name a folder with -o");
  expect_complaint(demo("nowhere/out"),
                   path("nowhere/out") + ": there is no folder " + path("nowhere"));
  EXPECT_FALSE(fs::exists(folder / "nowhere"));
  // Nobody, root included, makes folders there.
  expect_complaint("demo -q --models " + path("models") + " -o /proc/demo",
                   "/proc/demo/words: cannot write: No such file or directory");
  expect_complaint(demo("out") + " --jsn", "unknown option '--jsn'; did you mean '--json'?");
}

TEST_F(CliDemo, CtrlCLeavesFinishedFilesAndNothingHalfWritten) {
  Child child(demo("stopped"));
  wait_for([&] { return fs::exists(folder / "stopped" / "words" / "filled.txt"); });
  child.send(SIGINT);
  EXPECT_EQ(WEXITSTATUS(child.wait()), 128 + SIGINT);
  const std::vector<std::string> whole = expected_files();
  for (const std::string& file : files_below(folder / "stopped")) {
    EXPECT_NE(std::find(whole.begin(), whole.end(), file), whole.end()) << file;
  }
}

TEST(ShippedLanguageModel, FillsEverydaySentencesWithTheWordsOnRecord) {
  try {
    shipped("models/language-mini");
  } catch (const Error&) {
    GTEST_SKIP() << "there is no models/language-mini";
  }
  const std::string sentences = testing::TempDir() + "everyday_" + std::to_string(getpid());
  std::string texts;
  std::vector<std::string> words;
  for (const std::string& line : lines_of(read_file("tests/everyday_sentences.tsv").bytes)) {
    texts += line.substr(0, line.find('\t')) + "\n";
    words.push_back(line.substr(line.find('\t') + 1));
  }
  ASSERT_EQ(words.size(), 20u);
  write_file(sentences, texts);
  const Result result = run("fill -q --jsonl -k 3 --device cpu -m language-mini < " + sentences);
  fs::remove(sentences);
  ASSERT_EQ(result.code, 0) << result.err;
  const std::vector<std::string> answers = lines_of(result.out);
  ASSERT_EQ(answers.size(), words.size());
  for (size_t i = 0; i < words.size(); ++i) {
    const Json answer = Json::parse(answers[i]), mask = answer["masks"][0];
    // Another CPU rounds otherwise, and two words may be all but alike.
    constexpr double kAlike = 0.99;
    const double best = mask["probability"];
    EXPECT_TRUE(std::ranges::any_of(mask["candidates"],
                                    [&](const Json& candidate) {
                                      return candidate["word"] == words[i] &&
                                             candidate["probability"] > kAlike * best;
                                    }))
        << answer["text"] << " got " << mask["word"] << ", expected " << words[i];
  }
}

}  // namespace
}  // namespace perceiver
