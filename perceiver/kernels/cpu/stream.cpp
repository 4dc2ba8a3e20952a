#include "perceiver/kernels/cpu/stream.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "perceiver/kernels/cpu/scratch.h"
#include "perceiver/kernels/cpu/tiles.h"

namespace perceiver {
namespace {

constexpr int64_t kRowTile = 64;       // queries whose scores against a key block stay in L2
constexpr int64_t kKeyBlock = 240;     // whole panels of every instruction set
constexpr int64_t kQueryChunk = 2048;  // queries that share the packing of a key block
constexpr int64_t kFewestKeys = 2 * kKeyBlock;  // that are worth a thread of their own
// What stands for the maximum before any key was seen: finite, so that differences are never NaN.
constexpr float kNothingSeen = -1e30f;
constexpr float kLog2E = 1.44269504f;

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

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
};

// What is known of some queries: of all keys, or of one thread's share.
struct Partial {
  float* weighted;  // [queries, stride]
  int64_t stride;
  float *maximum, *sum;  // [queries]
};

template <typename T>
class Streamer {
 public:
  Streamer(const Tiles<T>& tiles, const Head<T>& head) : tiles_(tiles), head_(head) {}

  // All of `queries` past all of `keys` into `out`, whose first row is the first query's.
  void run(Range queries, Range keys, const Partial& out) {
    const int64_t f = round_up(head_.qk_channels, 2), v = head_.v_channels;
    ScratchFrame scratch;
    k_panels_ = scratch.take<T>(tiles_.panel_size(head_.qk_channels, kKeyBlock));
    v_panels_ = scratch.take<T>(tiles_.panel_size(kKeyBlock, v));
    normed_keys_ = head_.normalise_k ? scratch.take<T>(kKeyBlock * f) : nullptr;
    start_ = scratch.take<float>(kKeyBlock);
    scores_ = scratch.take<float>(kRowTile * kKeyBlock);
    weights_ = scratch.take<T>(kRowTile * kKeyBlock);
    factor_ = scratch.take<float>(kRowTile);
    prepare_queries(queries, f, scratch);

    std::fill_n(out.maximum, queries.size(), kNothingSeen);
    std::fill_n(out.sum, queries.size(), 0.0f);
    std::fill_n(out.weighted, queries.size() * out.stride, 0.0f);
    for (int64_t key = keys.begin; key < keys.end; key += kKeyBlock) {
      const int64_t count = std::min(kKeyBlock, keys.end - key);
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
    if (!head_.normalise_q && !uneven) return;
    T* own = scratch.take<T>(queries.size() * f);
    std::fill_n(own, queries.size() * f, T{});
    if (head_.normalise_q) {
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
    if (head_.normalise_k) {
      tiles_.normalise_same(keys, k_stride, count, head_.qk_channels, normed_keys_, f);
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

  void attend_tile(int64_t row, int64_t rows, int64_t count, const Partial& out) {
    tiles_.multiply({.a = queries_ + row * q_stride_,
                     .a_stride = q_stride_,
                     .rows = rows,
                     .panels = k_panels_,
                     .depth = head_.qk_channels,
                     .columns = columns_,
                     .start = start_,
                     .c = scores_,
                     .c_stride = kKeyBlock});
    tiles_.softmax({.scores = scores_,
                    .rows = rows,
                    .columns = columns_,
                    .stride = kKeyBlock,
                    .scale = head_.scale,
                    .maximum = out.maximum + row,
                    .sum = out.sum + row,
                    .factor = factor_,
                    .weights = weights_,
                    .weights_stride = kKeyBlock});
    tiles_.multiply({.a = weights_,
                     .a_stride = kKeyBlock,
                     .rows = rows,
                     .panels = v_panels_,
                     .depth = count,
                     .columns = head_.v_channels,
                     .factor = factor_,
                     .c = out.weighted + row * out.stride,
                     .c_stride = out.stride,
                     .add = true});
  }

  const Tiles<T>& tiles_;
  const Head<T>& head_;
  T *k_panels_, *v_panels_, *normed_keys_, *weights_;
  float *start_, *scores_, *factor_;
  const T* queries_;
  int64_t q_stride_, columns_;
};

// How the work is cut: all threads must be busy for few queries with many keys and the reverse.
struct Cut {
  int64_t query_chunks, key_shares;
};

Cut cut_work(int64_t heads, int64_t queries, int64_t keys) {
  const int64_t threads = at::get_num_threads();
  int64_t chunks = (queries + kQueryChunk - 1) / kQueryChunk;
  if (heads * chunks < threads && keys >= queries) {
    const int64_t wanted = (threads + heads * chunks - 1) / (heads * chunks);
    return {chunks, std::clamp<int64_t>(keys / kFewestKeys, 1, wanted)};
  }
  if (heads * chunks % threads != 0) chunks = round_up(chunks, threads);
  return {std::min(chunks, std::max<int64_t>(1, queries / 8)), 1};
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
        chunk_(round_up((queries_ + cut_.query_chunks - 1) / cut_.query_chunks, 8)) {}

  Tensor run(Tensor* log_sum) {
    const int64_t batch = in_.q.size(0);
    out_ = at::empty({batch, queries_, heads_, v_channels_}, in_.q.options()).transpose(1, 2);
    if (log_sum) *log_sum = at::empty({batch, heads_, queries_}, in_.q.options().dtype(at::kFloat));
    log_sum_ = log_sum ? log_sum->data_ptr<float>() : nullptr;
    const int64_t pieces = batch * heads_ * cut_.query_chunks;
    if (cut_.key_shares == 1) {
      at::parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) run_piece(i);
      });
    } else {
      for (int64_t i = 0; i < pieces; ++i) run_shared(i);
    }
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
        .normalise_k = in_.normalise_k};
  }

