// The texts of many files as a stream: shuffled, in bounded memory, begun at any example.
//
// Example g is a function of (seed, g), whoever asks for it and in which order; asked for in order,
// each byte is read once. The order is that of shard_plan.h; within a round, windows of all lanes
// are shuffled. A segment's documents are joined by line breaks, and the text is cut evenly into as
// many pieces as the sizes of the files foretold: an example is its piece, or where that is shorter
// some text around it too. The sizes foretell a little much, so that no piece is longer.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "perceiver/core/file.h"
#include "perceiver/data/shard_plan.h"
#include "perceiver/data/text_files.h"
#include "perceiver/data/text_segment.h"

namespace perceiver {

struct TextStreamOptions {
  uint64_t seed = 0;
  DocumentUnit unit = DocumentUnit::kLine;
  int64_t stride = 2048;           // bytes of text that an example takes
  int64_t lanes = 16;              // files read side by side
  int64_t round_bytes = 48 << 20;  // of text that is mixed at a time
  // The first lines of the first file are not among the examples: this share of the text, 4 MiB or
  // half of that file at most.
  double held_out_share = 0.0;
};

class TextStream {
 public:
  // Files are looked at for their sizes, and 256 KiB of one of each kind are read.
  TextStream(std::vector<std::filesystem::path> files, const TextStreamOptions& options);
  ~TextStream();

  int64_t size() const { return plan_ ? plan_->num_examples() : 0; }  // of an epoch

  // Example `number` of all epochs in a row: `bytes` of text, less where words are not cut.
  std::string window(int64_t number, int64_t bytes, Rng& rng, WindowEdge edge) const;

  // The held-out lines as they stand in the file: its name and they. Empty: none are held out.
  File held_out() const;

  int64_t num_opened() const { return opened_; }  // files, so far: for tests

 private:
  struct Lane;

  std::vector<double> measure() const;
  std::shared_ptr<const EpochPlan> epoch_plan(int64_t epoch) const;
  std::shared_ptr<const TextSegment> segment(const EpochPlan& plan, int64_t epoch, int64_t lane,
                                             int64_t round) const;
  std::shared_ptr<const TextSegment> read(const EpochPlan::Segment& where, int64_t epoch,
                                          Lane& lane) const;

  std::vector<std::filesystem::path> files_;
  std::vector<int64_t> sizes_;
  TextStreamOptions options_;
  int32_t held_out_file_ = 0;   // the first with text
  int64_t held_out_bytes_ = 0;  // of its text
  std::unique_ptr<ShardPlan> plan_;
  mutable std::vector<std::unique_ptr<Lane>> lanes_;
  mutable std::mutex plans_mutex_;
  mutable std::map<int64_t, std::shared_ptr<const EpochPlan>> plans_;  // of the last epochs
  mutable std::atomic<int64_t> opened_ = 0;
};

}  // namespace perceiver
