// How blocks of keys stream past one head's queries: the inside of stream.cpp.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "perceiver/kernels/cpu/scratch.h"
#include "perceiver/kernels/cpu/tiles.h"

namespace perceiver {

constexpr int64_t kRowTile = 64;  // queries whose scores against a block of keys stay in L2
// What stands for the maximum before any key was seen: finite, so that differences are never NaN.
constexpr float kNothingSeen = -1e30f;

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

inline int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// GridScores (stream.h) of one example.
struct HeadPlaces {
  const float *mean, *squares;     // [elements of the array]
  int64_t first, width, channels;  // the first element; W and P
  const float *along, *lines, *sums;
  int64_t along_stride, lines_stride;
};

// Columns that `along` of keys has behind the W: it goes round, so that a block is one stretch.
constexpr int64_t kRoundColumns = kMostKeys;

// One head of one example.
template <typename T>
struct Head {
  const T *q, *k, *v;
  int64_t q_stride, k_stride, v_stride;
  int64_t qk_channels, v_channels;
  const bool* mask;   // [M] or null
  const float* bias;  // [M] or null
  float scale;
  bool normalise_q, normalise_k;
  const HeadPlaces *q_places, *k_places;  // or null
};

// What is known of some queries: of all keys, or of one thread's share.
struct Partial {
  float* weighted;  // [queries, stride]
  int64_t stride;
  float *maximum, *sum;  // [queries]
  // Of keys of a grid: sums of weights times factors by place, by line, and of weights times
  // shifts.
  float *along = nullptr, *lines = nullptr, *shifts = nullptr;
  int64_t along_stride = 0, lines_stride = 0;
};

template <typename T>
class Streamer {
 public:
  Streamer(const Tiles<T>& tiles, const Head<T>& head)
      : tiles_(tiles), head_(head), block_(tiles.key_block) {}

  // All of `queries` past all of `keys` into `out`, whose first row is the first query's.
  void run(Range queries, Range keys, const Partial& out) {
    const int64_t f = round_up(head_.qk_channels, 2), v = head_.v_channels;
    ScratchFrame scratch;
    k_panels_ = scratch.take<T>(tiles_.panel_size(head_.qk_channels, block_));
    v_panels_ = scratch.take<T>(tiles_.panel_size(block_, v));
    normed_keys_ = head_.normalise_k || head_.k_places ? scratch.take<T>(block_ * f) : nullptr;
    start_ = scratch.take<float>(block_);
    scores_ = scratch.take<float>(kRowTile * block_);
    weights_ = scratch.take<T>(kRowTile * block_);
    factor_ = scratch.take<float>(kRowTile);
    key_factor_ = scratch.take<float>(block_);
    key_shift_ = scratch.take<float>(block_);
    first_query_ = queries.begin;
    prepare_queries(queries, f, scratch);

    std::fill_n(out.maximum, queries.size(), kNothingSeen);
    std::fill_n(out.sum, queries.size(), 0.0f);
    std::fill_n(out.weighted, queries.size() * out.stride, 0.0f);
    if (head_.k_places) {
      std::fill_n(out.along, queries.size() * out.along_stride, 0.0f);
      std::fill_n(out.lines, queries.size() * out.lines_stride, 0.0f);
      std::fill_n(out.shifts, queries.size(), 0.0f);
    }
    for (int64_t key = keys.begin; key < keys.end; key += block_) {
      const int64_t count = std::min(block_, keys.end - key);
      first_key_ = key;
      pack_keys(key, count, f);
      for (int64_t row = 0; row < queries.size(); row += kRowTile) {
        attend_tile(row, std::min(kRowTile, queries.size() - row), count, out);
      }
    }
  }

 private:
  // Pairs of channels are multiplied together in bfloat16: an odd one needs a zero beside it.
  void prepare_queries(Range queries, int64_t f, ScratchFrame& scratch) {
    queries_ = head_.q + queries.begin * head_.q_stride;
    q_stride_ = head_.q_stride;
    const int64_t channels = head_.qk_channels;
    const bool uneven = sizeof(T) < sizeof(float) && channels % 2 != 0;
    if (!head_.normalise_q && !head_.q_places && !uneven) return;
    T* own = scratch.take<T>(queries.size() * f);
    std::fill_n(own, queries.size() * f, T{});
    if (const HeadPlaces* places = head_.q_places) {
      query_factor_ = scratch.take<float>(queries.size());
      query_shift_ = scratch.take<float>(queries.size());
      tiles_.normalise_placed({.x = queries_,
                               .stride = q_stride_,
                               .rows = queries.size(),
                               .channels = channels,
                               .place_mean = places->mean + queries.begin,
                               .place_squares = places->squares + queries.begin,
                               .place_channels = places->channels,
                               .out = own,
                               .out_stride = f,
                               .factor = query_factor_,
                               .shift = query_shift_});
    } else if (head_.normalise_q) {
      tiles_.normalise_same(queries_, q_stride_, queries.size(), channels, own, f);
    } else {
      for (int64_t i = 0; i < queries.size(); ++i) {
        std::copy_n(queries_ + i * q_stride_, channels, own + i * f);
      }
    }
    queries_ = own;
    q_stride_ = f;
  }

