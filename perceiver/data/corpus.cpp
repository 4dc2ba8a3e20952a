#include "perceiver/data/corpus.h"

#include "perceiver/core/error.h"

namespace perceiver {

Corpus::Corpus(const std::vector<std::string>& paths, const std::vector<int64_t>& weights,
               TextStreamOptions options)
    : mixture_(weights.empty() ? std::vector<int64_t>{1} : weights) {
  std::vector<std::vector<std::filesystem::path>> sources(weights.empty() ? 1 : paths.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    std::vector<std::filesystem::path>& files = sources[weights.empty() ? 0 : i];
    for (std::filesystem::path& file : text_files(paths[i])) files.push_back(std::move(file));
  }
  options.round_bytes /= std::ssize(sources);
  for (size_t i = 0; i < sources.size(); ++i) {
    options.seed = scramble(options.seed);  // sources are not shuffled alike
    sources_.push_back(std::make_unique<TextStream>(std::move(sources[i]), options));
    if (sources_.back()->size() == 0) fail("{}: there is no text in it", paths[i]);
    size_ += sources_.back()->size();
  }
}

std::string Corpus::window(int64_t epoch, int64_t index, int64_t bytes, Rng& rng,
                           WindowEdge edge) const {
  const auto [source, number] = mixture_.turn(epoch * size_ + index);
  return sources_[source]->window(number, bytes, rng, edge);
}

std::vector<File> Corpus::held_out() const {
  std::vector<File> lines;
  for (const auto& source : sources_) lines.push_back(source->held_out());
  return lines;
}

int64_t Corpus::num_opened() const {
  int64_t opened = 0;
  for (const auto& source : sources_) opened += source->num_opened();
  return opened;
}

}  // namespace perceiver
