#include "perceiver/kernels/attention/stream.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "perceiver/core/repeated.h"
#include "perceiver/kernels/attention/streamer.h"
#include "perceiver/kernels/cpu/work_stealing.h"

namespace perceiver {
namespace {

constexpr int64_t kQueryChunk = 2048;  // queries that share the packing of a block of keys
constexpr int64_t kFewestKeys = 480;   // that are worth a thread of their own
constexpr int64_t kMergedRows = 64;    // queries whose shares a thread puts together at once
constexpr float kLog2E = 1.44269504f;

// How the work is cut: all threads must be busy for few queries with many keys and the reverse.
struct Cut {
  int64_t query_chunks, key_shares;
};

Cut cut_work(int64_t heads, int64_t queries, int64_t keys) {
  const int64_t threads = at::get_num_threads();
  const int64_t chunks = (queries + kQueryChunk - 1) / kQueryChunk;
  if (heads * chunks < threads && keys >= queries) {
    const int64_t wanted = (threads + heads * chunks - 1) / (heads * chunks);
    const int64_t shares = std::min(keys / kFewestKeys, wanted);
    if (shares > 1) return {chunks, shares};
  }
  const int64_t even = round_up(chunks, threads / std::gcd(heads, threads));
  return {std::min(even, std::max<int64_t>(1, queries / 8)), 1};
}

template <typename T>
class StreamCall {
 public:
  StreamCall(const StreamInputs& in, const Tiles<T>& tiles)
      : in_(in),
        tiles_(tiles),
        v_(in.v.defined() ? in.v : in.k),
        heads_(in.q.size(1)),
        queries_(in.q.size(2)),
        keys_(in.k.size(2)),
        v_channels_(v_.size(3)),
        cut_(cut_work(in.q.size(0) * heads_, queries_, keys_)),
        chunk_(round_up((queries_ + cut_.query_chunks - 1) / cut_.query_chunks, 8)) {
    for (int64_t b = 0; b < in.q.size(0); ++b) {
      if (in.query_places) q_places_.push_back(places_of(*in.query_places, b));
      if (in.key_places) k_places_.push_back(places_of(*in.key_places, b));
    }
  }

  Tensor run(Tensor* log_sum) {
    const int64_t batch = in_.q.size(0);
    const int64_t place_channels = in_.key_places ? in_.key_places->places.channels() : 0;
    out_ = at::empty({batch, queries_, heads_, v_channels_ + place_channels}, in_.q.options())
               .transpose(1, 2);
    if (in_.key_places) prepare_place_sums(batch);
    if (log_sum) *log_sum = at::empty({batch, heads_, queries_}, in_.q.options().dtype(at::kFloat));
    log_sum_ = log_sum ? log_sum->data_ptr<float>() : nullptr;
    const int64_t pieces = batch * heads_ * cut_.query_chunks;
    if (cut_.key_shares == 1) {
      share_out(pieces, [&](int64_t i) { run_piece(i); });
    } else {
      run_shares(pieces);
    }
    if (in_.key_places) add_place_values();
    return out_;
  }

 private:
  Head<T> head(int64_t b, int64_t h) const {
    const auto at_head = [&](const Tensor& x) {
      return reinterpret_cast<const T*>(x.const_data_ptr()) + b * x.stride(0) + h * x.stride(1);
    };
    return {
        .q = at_head(in_.q),
        .k = at_head(in_.k),
        .v = at_head(v_),
        .q_stride = in_.q.stride(2),
        .k_stride = in_.k.stride(2),
        .v_stride = v_.stride(2),
        .qk_channels = in_.q.size(3),
        .v_channels = v_channels_,
        .mask = in_.kv_mask.defined() ? in_.kv_mask.const_data_ptr<bool>() + b * keys_ : nullptr,
        .bias = in_.key_bias.defined()
                    ? in_.key_bias.const_data_ptr<float>() + (b * heads_ + h) * keys_
                    : nullptr,
        .scale = static_cast<float>(in_.scale) * kLog2E,
        .normalise_q = in_.normalise_q,
        .normalise_k = in_.normalise_k,
        .q_places = in_.query_places ? &q_places_[b] : nullptr,
        .k_places = in_.key_places ? &k_places_[b] : nullptr};
  }

  // Of both arrays; their elements are told apart by the strides.
  static HeadPlaces places_of(const GridScores& scores, int64_t b) {
    return {.mean = scores.places.mean.const_data_ptr<float>() + scores.first,
            .squares = scores.places.squares.const_data_ptr<float>() + scores.first,
            .first = scores.first,
            .width = scores.places.width(),
            .channels = scores.places.channels(),
            .along = scores.along.const_data_ptr<float>() + b * scores.along.stride(0),
            .lines = scores.lines.const_data_ptr<float>() + b * scores.lines.stride(0),
            .sums = scores.sums.const_data_ptr<float>() + b * scores.sums.stride(0),
            .along_stride = scores.along.stride(1),
            .lines_stride = scores.lines.stride(1)};
  }

