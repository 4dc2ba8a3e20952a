// A corpus that need not fit in memory: text streams of several sources, mixed by weights (paper,
// App. F.2: 70 % of the tokens of C4, 30 % of Wikipedia).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "perceiver/data/mixture.h"
#include "perceiver/data/text_stream.h"

namespace perceiver {

class Corpus {
 public:
  // Each path is a source. As examples are of one length, weights of examples are weights of
  // tokens. Without weights all files are one source, and each text is read once in an epoch.
  Corpus(const std::vector<std::string>& paths, const std::vector<int64_t>& weights,
         TextStreamOptions options);

  // Of an epoch: as many as the sources have together. With weights, a source's own epochs may be
  // longer or shorter.
  int64_t size() const { return size_; }

  // Example `index` of `epoch`, as TextStream::window.
  std::string window(int64_t epoch, int64_t index, int64_t bytes, Rng& rng, WindowEdge edge) const;

  std::vector<File> held_out() const;  // lines of each source that are not among the examples
  int64_t num_opened() const;          // files so far: for tests

 private:
  Mixture mixture_;
  std::vector<std::unique_ptr<TextStream>> sources_;
  int64_t size_ = 0;
};

}  // namespace perceiver
