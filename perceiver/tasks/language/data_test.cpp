#include "perceiver/tasks/language/data.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>

#include "perceiver/core/error_test.h"
#include "perceiver/data/sentencepiece.h"
#include "perceiver/tasks/language/training.h"
#include "perceiver/tasks/task.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::pair<int64_t, int64_t>>;

class LanguageDataTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder);
    std::string text;
    for (int i = 0; i < 50; ++i) {
      text += fmt::format("a line of words, number {}, to be masked\n", i * i);
    }
    write_file(folder / "text.txt", text);
    config.train = {(folder / "text.txt").string()};
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string trained_pieces() const {
    const std::string path = (folder / "spiece.model").string();
    train_sentencepiece(config.train, path, 40);
    return path;
  }

  fs::path folder = fs::path(testing::TempDir()) / ("language_data_" + std::to_string(getpid()));
  LanguageDataConfig config;
};

TEST_F(LanguageDataTest, WordsOfBytesHaveTheSpaceBeforeThem) {
  const MaskingTokenizer bytes("bytes");
  EXPECT_EQ(bytes.words(bytes.encode("a line,  of\nwords ")),
            (Words{{0, 1}, {1, 7}, {8, 11}, {11, 17}}));
  EXPECT_EQ(bytes.words(bytes.encode(" \n ")), Words{});
  EXPECT_EQ(bytes.words({}), Words{});
}

TEST_F(LanguageDataTest, WordsOfPiecesBeginWithTheirSpace) {
  const std::string path = trained_pieces();
  const MaskingTokenizer tokenizer(path);
  const SentencePieceTokenizer pieces(read_file(path));
  const Ids ids = tokenizer.encode("a line of words, to be masked");
  const Words words = tokenizer.words(ids);
  ASSERT_EQ(words.size(), 7u);
  EXPECT_EQ(words.front().first, 0);
  EXPECT_EQ(words.back().second, static_cast<int64_t>(ids.size()));
  int64_t bytes = 0;
  for (const auto& [begin, end] : words) {
    EXPECT_TRUE(pieces.piece(ids[begin]).starts_with("\u2581"));
    for (int64_t i = begin; i < end; ++i) bytes += tokenizer.bytes(ids[i]);
  }
  EXPECT_EQ(bytes, 30);  // the text's 29, and the space that SentencePiece puts before it
}

TEST_F(LanguageDataTest, WholeWordsAreMaskedAsOftenAsAsked) {
  const MaskingTokenizer bytes("bytes");
  const Ids ids = bytes.encode("one two three four five six seven eight nine ten");
  const Words words = bytes.words(ids);
  int64_t masked = 0;
  constexpr int kDraws = 2000;
  for (int i = 0; i < kDraws; ++i) {
    Rng rng(i);
    const auto positions = masked_positions(bytes, ids, 0.15, rng);
    EXPECT_FALSE(positions.empty());
    for (const auto& [begin, end] : words) {
      const auto inside = std::ranges::count_if(
          positions, [&, b = begin, e = end](int64_t p) { return b <= p && p < e; });
      EXPECT_TRUE(inside == 0 || inside == end - begin);
      masked += inside > 0;
    }
  }
  // 15 %, and one word where none was drawn (0.85^10 of the texts): 0.15 * 10 + 0.197 = 1.697 a
  // text, up to five standard errors of 1.0 / sqrt(2000).
  EXPECT_NEAR(masked / static_cast<double>(kDraws), 1.697, 5 * 1.0 / 44.7);
}

// Of "one", " two" and " a" any part, but never none or all.
TEST_F(LanguageDataTest, OfAShareOfMaskedWordsSomeLettersAreShown) {
  const MaskingTokenizer bytes("bytes");
  const Ids ids = bytes.encode("one two a");
  std::set<std::vector<int64_t>> parts;
  int64_t whole = 0;
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    Rng rng(i), half(i);
    const auto positions = masked_positions(bytes, ids, 1.0, rng, 1.0);
    parts.insert(positions);
    whole += masked_positions(bytes, ids, 1.0, half, 0.5).size() == ids.size();
  }
  // 6 parts of three letters, 14 of four and 2 of two.
  EXPECT_EQ(parts.size(), 6u * 14 * 2);
  EXPECT_NEAR(whole / static_cast<double>(kDraws), 0.125, 5 * std::sqrt(0.125 * 0.875 / kDraws));
}