  // The positions' part of the weighted sums, by place, by line and by shift.
  void prepare_place_sums(int64_t batch) {
    const auto sums = [&](int64_t columns) {
      return at::empty({batch, queries_, columns}, in_.q.options().dtype(at::kFloat));
    };
    along_sums_ = sums(in_.key_places->places.width());
    line_sums_ = sums(in_.key_places->places.lines.size(0));
    shift_sums_ = sums(1);
  }

  void add_place_values() {
    const GridPlaces& places = in_.key_places->places;
    const Tensor values =
        at::matmul(along_sums_, places.along) + at::matmul(line_sums_, places.lines) - shift_sums_;
    out_.narrow(3, v_channels_, places.channels()).copy_(values.unsqueeze(1));
  }

  Range queries_of(int64_t piece) const {
    const int64_t begin = std::min(piece % cut_.query_chunks * chunk_, queries_);
    return {begin, std::min(begin + chunk_, queries_)};
  }

  Partial partial(int64_t rows, ScratchFrame& scratch) const {
    const int64_t stride = round_up(v_channels_, 16);
    Partial partial{.weighted = scratch.take<float>(rows * stride),
                    .stride = stride,
                    .maximum = scratch.take<float>(rows),
                    .sum = scratch.take<float>(rows)};
    if (in_.key_places) {
      partial.along_stride = round_up(in_.key_places->places.width(), 16) + kRoundColumns;
      partial.lines_stride = in_.key_places->places.lines.size(0);
      partial.along = scratch.take<float>(rows * partial.along_stride);
      partial.lines = scratch.take<float>(rows * partial.lines_stride);
      partial.shifts = scratch.take<float>(rows);
    }
    return partial;
  }

  // One of a batch's, by its place among all of them.
  Head<T> head(int64_t index) const { return head(index / heads_, index % heads_); }

  void run_piece(int64_t piece) {
    const Head<T> head = this->head(piece / cut_.query_chunks);
    const Range queries = queries_of(piece);
    ScratchFrame scratch;
    const Partial all = partial(queries.size(), scratch);
    Streamer<T>(tiles_, head).run(queries, {0, keys_}, all);
    finish(piece, {0, queries.size()}, all);
  }

  // Few queries: each piece's keys are shared out, and the shares put together.
  void run_shares(int64_t pieces) {
    const int64_t shares = cut_.key_shares;
    const int64_t keys = round_up((keys_ + shares - 1) / shares, tiles_.key_block);
    ScratchFrame scratch;
    std::vector<Partial> parts;
    for (int64_t i = 0; i < pieces * shares; ++i) parts.push_back(partial(chunk_, scratch));
    share_out(pieces * shares, [&](int64_t i) {
      const Head<T> head = this->head(i / shares / cut_.query_chunks);
      const int64_t first = std::min(i % shares * keys, keys_);
      Streamer<T>(tiles_, head)
          .run(queries_of(i / shares), {first, std::min(first + keys, keys_)}, parts[i]);
    });
    const int64_t blocks = (chunk_ + kMergedRows - 1) / kMergedRows;
    share_out(pieces * blocks, [&](int64_t i) {
      const int64_t piece = i / blocks, queries = queries_of(piece).size();
      const int64_t first = std::min(i % blocks * kMergedRows, queries);
      const Range rows{first, std::min(first + kMergedRows, queries)};
      const Partial& all = parts[piece * shares];
      for (int64_t share = 1; share < shares; ++share) {
        merge(all, parts[piece * shares + share], rows);
      }
      finish(piece, rows, all);
    });
  }

  static void merge(const Partial& into, const Partial& from, Range rows) {
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      const float maximum = std::max(into.maximum[i], from.maximum[i]);
      const float a = std::exp2(into.maximum[i] - maximum),
                  b = std::exp2(from.maximum[i] - maximum);
      const auto add = [&](float* sums, const float* more, int64_t stride) {
        for (int64_t j = i * stride; j < (i + 1) * stride; ++j) sums[j] = a * sums[j] + b * more[j];
      };
      add(into.weighted, from.weighted, into.stride);
      if (into.along) {
        add(into.along, from.along, into.along_stride);
        add(into.lines, from.lines, into.lines_stride);
        add(into.shifts, from.shifts, 1);
      }
      into.sum[i] = a * into.sum[i] + b * from.sum[i];
      into.maximum[i] = maximum;
    }
  }

