#include "perceiver/tasks/language/data.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "perceiver/core/error.h"

namespace perceiver {
namespace {

Tensor to_tensor(const std::vector<int64_t>& values) { return at::tensor(values, at::kLong); }

// Any of [begin, end), one at least and at most all but one.
std::vector<int64_t> some_of(int64_t begin, int64_t end, Rng& rng) {
  std::vector<int64_t> all(end - begin);
  std::iota(all.begin(), all.end(), begin);
  if (all.size() < 2) return all;
  for (int64_t i = std::ssize(all) - 1; i > 0; --i) std::swap(all[i], all[rng.integer(i + 1)]);
  all.resize(1 + rng.integer(std::ssize(all) - 1));
  std::ranges::sort(all);
  return all;
}

}  // namespace

WindowEdge window_edge(const MaskingTokenizer& tokenizer) {
  return tokenizer.is_of_bytes() ? WindowEdge::kByte : WindowEdge::kWord;
}

std::vector<int64_t> masked_positions(const MaskingTokenizer& tokenizer, const Ids& ids,
                                      double probability, Rng& rng, double parts_shown) {
  const auto words = tokenizer.words(ids);
  std::vector<int64_t> positions;
  const auto mask = [&](const std::pair<int64_t, int64_t>& word) {
    if (parts_shown > 0.0 && rng.chance(parts_shown)) {
      std::ranges::copy(some_of(word.first, word.second, rng), std::back_inserter(positions));
      return;
    }
    for (int64_t i = word.first; i < word.second; ++i) positions.push_back(i);
  };
  for (const auto& word : words) {
    if (rng.chance(probability)) mask(word);
  }
  // A text without a masked word would teach nothing.
  if (positions.empty() && !words.empty()) {
    mask(words[rng.integer(static_cast<int64_t>(words.size()))]);
  }
  return positions;
}

MaskedTextDataset::MaskedTextDataset(Texts texts, const MaskingTokenizer& tokenizer,
                                     const LanguageDataConfig& config, int64_t num_inputs)
    : texts_(std::move(texts)), tokenizer_(tokenizer), config_(config), num_inputs_(num_inputs) {}

const Corpus* MaskedTextDataset::corpus() const {
  const auto* corpus = std::get_if<std::unique_ptr<const Corpus>>(&texts_);
  return corpus == nullptr ? nullptr : corpus->get();
}

int64_t MaskedTextDataset::size() const {
  return corpus() != nullptr ? corpus()->size() : std::get<Documents>(texts_).size();
}

std::string MaskedTextDataset::text(int64_t index, int64_t bytes, Rng& rng) const {
  const WindowEdge edge = window_edge(tokenizer_);
  if (corpus() != nullptr) {
    return corpus()->window(static_cast<int64_t>(rng.epoch()), index, bytes, rng, edge);
  }
  const auto& documents = std::get<Documents>(texts_);
  return documents.window(index, config_.documents_per_example, bytes, rng, edge);
}

int64_t MaskedTextDataset::length_of_example(Rng& rng) const {
  if (config_.shorter_share == 0.0 || !rng.chance(config_.shorter_share)) return num_inputs_;
  return 1 + rng.integer(num_inputs_);
}

Example MaskedTextDataset::get(int64_t index, Rng& rng) const {
  const int64_t length = length_of_example(rng);
  Ids ids = tokenizer_.encode(text(index, tokenizer_.most_bytes(length), rng));
  if (std::ssize(ids) > length) ids.resize(length);
  const std::vector<int64_t> positions =
      masked_positions(tokenizer_, ids, config_.mask_probability, rng, config_.parts_shown);
  std::vector<int64_t> targets, bytes;
  for (const int64_t position : positions) {
    targets.push_back(ids[position]);
    bytes.push_back(tokenizer_.bytes(ids[position]));
    ids[position] = tokenizer_.special().mask;
  }
  const TokenBatch padded = pad_or_crop({ids}, num_inputs_, tokenizer_.special().pad);
  return {{"ids", padded.ids[0]},
          {"mask", padded.mask[0]},
          {"positions", to_tensor(positions)},
          {"targets", to_tensor(targets)},
          {"bytes", to_tensor(bytes)}};
}

Example MaskedTextDataset::batch(const std::vector<Example>& examples, Rng&) const {
  // Few sizes of batch, so that a GPU can be told of each once (RecordedPass).
  const int64_t step = std::max<int64_t>(1, num_inputs_ / 8);
  int64_t longest = 1;
  for (const Example& example : examples) {
    longest = std::max(longest, example.at("positions").size(0));
  }
  longest = std::min(num_inputs_, (longest + step - 1) / step * step);
  const auto padded = [&](const char* name, int64_t filling) {
    Tensor rows = at::full({static_cast<int64_t>(examples.size()), longest}, filling, at::kLong);
    auto* row = rows.data_ptr<int64_t>();
    for (const Example& example : examples) {
      const Tensor& values = example.at(name);
      std::copy_n(values.data_ptr<int64_t>(), values.numel(), row);
      row += longest;
    }
    return rows;
  };
  std::vector<Example> texts;
  for (const Example& e : examples) texts.push_back({{"ids", e.at("ids")}, {"mask", e.at("mask")}});
  Example batch = stack(texts);
  batch["positions"] = padded("positions", 0);
  batch["targets"] = padded("targets", kNoTarget);
  batch["bytes"] = padded("bytes", 0);
  return batch;
}

static void check_paths(const std::vector<std::string>& paths, std::string_view key) {
  if (!paths.empty()) return;
  fail("data.{} names no files; give text files or folders of them with --data", key);
}

Documents language_documents(const LanguageDataConfig& config, bool held_out) {
  const bool own = held_out && !config.held_out.empty();
  const std::vector<std::string>& paths = own ? config.held_out : config.train;
  check_paths(paths, held_out ? "held_out" : "train");
  if (held_out && !own && is_streamed(config)) {
    Documents documents(language_corpus(config, 1, 0)->held_out(), config.document);
    if (documents.size() == 0) {
      fail("{}: the lines held out from it have no text; name files to measure on: data.held_out",
           paths[0]);
    }
    return documents;
  }
  Documents documents(paths, config.document);
  if (documents.size() == 0) fail("{}: there is no text in it", paths[0]);
  if (own || !config.held_out.empty()) return documents;
  const auto all = documents.size();
  const auto share =
      static_cast<int64_t>(std::floor(static_cast<double>(all) * config.held_out_share));
  const int64_t kept = all - (config.held_out_share > 0 ? std::max<int64_t>(share, 1) : 0);
  if (held_out && kept == all) {
    fail(
        "data.held_out_share is 0, so that there is nothing to measure on; give a share, or texts "
        "with data.held_out");
  }
  if (!held_out && kept == 0)
    fail("data.held_out_share is {} of {} document{}, which leaves none to train on",
         config.held_out_share, all, all == 1 ? "" : "s");
  documents.keep(held_out ? kept : 0, held_out ? all : kept);
  return documents;
}

bool is_streamed(const LanguageDataConfig& config) {
  if (!config.weights.empty() && config.weights.size() != config.train.size()) {
    fail(
        "data.weights has {}, expected one for each of the {} paths of data.train; data.weights=[] "
        "reads each by its size",
        config.weights.size(), config.train.size());
  }
  if (config.read == TextReading::kMemory && !config.weights.empty()) {
    fail(
        "data.read is \"memory\", where texts have no weights; data.read=stream, or "
        "data.weights=[]");
  }
  if (config.read != TextReading::kAuto) return config.read == TextReading::kStream;
  if (!config.weights.empty()) return true;
  int64_t bytes = 0;
  for (const std::string& path : config.train) {
    for (const std::filesystem::path& file : text_files(path)) {
      if (is_gzip(file)) return true;
      bytes += static_cast<int64_t>(std::filesystem::file_size(file));
    }
  }
  return bytes > Documents::kRoom;
}

std::unique_ptr<const Corpus> language_corpus(const LanguageDataConfig& config, int64_t stride,
                                              uint64_t seed) {
  check_paths(config.train, "train");
  const double held_out = config.held_out.empty() ? config.held_out_share : 0.0;
  return std::make_unique<Corpus>(
      config.train, config.weights,
      TextStreamOptions{
          .seed = seed, .unit = config.document, .stride = stride, .held_out_share = held_out});
}

}  // namespace perceiver