  Range queries_of(int64_t piece) const {
    const int64_t begin = std::min(piece % cut_.query_chunks * chunk_, queries_);
    return {begin, std::min(begin + chunk_, queries_)};
  }

  Partial partial(int64_t rows, ScratchFrame& scratch) const {
    const int64_t stride = round_up(v_channels_, 16);
    return {scratch.take<float>(rows * stride), stride, scratch.take<float>(rows),
            scratch.take<float>(rows)};
  }

  void run_piece(int64_t piece) {
    const int64_t head_index = piece / cut_.query_chunks;
    const Head<T> head = this->head(head_index / heads_, head_index % heads_);
    const Range queries = queries_of(piece);
    ScratchFrame scratch;
    const Partial all = partial(queries.size(), scratch);
    Streamer<T>(tiles_, head).run(queries, {0, keys_}, all);
    finish(head_index, queries, all);
  }

  // Few queries: each thread takes a share of the keys, and the shares are put together.
  void run_shared(int64_t piece) {
    const int64_t head_index = piece / cut_.query_chunks;
    const Head<T> head = this->head(head_index / heads_, head_index % heads_);
    const Range queries = queries_of(piece);
    const int64_t share = round_up((keys_ + cut_.key_shares - 1) / cut_.key_shares, kKeyBlock);
    ScratchFrame scratch;
    std::vector<Partial> parts;
    for (int64_t i = 0; i < cut_.key_shares; ++i) {
      parts.push_back(partial(queries.size(), scratch));
    }
    at::parallel_for(0, cut_.key_shares, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = std::min(i * share, keys_);
        Streamer<T>(tiles_, head).run(queries, {first, std::min(first + share, keys_)}, parts[i]);
      }
    });
    for (size_t i = 1; i < parts.size(); ++i) merge(parts[0], parts[i], queries.size());
    finish(head_index, queries, parts[0]);
  }

  static void merge(const Partial& into, const Partial& from, int64_t rows) {
    for (int64_t i = 0; i < rows; ++i) {
      const float maximum = std::max(into.maximum[i], from.maximum[i]);
      const float a = std::exp2(into.maximum[i] - maximum),
                  b = std::exp2(from.maximum[i] - maximum);
      float* sums = into.weighted + i * into.stride;
      const float* more = from.weighted + i * from.stride;
      for (int64_t j = 0; j < into.stride; ++j) sums[j] = a * sums[j] + b * more[j];
      into.sum[i] = a * into.sum[i] + b * from.sum[i];
      into.maximum[i] = maximum;
    }
  }

  void finish(int64_t head_index, Range queries, const Partial& all) {
    using Element = std::conditional_t<sizeof(T) == 4, float, at::BFloat16>;
    auto* out = static_cast<Element*>(out_.data_ptr()) + head_index / heads_ * out_.stride(0) +
                head_index % heads_ * out_.stride(1);
    for (int64_t i = 0; i < queries.size(); ++i) {
      // No key seen: the sum is 0 and the row is zeros.
      const float factor = all.sum[i] > 0.0f ? 1.0f / all.sum[i] : 0.0f;
      const float* sums = all.weighted + i * all.stride;
      Element* row = out + (queries.begin + i) * out_.stride(2);
      for (int64_t j = 0; j < v_channels_; ++j) row[j] = static_cast<Element>(sums[j] * factor);
      if (log_sum_) {
        log_sum_[head_index * queries_ + queries.begin + i] =
            (all.maximum[i] + (all.sum[i] > 0.0f ? std::log2(all.sum[i]) : 0.0f)) / kLog2E;
      }
    }
  }

  const StreamInputs& in_;
  const Tiles<T>& tiles_;
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

Tensor attend_stream(const StreamInputs& inputs, Tensor* log_sum) {
  StreamInputs in = inputs;
  for (Tensor* x : {&in.q, &in.k, &in.v}) *x = rows_contiguous(*x);
  if (in.kv_mask.defined()) in.kv_mask = in.kv_mask.contiguous();
  if (in.key_bias.defined()) in.key_bias = in.key_bias.contiguous();
  if (in.q.scalar_type() == at::kFloat) return StreamCall<float>(in, float_tiles()).run(log_sum);
  return StreamCall<Bf16>(in, *bf16_tiles()).run(log_sum);
}

}  // namespace perceiver