TEST_F(LanguageDataTest, AnExampleIsTheTextWithMasksAndWhatTheyHide) {
  const MaskingTokenizer bytes("bytes");
  const MaskedTextDataset dataset(language_documents(config, false), bytes, config, 64);
  Rng rng(3);
  const Example example = dataset.get(4, rng);
  EXPECT_EQ(example.at("ids").sizes(), at::IntArrayRef({64}));
  EXPECT_TRUE(example.at("mask").all().item<bool>());
  const Tensor positions = example.at("positions"), targets = example.at("targets");
  EXPECT_TRUE(
      example.at("ids").index_select(0, positions).eq(ByteTokenizer::kMask).all().item<bool>());
  const Tensor whole = example.at("ids").index_copy(0, positions, targets);
  const Ids ids(whole.data_ptr<int64_t>(), whole.data_ptr<int64_t>() + 64);
  const std::string text = read_file(config.train[0]).bytes;
  EXPECT_NE(text.find(ByteTokenizer().decode(ids)), text.npos);
  EXPECT_EQ(example.at("bytes").sum().item<int64_t>(), positions.size(0));
}

TEST_F(LanguageDataTest, ABatchIsAsWideAsItsMostMaskedTextInEighthsOfALength) {
  const MaskingTokenizer bytes("bytes");
  const MaskedTextDataset dataset(language_documents(config, false), bytes, config, 32);
  std::vector<Example> examples;
  int64_t longest = 0, masked = 0;
  for (int64_t i = 0; i < 5; ++i) {
    Rng rng(i);
    examples.push_back(dataset.get(i, rng));
    longest = std::max(longest, examples.back().at("positions").size(0));
    masked += examples.back().at("positions").size(0);
  }
  Rng rng(0);
  const Example batch = dataset.batch(examples, rng);
  EXPECT_EQ(batch.at("positions").sizes(), at::IntArrayRef({5, (longest + 3) / 4 * 4}));
  EXPECT_EQ(batch.at("targets").ne(kNoTarget).sum().item<int64_t>(), masked);
  EXPECT_EQ(batch.at("bytes").sum().item<int64_t>(), masked);
}

TEST_F(LanguageDataTest, SomeExamplesAreShorter) {
  config.shorter_share = 0.5;
  const MaskingTokenizer bytes("bytes");
  const MaskedTextDataset dataset(language_documents(config, false), bytes, config, 64);
  int full = 0, half = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    Rng rng(i);
    const int64_t length = dataset.get(i % 50, rng).at("mask").sum().item<int64_t>();
    full += length == 64;
    half += length <= 32;
  }
  EXPECT_NEAR(full, 508, 60);  // half, and one in 64 of the others
  EXPECT_NEAR(half, 250, 60);
}

TEST_F(LanguageDataTest, HeldOutDocumentsAreNotTrainedOn) {
  config.held_out_share = 0.1;
  EXPECT_EQ(language_documents(config, false).size(), 45);
  EXPECT_EQ(language_documents(config, true).size(), 5);
  config.held_out_share = 0.001;  // of few documents one is held out
  EXPECT_EQ(language_documents(config, false).size(), 49);
  EXPECT_EQ(language_documents(config, true).size(), 1);
  config.held_out = config.train;
  EXPECT_EQ(language_documents(config, false).size(), 50);
  EXPECT_EQ(language_documents(config, true).size(), 50);
}

