#include "perceiver/tasks/ledger.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "perceiver/core/file.h"
#include "perceiver/tasks/audioset/model.h"
#include "perceiver/tasks/settings.h"

namespace perceiver {
namespace {

// What an independent calculator of parameters and FLOPs, written from the paper and the released
// code and sharing nothing with this one, gives for the same readings: four digits.
struct Computed {
  double params, flops;
  bool match;
};
constexpr double kMaskParams = 64 * 128 * 9 + 128 + 128 * 144 + 144;
constexpr double kMaskFlops = 2.0 * 92 * 124 * (64 * 128 * 9 + 128 * 144);
const std::map<std::string, Computed> kComputed = {
    {"BERT Base, SentencePiece", {110.0e6, 109.2e9, true}},
    {"Perceiver IO Base, SentencePiece", {223.2e6, 119.1e9, true}},
    {"BERT matching FLOPs, bytes", {20.1e6, 129.4e9, true}},
    {"Perceiver IO, bytes", {201.1e6, 112.8e9, true}},
    {"Perceiver IO++, bytes", {425.6e6, 240.9e9, true}},
    {"Perceiver IO, bytes, 128 latents", {0, 119.7e9, true}},
    {"Perceiver IO, bytes, 512 latents", {0, 125.0e9, true}},
    {"Perceiver, 2D Fourier features", {42.14e6, 404.0e9, true}},
    {"Perceiver IO, configuration A", {48.44e6, 406.1e9, true}},
    {"Eight cross-attends instead of one", {0, 302.3e9, true}},
    {"Perceiver IO, configuration B", {212.2e6, 268.7e9, false}},
    {"Perceiver IO, configuration B by its text", {213.1e6, 334.6e9, false}},
    {"Perceiver IO B, pre-training", {229.6e6, 268.7e9, true}},
    {"Perceiver, learned positions", {55.95e6, 475.9e9, false}},
    {"Perceiver IO A, learned positions", {62.26e6, 478.0e9, false}},
    {"Perceiver, convolution", {42.34e6, 367.2e9, false}},
    {"Perceiver IO A, convolution", {48.65e6, 369.4e9, true}},
    {"Perceiver IO B, convolution", {212.4e6, 231.9e9, false}},
    {"Flow, 16 layers and 1024 latents", {27.91e6, 985.5e9, true}},
    {"Flow 1: 3x3 patches, frames together", {41.057e6, 1886.7e9, false}},
    {"Flow 2: 3x3 patches, frames apart", {41.720e6, 3097.0e9, false}},
    {"Flow 3: pixels, frames together", {41.054e6, 1885.6e9, false}},
    {"Flow 4: pixels, frames apart", {41.719e6, 3095.9e9, false}},
    // The calculator has no mask head for RAFT's upsampling: a 3x3 convolution from 64 to 128
    // channels and a 1x1 to 9 * 16, with biases, on 92 x 124 coarse pixels.
    {"Flow 5: convolution, frames together", {41.093e6 + kMaskParams, 463.5e9 + kMaskFlops, true}},
    {"Flow 6: convolution, frames apart", {41.756e6 + kMaskParams, 539.9e9 + kMaskFlops, true}},
    {"Flow 7: as 5, 16 layers, 1024 latents", {27.945e6 + kMaskParams, 146.9e9 + kMaskFlops, true}},
    {"Kinetics 88x, training", {19.86e6, 260.1e9, false}},
    {"Kinetics 88x, evaluation", {19.86e6, 7.470e12, false}},
    {"AudioSet, Perceiver, raw audio", {20.97e6, 52.16e9, true}},
    {"AudioSet, Perceiver IO, raw audio", {24.92e6, 52.71e9, true}},
    {"AudioSet, Perceiver, mel spectrogram", {20.97e6, 60.57e9, true}},
    {"AudioSet, Perceiver IO, mel spectrogram", {86.57e6, 129.3e9, false}},
    {"AlphaStar entity Transformer", {0, 3.288e9, false}},
    {"StarCraft, Perceiver IO", {0, 0.9292e9, false}},
};

class LedgerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { ledger_ = paper_ledger(shipped("configs")); }
  static std::vector<LedgerEntry> ledger_;
};
std::vector<LedgerEntry> LedgerTest::ledger_;

TEST_F(LedgerTest, BuiltFiguresAreTheIndependentlyComputedOnes) {
  std::map<std::string, const LedgerEntry*> by_name;
  for (const LedgerEntry& entry : ledger_) by_name[entry.row.name] = &entry;
  for (const auto& [name, computed] : kComputed) {
    ASSERT_TRUE(by_name.contains(name)) << name;
    const LedgerEntry& entry = *by_name[name];
    // Half a unit of the fourth digit is 0.05 %; embeddings of raw features, where the calculator
    // starts from features that are embedded already, cost up to 0.3 %.
    const double slack = entry.row.config.starts_with("starcraft") ? 0.004 : 0.0011;
    EXPECT_NEAR(*entry.built.flops / computed.flops, 1.0, slack) << name;
    if (computed.params > 0) {
      EXPECT_NEAR(*entry.built.params / computed.params, 1.0, slack) << name;
    }
    EXPECT_EQ(entry.match, computed.match) << name;
  }
}

TEST_F(LedgerTest, EveryRowThatDoesNotMatchSaysWhy) {
  for (const LedgerEntry& entry : ledger_) {
    if (!entry.match) {
      EXPECT_FALSE(entry.row.note.empty()) << entry.row.name;
    }
  }
}

// Not the ledger itself, nor this project's small models, nor what is transformers' own.
bool is_of_the_paper(const std::filesystem::path& config) {
  const std::string name = config.stem().string();
  return name != "paper" && name != "text_classifier" && !name.ends_with("_mini");
}

TEST_F(LedgerTest, EveryConfigOfThePaperHasARow) {
  for (const auto& path : sorted_entries(shipped("configs"))) {
    const std::string name = path.filename().string();
    if (!is_of_the_paper(path)) continue;
    const auto has_it = [&](const LedgerEntry& entry) { return entry.row.config == name; };
    EXPECT_TRUE(std::any_of(ledger_.begin(), ledger_.end(), has_it)) << name;
  }
}

// Tab. 12 and 13, App. A and H.
TEST_F(LedgerTest, EveryHyperParameterOfThePaperIsTheConfigs) {
  std::map<std::string, size_t> settings;
  for (const PaperRecipe& recipe : paper_recipes(shipped("configs"))) {
    for (const std::string& line : recipe_differences(recipe, shipped("configs"))) {
      ADD_FAILURE() << line;
    }
    for (const std::string& config : recipe.configs) settings[config] += recipe.settings.size();
  }
  for (const auto& path : sorted_entries(shipped("configs"))) {
    const std::string name = path.filename().string();
    if (is_of_the_paper(path) && read_settings(read_file(path))->train() != nullptr) {
      EXPECT_GE(settings[name], 6) << name << " has no recipe";
    }
  }
}

// App. C: raw sound or a spectrogram, averaged or queried, 512 or 1024 latent channels.
TEST_F(LedgerTest, EachOfAudioSetsEightCombinationsIsAConfig) {
  std::set<std::string> combinations;
  for (const LedgerEntry& entry : ledger_) {
    const auto settings = read_settings(read_file(shipped("configs") / entry.row.config));
    const AudioSetConfig* model = std::as_const(*settings).model<AudioSetConfig>();
    if (model == nullptr) continue;
    EXPECT_TRUE(model->video) << entry.row.config;
    combinations.insert(fmt::format("{} {} {}", to_word(model->audio), to_word(model->decode_by),
                                    model->encoder.latent_channels));
  }
  EXPECT_EQ(combinations,
            (std::set<std::string>{"mel average 1024", "mel average 512", "mel query 1024",
                                   "mel query 512", "raw average 1024", "raw average 512",
                                   "raw query 1024", "raw query 512"}));
}

TEST(PaperRecipe, AConfigThatSaysOtherwiseIsNamedWithTheSetting) {
  const PaperRecipe recipe = {
      .where = "Tab. 0",
      .configs = {"glue_single.toml"},
      .settings = {"train.batch=16,32", "train.batch=8,16", "train.clip=1.0"}};
  EXPECT_EQ(recipe_differences(recipe, shipped("configs")),
            (std::vector<std::string>{"glue_single.toml: train.batch=8,16 (Tab. 0)",
                                      "glue_single.toml: train.clip=1.0 (Tab. 0)"}));
}

// Tab. 5 and 6, and the text: arrays of the models as released.
TEST_F(LedgerTest, ArraysAreThePapersOrTheReleases) {
  using Array = std::vector<int64_t>;
  const std::map<std::string, std::array<Array, 2>> arrays = {
      {"language_bytes.toml", {Array{2048, 768}, Array{2048, 768}}},
      {"language_sentencepiece.toml", {Array{512, 768}, Array{512, 768}}},
      {"glue_multitask_query.toml", {Array{2048, 768}, Array{8, 768}}},
      {"imagenet_fourier.toml", {Array{50'176, 261}, Array{1, 1000}}},
      {"imagenet_fourier_b_projected.toml", {Array{50'176, 514}, Array{1, 1000}}},
      {"imagenet_learned.toml", {Array{50'176, 512}, Array{1, 1000}}},
      {"imagenet_conv.toml", {Array{3136, 322}, Array{1, 1000}}},
      {"flow_patches.toml", {Array{182'528, 322}, Array{182'528, 2}}},
      {"flow_patches_separate.toml", {Array{365'056, 451}, Array{182'528, 2}}},
      {"flow_conv.toml", {Array{11'408, 322}, Array{11'408, 64}}},
      {"flow_conv_separate.toml", {Array{22'816, 451}, Array{11'408, 64}}},
      {"audioset_raw_perceiver_io.toml", {Array{13'024, 487}, Array{1, 527}}},
      {"audioset_mel_perceiver_io.toml", {Array{17'344, 487}, Array{1, 527}}},
      {"multimodal_392.toml", {Array{52'097, 704}, Array{804'737, 512}}},
  };
  size_t seen = 0;
  for (const LedgerEntry& entry : ledger_) {
    const auto expected = arrays.find(entry.row.config);
    if (expected == arrays.end()) continue;
    EXPECT_EQ(entry.built.inputs, expected->second[0]) << entry.row.name;
    EXPECT_EQ(entry.built.outputs, expected->second[1]) << entry.row.name;
    ++seen;
  }
  EXPECT_EQ(seen, arrays.size());
}

}  // namespace
}  // namespace perceiver