  // Some rows of a piece.
  void finish(int64_t piece, Range rows, const Partial& all) {
    const int64_t head = piece / cut_.query_chunks;
    T* out = static_cast<T*>(out_.data_ptr()) + head / heads_ * out_.stride(0) +
             head % heads_ * out_.stride(1);
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      const int64_t query = queries_of(piece).begin + i;
      // No key seen: the sum is 0 and the row is zeros.
      const float factor = all.sum[i] > 0.0f ? 1.0f / all.sum[i] : 0.0f;
      tiles_.scale(all.weighted + i * all.stride, factor, v_channels_,
                   out + query * out_.stride(2));
      if (all.along) finish_places(head * queries_ + query, i, all, factor);
      if (log_sum_) {
        // Of no key log2(0), -inf.
        log_sum_[head * queries_ + query] = (all.maximum[i] + std::log2(all.sum[i])) / kLog2E;
      }
    }
  }

  void finish_places(int64_t query, int64_t i, const Partial& all, float factor) {
    const int64_t width = along_sums_.size(2), lines = line_sums_.size(2);
    float* along = along_sums_.data_ptr<float>() + query * width;
    float* line = line_sums_.data_ptr<float>() + query * lines;
    std::fill_n(along, width, 0.0f);
    for (int64_t j = 0; j < all.along_stride; ++j) {
      along[j % width] += all.along[i * all.along_stride + j] * factor;
    }
    for (int64_t j = 0; j < lines; ++j) line[j] = all.lines[i * all.lines_stride + j] * factor;
    shift_sums_.data_ptr<float>()[query] = all.shifts[i] * factor;
  }

  const StreamInputs& in_;
  const Tiles<T>& tiles_;
  std::vector<HeadPlaces> q_places_, k_places_;  // of each example
  Tensor along_sums_, line_sums_, shift_sums_;   // [B, N, W], [B, N, L], [B, N, 1]
  Tensor v_, out_;
  int64_t heads_, queries_, keys_, v_channels_;
  Cut cut_;
  int64_t chunk_;
  float* log_sum_ = nullptr;
};

Tensor rows_contiguous(const Tensor& x) {
  return !x.defined() || x.stride(-1) == 1 ? x : x.contiguous();
}

}  // namespace

bool stream_takes(at::ScalarType dtype) {
  return dtype == at::kFloat || (dtype == at::kBFloat16 && bf16_tiles());
}

// Of examples that are all the same, of the first.
static Tensor for_each_example(const Tensor& other, const std::function<Tensor(const Tensor&)>& f) {
  const Tensor wide = other.to(at::kFloat);
  if (!repeats_one_example(other)) return f(wide);
  const Tensor one = f(wide.narrow(0, 0, 1));
  std::vector<int64_t> sizes = one.sizes().vec();
  sizes[0] = other.size(0);
  return one.expand(sizes);
}

GridScores scores_of_keys(const GridPlaces& places, int64_t first, const Tensor& other) {
  const auto products = [&](const Tensor& positions) {
    return for_each_example(other, [&](const Tensor& x) { return at::matmul(x, positions.t()); });
  };
  const int64_t columns = round_up(places.width(), 16) + kRoundColumns;
  const Tensor round = at::arange(columns).remainder(places.width());
  return {.places = places,
          .first = first,
          .along = products(places.along.index_select(0, round)),
          .lines = products(places.lines),
          .sums = for_each_example(other, [](const Tensor& x) { return x.sum(2); })};
}

GridScores scores_of_queries(const GridPlaces& places, int64_t first, const Tensor& other) {
  const int64_t missing = round_up(other.size(1), 16) - other.size(1);  // of whole vectors
  const auto products = [&](const Tensor& positions) {
    return for_each_example(other, [&](const Tensor& x) {
      return at::constant_pad_nd(at::matmul(positions, x.transpose(1, 2)), {0, missing});
    });
  };
  return {.places = places,
          .first = first,
          .along = products(places.along),
          .lines = products(places.lines),
          .sums = for_each_example(other, [&](const Tensor& x) {
            return at::constant_pad_nd(x.sum(2), {0, missing});
          })};
}

Tensor attend_stream(const StreamInputs& inputs, Tensor* log_sum) {
  StreamInputs in = inputs;
  for (Tensor* x : {&in.q, &in.k, &in.v}) *x = rows_contiguous(*x);
  if (in.kv_mask.defined()) in.kv_mask = in.kv_mask.contiguous();
  if (in.key_bias.defined()) in.key_bias = in.key_bias.contiguous();
  if (in.q.scalar_type() == at::kFloat) return StreamCall<float>(in, float_tiles()).run(log_sum);
  return StreamCall<Bf16>(in, *bf16_tiles()).run(log_sum);
}

}  // namespace perceiver
