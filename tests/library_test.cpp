// What a program can ask of the library: one function for each verb, none of which prints.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <thread>

#include "perceiver/core/error_test.h"
#include "perceiver/media/sound.h"
#include "perceiver/perceiver.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

const std::string kLanguage = "tests/golden/huggingface/language";
const std::string kFlow = "tests/golden/huggingface/optical-flow";

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

// In a folder of its own, with gradients on, as in any program; nothing may be printed.
class Library : public testing::Test {
 protected:
  Library() {
    fs::create_directories(folder);
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
  }
  ~Library() override {
    EXPECT_TRUE(at::GradMode::is_enabled()) << "is the caller's";
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    fs::remove_all(folder);
  }

  std::string at(const std::string& name) const { return (folder / name).string(); }

  Model clip_model() const {
    write_file(at("clips.toml"), kClipModel);
    return load_model(at("clips.toml"));
  }
  // 0.4 s of sound: ten black frames.
  static File tone() {
    return {"tone.wav", encode_wav({(at::arange(3200) * 0.2).sin().unsqueeze(0) * 0.5, 8000})};
  }

  const fs::path folder = fs::path(testing::TempDir()) / ("library_" + std::to_string(getpid()));
};

TEST_F(Library, FillsAWord) {
  Model model = load_model(kLanguage);
  const FilledText filled = fill(model, "a [MASK] b", {.top = 2, .num_bytes = 3});
  ASSERT_EQ(filled.masks.size(), 1u);
  EXPECT_EQ(filled.text, "a " + filled.masks[0].words[0].text + " b");
  EXPECT_EQ(filled.masks[0].words[0].text.size(), 3u);
  EXPECT_EQ(filled_json("a [MASK] b", filled)["masks"][0]["candidates"].size(), 2u);
}

// Gradients are on in a new thread, whatever the first one has switched off.
TEST_F(Library, ComputesWithoutGradientsOnAnyThread) {
  Model model = load_model(kLanguage);
  const std::string filled = fill(model, "a [MASK] b", {.num_bytes = 3}).text;
  std::set<std::string> kernels;
  std::string elsewhere;
  std::thread([&] {
    const AttentionCounter counter(
        [&](const AttentionCase&, std::string_view kernel) { kernels.emplace(kernel); });
    elsewhere = fill(model, "a [MASK] b", {.num_bytes = 3}).text;
    EXPECT_TRUE(at::GradMode::is_enabled());
  }).join();
  EXPECT_EQ(elsewhere, filled);
  EXPECT_EQ(kernels, (std::set<std::string>{"streamed"}));  // the inference form's
}

TEST_F(Library, FillsATextBeforeItAsksForTheNextAndGoesOnPastABadOne) {
  Model model = load_model(kLanguage);
  std::istringstream lines("a [MASK]\n\nno mask\r\nb [MASK]\n");
  std::vector<std::string> seen;
  const TextSource next = [&, source = lines_from(lines, "x")] {
    seen.push_back("asked");
    return source();
  };
  const FillCounts counts =
      fill(model, next, {.top = 1, .num_bytes = 3},
           {.ready = [&](const NamedText& text, const FilledText&) { seen.push_back(text.text); },
            .failed = [&](const std::string& error) { seen.push_back(error); }});
  EXPECT_EQ(seen, (std::vector<std::string>{
                      "asked", "a [MASK]", "asked",
                      "x:3: the text has no [MASK]; write it where a word is missing", "asked",
                      "b [MASK]", "asked"}));
  EXPECT_EQ(counts.texts, 3);
  EXPECT_EQ(counts.failed, 1);
}

TEST_F(Library, OfALongTextShowsWhatIsNearTheWords) {
  const std::string far(1000, 'a'), near(200, 'b');
  FilledText filled{far + near + "cat" + near + far + near + "dog" + near + "\u00E4" + far, {}};
  filled.masks = {{{{"cat", -1.0}}, filled.text.find("cat"), 1},
                  {{{"dog", -1.0}}, filled.text.find("dog"), 2}};
  std::string shown;
  for (const TextPiece& piece : shown_pieces(filled)) {
    shown += piece.filled ? "[" + piece.text + "]" : piece.text;
  }
  EXPECT_EQ(shown, "…" + near + "[cat]" + near + "…" + near + "[dog]" + near + "…");
}