  void pack_keys(int64_t key, int64_t count, int64_t f) {
    const T* keys = head_.k + key * head_.k_stride;
    int64_t k_stride = head_.k_stride;
    const T* values = head_.v + key * head_.v_stride;
    int64_t v_stride = head_.v_stride;
    if (head_.k_places) {
      place_keys(key, count, f);
    } else if (head_.normalise_k) {
      tiles_.normalise_same(keys, k_stride, count, head_.qk_channels, normed_keys_, f);
    }
    if (normed_keys_) {
      if (head_.v == head_.k) values = normed_keys_, v_stride = f;
      keys = normed_keys_, k_stride = f;
    }
    tiles_.pack_transposed(keys, k_stride, count, head_.qk_channels, k_panels_);
    tiles_.pack(values, v_stride, count, head_.v_channels, v_panels_);
    columns_ = round_up(count, tiles_.lanes);
    for (int64_t j = 0; j < columns_; ++j) {
      const bool there = j < count && (!head_.mask || head_.mask[key + j]);
      start_[j] = !there       ? -std::numeric_limits<float>::infinity()
                  : head_.bias ? head_.bias[key + j]
                               : 0.0f;
    }
  }

  // The block's content, normalised with its positions, and the lines it is of.
  void place_keys(int64_t key, int64_t count, int64_t f) {
    const HeadPlaces& places = *head_.k_places;
    tiles_.normalise_placed({.x = head_.k + key * head_.k_stride,
                             .stride = head_.k_stride,
                             .rows = count,
                             .channels = head_.qk_channels,
                             .place_mean = places.mean + key,
                             .place_squares = places.squares + key,
                             .place_channels = places.channels,
                             .out = normed_keys_,
                             .out_stride = f,
                             .factor = key_factor_,
                             .shift = key_shift_});
    const int64_t columns = round_up(count, tiles_.lanes);
    // Columns that are no keys are of the last line, and add nothing.
    std::fill(key_factor_ + count, key_factor_ + columns, 0.0f);
    std::fill(key_shift_ + count, key_shift_ + columns, 0.0f);
    runs_.clear();
    for (int64_t j = 0; j < count;) {
      const int64_t element = places.first + key + j, line = element / places.width;
      const int64_t end = std::min((line + 1) * places.width - places.first - key, count);
      runs_.push_back({j, end == count ? columns : end, line});
      j = end;
    }
  }

  // What positions add to a tile of scores.
  void start_scores(int64_t row, int64_t rows) {
    const int64_t query = first_query_ + row;
    if (const HeadPlaces* places = head_.k_places) {
      tiles_.start_keys({.runs = runs_.data(),
                         .num_runs = static_cast<int64_t>(runs_.size()),
                         .rows = rows,
                         .factor = key_factor_,
                         .shift = key_shift_,
                         .along = places->along + query * places->along_stride + first_place(),
                         .lines = places->lines + query * places->lines_stride,
                         .sums = places->sums + query,
                         .along_stride = places->along_stride,
                         .lines_stride = places->lines_stride,
                         .scores = scores_,
                         .stride = block_});
    }
    if (const HeadPlaces* places = head_.q_places) {
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t element = places->first + query + i;
        const int64_t line = element / places->width, x = element % places->width;
        tiles_.start_query({.factor = query_factor_[row + i],
                            .shift = query_shift_[row + i],
                            .along = places->along + x * places->along_stride + first_key_,
                            .lines = places->lines + line * places->lines_stride + first_key_,
                            .sums = places->sums + first_key_,
                            .scores = scores_ + i * block_,
                            .columns = columns_});
      }
    }
  }

  // The place along its line of the block's first key.
  int64_t first_place() const {
    return (head_.k_places->first + first_key_) % head_.k_places->width;
  }

  void sum_places(int64_t row, int64_t rows, const Partial& out) {
    tiles_.sum_places({.runs = runs_.data(),
                       .num_runs = static_cast<int64_t>(runs_.size()),
                       .rows = rows,
                       .factor = key_factor_,
                       .shift = key_shift_,
                       .weights = weights_,
                       .stride = block_,
                       .rescale = factor_,
                       .along = out.along + row * out.along_stride,
                       .lines = out.lines + row * out.lines_stride,
                       .shifts = out.shifts + row,
                       .along_stride = out.along_stride,
                       .lines_stride = out.lines_stride,
                       .first = first_place()});
  }

  void attend_tile(int64_t row, int64_t rows, int64_t count, const Partial& out) {
    const bool placed = head_.k_places || head_.q_places;
    if (placed) start_scores(row, rows);
    tiles_.multiply({.a = queries_ + row * q_stride_,
                     .a_stride = q_stride_,
                     .rows = rows,
                     .panels = k_panels_,
                     .depth = head_.qk_channels,
                     .columns = columns_,
                     .start = start_,
                     .onto = placed ? scores_ : nullptr,
                     .onto_stride = block_,
                     .c = scores_,
                     .c_stride = block_});
    tiles_.softmax({.scores = scores_,
                    .rows = rows,
                    .columns = columns_,
                    .stride = block_,
                    .scale = head_.scale,
                    .maximum = out.maximum + row,
                    .sum = out.sum + row,
                    .factor = factor_,
                    .weights = weights_,
                    .weights_stride = block_});
    if (head_.k_places) sum_places(row, rows, out);
    float* weighted = out.weighted + row * out.stride;
    tiles_.multiply({.a = weights_,
                     .a_stride = block_,
                     .rows = rows,
                     .panels = v_panels_,
                     .depth = count,
                     .columns = head_.v_channels,
                     .onto = weighted,
                     .onto_stride = out.stride,
                     .factor = factor_,
                     .c = weighted,
                     .c_stride = out.stride});
  }

  const Tiles<T>& tiles_;
  const Head<T>& head_;
  const int64_t block_;  // keys at once
  T *k_panels_, *v_panels_, *normed_keys_, *weights_;
  float *start_, *scores_, *factor_;
  float *key_factor_, *key_shift_, *query_factor_ = nullptr, *query_shift_ = nullptr;
  std::vector<LineRun> runs_;  // of the block's columns
  const T* queries_;
  int64_t q_stride_, columns_, first_query_, first_key_;
};

}  // namespace perceiver