TEST_F(LanguageDataTest, AStreamIsReadWhereThereAreWeightsOrZippedFilesOrItIsAskedFor) {
  EXPECT_FALSE(is_streamed(config));
  config.read = TextReading::kStream;
  EXPECT_TRUE(is_streamed(config));
  config.read = TextReading::kAuto;
  config.weights = {1};
  EXPECT_TRUE(is_streamed(config));
  config.read = TextReading::kMemory;
  EXPECT_EQ(error_of([&] { is_streamed(config); }),
            "data.read is \"memory\", where texts have no weights; data.read=stream, or "
            "data.weights=[]");
  config.read = TextReading::kAuto;
  config.weights = {70, 30};
  EXPECT_EQ(error_of([&] { is_streamed(config); }),
            "data.weights has 2, expected one for each of the 1 paths of data.train; "
            "data.weights=[] reads each by its size");
  config.weights = {};
  config.train = {(folder / "text.txt.gz").string()};
  write_file(config.train[0], "");  // its name tells
  EXPECT_TRUE(is_streamed(config));
  config.read = TextReading::kMemory;
  EXPECT_FALSE(is_streamed(config));
}

TEST_F(LanguageDataTest, ExamplesOfAStreamAreTextOfTheFileInAnOrderOfEachEpoch) {
  config.read = TextReading::kStream;
  config.held_out_share = 0.1;
  const MaskingTokenizer bytes("bytes");
  const MaskedTextDataset dataset(language_corpus(config, 64, 3), bytes, config, 64);
  EXPECT_TRUE(dataset.orders_itself());
  const std::string text = read_file(config.train[0]).bytes;
  const int64_t held_out = std::ssize(text) / 10;
  EXPECT_NEAR(dataset.size(), std::ssize(text) / 64, 2);
  std::vector<size_t> places[2];
  for (int64_t i = 0; i < 2 * dataset.size(); ++i) {
    Rng rng(3, i / dataset.size(), i % dataset.size());
    const Example example = dataset.get(i % dataset.size(), rng);
    const Tensor whole =
        example.at("ids").index_copy(0, example.at("positions"), example.at("targets"));
    const Ids ids(whole.data_ptr<int64_t>(), whole.data_ptr<int64_t>() + 64);
    places[i / dataset.size()].push_back(text.find(ByteTokenizer().decode(ids)));
    EXPECT_LT(places[i / dataset.size()].back(), text.size());
    EXPECT_GE(static_cast<int64_t>(places[i / dataset.size()].back()), held_out);
  }
  EXPECT_NE(places[0], places[1]);
  EXPECT_FALSE(std::ranges::is_sorted(places[0]));
  const Documents first = language_documents(config, true);
  EXPECT_EQ(first.size(), 1 + std::count(text.begin(), text.begin() + held_out, '\n'));
  Rng rng(0);
  EXPECT_EQ(first.window(0, 1, 100, rng), "a line of words, number 0, to be masked");
  write_file(folder / "blank.txt", "\n\n\n\n" + text);
  config.train = {(folder / "blank.txt").string()};
  config.held_out_share = 1e-4;
  EXPECT_EQ(error_of([&] { language_documents(config, true); }),
            config.train[0] +
                ": the lines held out from it have no text; name files to measure on: "
                "data.held_out");
}

TEST_F(LanguageDataTest, ExamplesOfAStreamOfPiecesAreFull) {
  config.read = TextReading::kStream;
  const MaskingTokenizer tokenizer(trained_pieces());
  const int64_t stride = tokenizer.usual_bytes(16);
  const MaskedTextDataset dataset(language_corpus(config, stride, 3), tokenizer, config, 16);
  EXPECT_NEAR(dataset.size(), 2 * 1024 / 64, 6);
  int64_t full = 0;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    Rng rng(i);
    full += dataset.get(i, rng).at("mask").sum().item<int64_t>() == 16;
  }
  EXPECT_EQ(full, dataset.size());
}