TEST_F(Library, ClassifiesSourcesInOrderAndNamesWhatItCannotRead) {
  Model model = load_model("configs/imagenet_mini.toml");
  const std::string png = encode_png(at::randint(0, 256, {3, 40, 60}, at::kByte));
  const std::vector<ClassifySource> sources = {{"a", png}, {"b", "words"}, {"c", png}, {"d", png}};
  std::vector<std::string> ready;
  double work = 0.0;
  const std::vector<Classified> results =
      classify(model, sources,
               {.top = 2,
                .batch = 2,
                .hooks = {.work = [&](const std::string&, double w) { work = w; }},
                .ready = [&](const Classified& result) { ready.push_back(result.name); }});
  EXPECT_EQ(ready, (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_EQ(work, 4 * attention_work(model.task->summary(Split::kEval)));
  EXPECT_EQ(results[1].error,
            "b: not a picture: expected PNG, JPEG, PPM, WebP, GIF, BMP, TIFF or AVIF");
  EXPECT_TRUE(results[1].top.empty());
  ASSERT_EQ(results[3].top.size(), 2u);
  const std::vector<RankedClass> alone = classify(model, {"a", png}, 2);
  EXPECT_EQ(results[0].top[0].index, alone[0].index);
  EXPECT_NEAR(results[0].top[0].probability, alone[0].probability, 1e-5);
}

TEST_F(Library, KnowsWhatATaskReads) {
  for (const auto& [config, kind] : {std::pair{"imagenet_mini", InputKind::kPicture},
                                     {"audioset_mini", InputKind::kClip},
                                     {"multimodal_mini", InputKind::kClip},
                                     {"flow_mini", InputKind::kFramePair},
                                     {"text_classifier_mini", InputKind::kText},
                                     {"language_bytes_mini", InputKind::kText}}) {
    const Model model = load_model("configs/" + std::string(config) + ".toml");
    EXPECT_EQ(application_of(model).reads(), kind) << config;
  }
  const Model entities = load_model("configs/starcraft_mini.toml");
  EXPECT_EQ(error_of([&] { application_of(entities); }),
            "configs/starcraft_mini.toml: models of the task starcraft read no files yet");
  const Model flow = load_model("configs/flow_mini.toml");
  EXPECT_EQ(error_of([&] { classify_sample(flow); }), "models of this task have no classes");
}

TEST_F(Library, LatentsOfTwoFramesAnswerWithTheFlowOfTheWhole) {
  Model model = load_model(kFlow);
  const Tensor first = at::randint(0, 256, {3, 30, 40}, at::kByte);
  const Tensor second = at::randint(0, 256, {3, 30, 40}, at::kByte);
  const FlowField whole = estimate_flow(model, first, second);
  EXPECT_EQ(whole.flow.sizes(), (std::vector<int64_t>{2, 30, 40}));
  EXPECT_FALSE(whole.flow.requires_grad());

  const std::vector<File> frames = {{"a", encode_png(first)}, {"b", encode_png(second)}};
  const LatentsFile latents = encode(model, frames);
  EXPECT_EQ(latents.task, "optical_flow");
  EXPECT_EQ(latents.input, "a, b");
  EXPECT_FALSE(latents.latents().requires_grad());
  const Answer box = query(model, latents, {.box = "3,5,20,9"});
  EXPECT_TRUE(at::allclose(box.flow, whole.flow.slice(1, 5, 9).slice(2, 3, 20), 1e-4, 1e-4));
  EXPECT_FALSE(box.json.contains("flow"));
  EXPECT_EQ(full_json(box)["flow"].size(), 4u);

  EXPECT_EQ(error_of([&] { estimate_flow(model, first, second.narrow(1, 0, 29)); }),
            "the second frame has shape [3, 29, 40], expected [3, 30, 40]");
  EXPECT_EQ(error_of([&] { estimate_flow(model, first[0], second); }),
            "the first frame has shape [30, 40], expected [3, *, *]");
}

TEST_F(Library, LatentsAreAskedOfTheirOwnTaskAndModel) {
  Model language = load_model(kLanguage), flow = load_model(kFlow);
  const File text{"the text", "Paris is the capital"};
  LatentsFile latents = encode(language, std::span(&text, 1));
  EXPECT_EQ(query(language, latents, {.words = "4"}).json["words"][0]["word"], "capital");
  EXPECT_EQ(error_of([&] { query(flow, latents, {}); }),
            "the latents: latents of the task language, the model is of the task optical_flow");
  language.fingerprint = fingerprint(language);
  EXPECT_EQ(error_of([&] { query(language, latents, {}); }),
            "the latents: the latents are of " + kLanguage + " (fingerprint ), which is not " +
                language.source + " (fingerprint " + language.fingerprint +
                "); query them with the model that made them");
  latents = encode(language, std::span(&text, 1));
  EXPECT_EQ(latents.fingerprint, language.fingerprint);
  EXPECT_EQ(query(language, latents, {.words = "1"}).json["words"][0]["word"], "Paris");
}

TEST_F(Library, AutoencodesWhatAClipHasAndFillsInTheRest) {
  Model model = clip_model();
  EXPECT_EQ(error_of([&] { autoencode(model, tone(), at("out")); }),
            "tone.wav: has no picture; --mask video lets the model fill it in");
  const Autoencoded done =
      autoencode(model, tone(), at("out"), {.masked = {"video"}, .seconds = "0-0.24", .top = 2});
  EXPECT_EQ(done.num_frames, 6);
  EXPECT_EQ(done.num_chunks, 2);
  EXPECT_FALSE(done.video_psnr.has_value());
  EXPECT_TRUE(done.audio_psnr.has_value());
  EXPECT_EQ(done.top.size(), 2u);
  EXPECT_TRUE(to_json(done)["psnr"]["video"].is_null());
  EXPECT_EQ(decode_image(read_file(done.output / "000005.png")).sizes(),
            (std::vector<int64_t>{3, 8, 2 * 8 + 4}));
}

TEST_F(Library, NotesGoToTheHook) {
  Model model = clip_model();
  std::vector<std::string> notes;
  const File clip = tone();
  const LatentsFile latents =
      encode(model, std::span(&clip, 1),
             {.note = [&](const std::string& message) { notes.push_back(message); }});
  EXPECT_EQ(notes, std::vector<std::string>{"tone.wav: has no picture; the model fills it in"});
  EXPECT_EQ(query(model, latents, {.box = "1,2,8,6", .frames = "10"}).picture.sizes(),
            (std::vector<int64_t>{3, 4, 7}));
}

TEST_F(Library, AttentionIsAShareOfTheInput) {
  Model model = load_model("configs/imagenet_mini.toml");
  const File picture{"a.png", encode_png(at::randint(0, 256, {3, 40, 60}, at::kByte))};
  const AttendMaps maps = attend(model, std::span(&picture, 1), {.latents = {5, 0}});
  ASSERT_EQ(maps.groups.size(), 2u);
  EXPECT_EQ(maps.groups[0].name, "latent 5");
  EXPECT_TRUE(at::allclose(maps.weights.sum(1), at::ones({2}), 1e-4, 1e-4));
  EXPECT_EQ(maps.drawn()[1].weights.sizes(), at::IntArrayRef(maps.shown().grid));
  EXPECT_EQ(draw_maps(maps.shown(), maps.drawn(), at("maps.png")), at("maps.png"));
  EXPECT_TRUE(fs::exists(at("maps.png")));
  EXPECT_EQ(error_of([&] { attend(model, std::span(&picture, 1), {.output = "maps.gif"}); }),
            "maps.gif: expected a name ending in .png");
}

TEST_F(Library, FlowOfFilesTellsOfEachPair) {
  Model model = load_model(kFlow);
  for (const char* name : {"a.png", "b.png", "c.png"}) {
    write_file(at(name), encode_png(at::randint(0, 256, {3, 20, 24}, at::kByte)));
  }
  std::vector<std::string> ready;
  const FlowResult result = flow_of_files(
      model, {.inputs = {folder.string()}, .output = {.path = at("out"), .format = "flo"}},
      {.ready = [&](const PairReport& report) { ready.push_back(report.output); }});
  EXPECT_EQ(ready, (std::vector<std::string>{at("out/a.flo"), at("out/b.flo")}));
  EXPECT_EQ(result.output, at("out"));
  EXPECT_EQ(to_json(result)["pairs"].size(), 2u);
  const FlowField written = decode_flow(read_file(at("out/a.flo")));
  const FlowField pair = estimate_flow(model, decode_image(read_file(at("a.png"))),
                                       decode_image(read_file(at("b.png"))));
  EXPECT_TRUE(written.flow.equal(pair.flow));
}

}  // namespace
}  // namespace perceiver
