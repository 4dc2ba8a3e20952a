// In which order the text of many files is read, by their sizes alone: nothing is opened for it.
//
// A part is a file, or some 64 MiB of a plain one, and is read from its beginning to its end, a
// segment at a time. In an epoch the parts stand in an order of its own and are given to lanes,
// each to the lane that is free first. Round r is the r-th segment of every lane, and its examples
// are what is shuffled.
#pragma once

#include <cstdint>
#include <vector>

#include "perceiver/core/rng.h"

namespace perceiver {

struct ShardPart {
  int32_t file;
  int64_t begin, end;  // bytes of the file
  double text;         // bytes of it for each of these, as far as one knows before reading
  int64_t segments;
};

// Where segment `index` of a part begins in its file; where the last one ends, for `segments`.
int64_t segment_begin(const ShardPart& part, int64_t index);

class ShardPlan {
 public:
  ShardPlan(std::vector<ShardPart> parts, int64_t lanes, int64_t stride);

  const ShardPart& part(int64_t index) const { return parts_[index]; }
  int64_t num_lanes() const { return lanes_; }
  int64_t num_examples() const { return examples_; }  // of an epoch, each takes `stride` of text

  // How many are cut from a segment.
  int64_t examples_of(const ShardPart& part, int64_t segment) const;

 private:
  std::vector<ShardPart> parts_;
  int64_t lanes_, stride_, examples_ = 0;

  friend class EpochPlan;
};

class EpochPlan {
 public:
  EpochPlan(const ShardPlan& plan, Rng rng);

  struct Segment {
    int64_t part = -1, index = 0, examples = 0;  // none: the lane has nothing left
  };
  Segment segment(int64_t lane, int64_t round) const;

  // Of the example at `place` of the epoch: its round, its place there, and how many that has.
  struct Place {
    int64_t round, place, examples;
  };
  Place find(int64_t place) const;

 private:
  struct Given {
    int64_t round, part;  // the round with the part's first segment
  };

  const ShardPlan& plan_;
  std::vector<std::vector<Given>> lanes_;
  std::vector<int64_t> first_;  // example of each round, and behind the last
};

}  // namespace perceiver