TEST_F(LanguageDataTest, WhatIsMissingIsSaid) {
  config.held_out_share = 0;
  EXPECT_EQ(error_of([&] { language_documents(config, true); }),
            "data.held_out_share is 0, so that there is nothing to measure on; give a share, or "
            "texts with data.held_out");
  config.held_out_share = 1.0;
  EXPECT_EQ(error_of([&] { language_documents(config, false); }),
            "data.held_out_share is 1 of 50 documents, which leaves none to train on");
  config.train = {};
  EXPECT_EQ(error_of([&] { language_documents(config, false); }),
            "data.train names no files; give text files or folders of them with --data");
  write_file(folder / "empty.txt", "\n\n");
  config.train = {(folder / "empty.txt").string()};
  EXPECT_EQ(error_of([&] { language_documents(config, false); }),
            config.train[0] + ": there is no text in it");
}

TEST_F(LanguageDataTest, PiecesOfAnotherVocabularyAreRefused) {
  const std::string pieces = trained_pieces();
  const auto task_of = [&](int64_t vocabulary) {
    const std::vector<std::string> overrides = {
        "data.train=['" + config.train[0] + "']", "data.tokenizer='" + pieces + "'",
        fmt::format("model.vocabulary_size={}", vocabulary)};
    return make_task(read_file(shipped("configs/language_bytes_mini.toml")), overrides);
  };
  const auto error = [&](int64_t vocabulary) {
    return error_of([&] { task_of(vocabulary)->training()->dataset(Split::kTrain); });
  };
  for (const int64_t vocabulary : {39, 45, 262}) {
    EXPECT_EQ(error(vocabulary),
              fmt::format("data.tokenizer: '{}' has 40 ids, expected {} as model.vocabulary_size "
                          "says; name the model's own tokenizer, or set model.vocabulary_size=40",
                          pieces, vocabulary));
  }
  EXPECT_NE(task_of(40)->training()->dataset(Split::kTrain), nullptr);
  EXPECT_NE(task_of(44)->training()->dataset(Split::kTrain), nullptr);  // 40 are 0.909 of it
  ASSERT_EQ(task_of(39)->training()->companions().size(), 1u);
  EXPECT_EQ(task_of(39)->training()->companions()[0].name, "spiece.model");
}

TEST_F(LanguageDataTest, BytesForAModelOfPiecesAreRefused) {
  const std::vector<std::string> overrides = {
      "data.train=['" + config.train[0] + "']", "data.tokenizer=bytes", "model.input_channels=12",
      "model.transformer={num_layers=1, num_heads=2, mlp_channels=8}"};
  const auto task = make_task(read_file(shipped("configs/bert_base.toml")), overrides);
  EXPECT_EQ(error_of([&] { task->training()->dataset(Split::kTrain); }),
            "data.tokenizer: 'bytes' has 262 ids, expected 32000 as model.vocabulary_size says; "
            "name the model's SentencePiece file, or set model.vocabulary_size=262");
}

// Of every config that trains a masked language model: bytes for a model of bytes, and where a file
// is named, a vocabulary that it is made for (App. F.3: 32,000 pieces).
TEST_F(LanguageDataTest, ConfigsTrainOnTheirModelsTokens) {
  std::set<std::string> on_pieces;
  int configs = 0;
  for (const fs::path& path : sorted_entries(shipped("configs"))) {
    const File file = read_file(path);
    if (path.filename() == "paper.toml") continue;
    const std::string task = ConfigReader(file, {}).peek("task");
    if (task != "language" && task != "bert") continue;
    const auto check = [&](const auto& config) {
      const bool bytes = config.data.tokenizer == "bytes";
      if (!bytes) on_pieces.insert(path.stem().string());
      check_vocabulary(config.data.tokenizer, bytes ? 262 : 32'000, config.model.vocabulary_size);
      if (path.stem().string().ends_with("_mini")) return;
      EXPECT_EQ(config.train.steps, 500'000) << path;  // App. F.2
      EXPECT_EQ(config.train.learning_rate, 1.25e-3) << path;
      EXPECT_EQ(config.data.weights, (std::vector<int64_t>{70, 30})) << path;  // C4, Wikipedia
    };
    if (task == "bert") {
      check(read_config<LanguageExperiment<BertConfig>>(file));
    } else {
      check(read_config<LanguageExperiment<LanguageConfig>>(file));
    }
    ++configs;
  }
  EXPECT_GE(configs, 8);
  EXPECT_EQ(on_pieces, (std::set<std::string>{"bert_base", "language_sentencepiece"}));
}

TEST_F(LanguageDataTest, ExamplesOfPiecesAreWholeWords) {
  const MaskingTokenizer tokenizer(trained_pieces());
  config.documents_per_example = 3;
  const MaskedTextDataset dataset(language_documents(config, false), tokenizer, config, 4);
  const SentencePieceTokenizer pieces(read_file((folder / "spiece.model").string()));
  std::istringstream text(read_file(config.train[0]).bytes);
  const std::set<std::string> words{std::istream_iterator<std::string>(text), {}};
  for (int64_t i = 0; i < 50; ++i) {
    Rng rng(i);
    const Example example = dataset.get(i % 45, rng);
    const Tensor whole =
        example.at("ids").index_copy(0, example.at("positions"), example.at("targets"));
    const Ids ids(whole.data_ptr<int64_t>(), whole.data_ptr<int64_t>() + 4);
    // Four pieces may end inside a word, but not begin there.
    std::istringstream decoded(pieces.decode(ids));
    std::string first;
    decoded >> first;
    EXPECT_TRUE(std::ranges::any_of(words, [&](const auto& w) { return w.starts_with(first); }))
        << first;
  }
}

TEST_F(LanguageDataTest, PiecesThatCannotBeMadeAreSaid) {
  const std::string error =
      error_of([&] { train_sentencepiece(config.train, folder / "spiece.model", 5000); });
  EXPECT_TRUE(error.starts_with("sentencepiece cannot make 5000 pieces of these texts: ")) << error;
  // Seven pieces are special, and the texts have more than one character.
  EXPECT_EQ(error_of([&] { train_sentencepiece(config.train, folder / "spiece.model", 8); }),
            "sentencepiece cannot make 8 pieces of these texts: every character needs a piece, and "
            "there are more of them; take a larger --vocabulary");
}

// What training decodes, only the masked positions, is what decoding all gives there.
TEST_F(LanguageDataTest, LossIsTheCrossEntropyOfMaskedPositions) {
  at::NoGradGuard no_grad;
  at::manual_seed(1);
  const std::vector<std::string> overrides = {"data.train=['" + config.train[0] + "']"};
  const auto task = make_task(read_file(shipped("configs/language_bytes_mini.toml")), overrides);
  Training& training = *task->training();
  const auto dataset = training.dataset(Split::kTrain);
  Rng one(1), two(2);
  const Example batch = dataset->batch({dataset->get(0, one), dataset->get(1, two)}, one);
  const Loss loss = training.loss(batch);
  const auto evaluator = training.evaluator();
  evaluator->add(batch);
  const Tensor measured = evaluator->state().at("loss");
  EXPECT_NEAR(measured[0].item<double>(), loss.sum.item<double>(), 1e-2);
  EXPECT_EQ(measured[1].item<double>(), loss.weight.item<double>());
  EXPECT_EQ(loss.weight.item<int64_t>(), batch.at("targets").ne(kNoTarget).sum().item<int64_t>());
  auto& model = dynamic_cast<LanguageImpl&>(task->model());
  const Tensor all = model.forward(batch.at("ids"), batch.at("mask")).log_softmax(-1);
  double expected = 0.0;
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < batch.at("positions").size(1); ++j) {
      const auto target = batch.at("targets")[i][j].item<int64_t>();
      if (target == kNoTarget) continue;
      expected -= all[i][batch.at("positions")[i][j].item<int64_t>()][target].item<double>();
    }
  }
  EXPECT_NEAR(loss.sum.item<double>(), expected, 1e-5 * expected);
}

}  // namespace
}  // namespace perceiver
