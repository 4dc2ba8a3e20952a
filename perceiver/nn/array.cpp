#include "perceiver/nn/array.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "perceiver/core/repeated.h"
#include "perceiver/kernels/attention/wide_attention.h"
#include "perceiver/kernels/norm/normalised_rows.h"
#include "perceiver/nn/embed.h"

namespace perceiver {

GridPlaces GridPositions::on(at::Device device) {
  if (places_.lines.device() == device) return places_;
  const std::lock_guard lock(mutex_);
  if (!elsewhere_.lines.defined() || elsewhere_.lines.device() != device) {
    elsewhere_.lines = places_.lines.to(device), elsewhere_.along = places_.along.to(device);
  }
  return elsewhere_;
}

Tensor GridPositions::behind(int64_t before, const at::TensorOptions& options) {
  const GridPlaces places = on(options.device());
  const std::lock_guard lock(mutex_);
  if (!behind_.defined() || before_ != before || behind_.device() != options.device() ||
      behind_.dtype() != options.dtype()) {
    const int64_t all = before + places.channels();
    const Tensor features = positions_of(places, 0, places.count()).to(options.dtype());
    behind_ = at::constant_pad_nd(features, {before, padded_channels(all) - all});
    before_ = before;
  }
  return behind_;
}

struct Array::Whole {
  using Kind = std::variant<Tensor, LearnedRows, LearnedSums, OnGrid>;
  Whole(Kind k, int64_t elements, int64_t examples)
      : kind(std::move(k)), count(elements), batch(examples) {}

  Kind kind;
  int64_t count, batch;

  // What has been computed of it.
  std::mutex mutex;
  Tensor stored, normalised;
  bool constant = false;

  Tensor elements(int64_t begin, int64_t end) const;
  Tensor normalise(at::ScalarType dtype, int64_t padded, bool with_constant) const;
};

Array::Array(std::shared_ptr<Whole> whole, int64_t count, int64_t batch)
    : whole_(std::move(whole)), count_(count), batch_(batch) {}

Array::Array(const Tensor& x) {
  if (!x.defined()) return;
  const int64_t batch = repeats_one_example(x) ? 1 : x.size(0);
  whole_ = std::make_shared<Whole>(batch == x.size(0) ? x : x.narrow(0, 0, 1), x.size(1), batch);
  count_ = x.size(1), batch_ = x.size(0);
}

Array::Array(const LearnedRows& r, int64_t batch)
    : Array(std::make_shared<Whole>(r, r.rows.size(0) - r.first, 1), r.rows.size(0) - r.first,
            batch) {}

Array::Array(const LearnedSums& s)
    : Array(std::make_shared<Whole>(s, s.ids.size(1), s.ids.size(0)), s.ids.size(1),
            s.ids.size(0)) {}

Array::Array(const OnGrid& g)
    : Array(std::make_shared<Whole>(g, g.content.size(1), g.content.size(0)), g.content.size(1),
            g.content.size(0)) {}

// The tensor whose device and dtype are the array's.
static const Tensor& like(const Tensor& x) { return x; }
static const Tensor& like(const LearnedRows& r) { return r.rows; }
static const Tensor& like(const LearnedSums& s) { return s.vectors; }
static const Tensor& like(const OnGrid& g) { return g.content; }

at::TensorOptions Array::options() const {
  return std::visit([](const auto& kind) { return like(kind).options(); }, whole_->kind);
}

int64_t Array::channels() const {
  const int64_t own =
      std::visit([](const auto& kind) { return like(kind).size(-1); }, whole_->kind);
  const auto* const grid = std::get_if<OnGrid>(&whole_->kind);
  return grid ? own + grid->positions->places().channels() : own;
}

Array Array::slice(int64_t begin, int64_t end) const {
  Array part = *this;
  part.begin_ += begin, part.count_ = end - begin;
  return part;
}

Array Array::repeated(int64_t batch) const {
  TORCH_INTERNAL_ASSERT(whole_->batch == 1);
  Array all = *this;
  all.batch_ = batch;
  return all;
}

bool Array::repeats() const { return batch_ > whole_->batch; }

// This array's part of what was computed of the whole, [B, all elements, channels].
Tensor Array::part(const Tensor& of_whole) const {
  const Tensor some = count_ == of_whole.size(1) ? of_whole : of_whole.narrow(1, begin_, count_);
  return batch_ == whole_->batch ? some : some.expand({batch_, -1, -1});
}

static Tensor elements_of(const OnGrid& g, int64_t begin, int64_t count) {
  const Tensor content = g.content.narrow(1, begin, count);
  const GridPlaces places = g.positions->on(content.device());
  const int64_t own = content.size(2), batch = content.size(0);
  if (count != places.count() || content.requires_grad()) {
    const Tensor positions = positions_of(places, g.first + begin, count).to(content.dtype());
    return at::cat({content, positions.expand({batch, -1, -1})}, -1);
  }
  // Written where they belong, which takes no memory for the positions alone.
  const Tensor all = at::empty({batch, count, own + places.channels()}, content.options());
  Tensor by_lines =
      all.narrow(2, own, places.channels()).unflatten(1, {places.lines.size(0), places.width()});
  at::add_out(by_lines, places.lines.unsqueeze(1).expand({batch, -1, -1, -1}), places.along);
  all.narrow(2, 0, own).copy_(content);
  return all;
}

Tensor Array::Whole::elements(int64_t begin, int64_t end) const {
  struct Elements {
    int64_t begin, count;
    Tensor operator()(const Tensor& x) const {
      return count == x.size(1) ? x : x.narrow(1, begin, count);
    }
    Tensor operator()(const LearnedRows& r) const {
      const int64_t first = r.first + begin;
      return (count == r.rows.size(0) ? r.rows : r.rows.narrow(0, first, count)).unsqueeze(0);
    }
    Tensor operator()(const LearnedSums& s) const {
      const Tensor places = count == s.places.size(0) ? s.places : s.places.narrow(0, begin, count);
      return embedded(s.vectors, s.ids.narrow(1, begin, count), places);
    }
    Tensor operator()(const OnGrid& g) const { return elements_of(g, begin, count); }
  };
  return std::visit(Elements{begin, end - begin}, kind);
}

Tensor Array::materialise() const {
  if (!defined()) return {};
  const bool costs = std::holds_alternative<LearnedSums>(whole_->kind) ||
                     std::holds_alternative<OnGrid>(whole_->kind);
  if (!costs) return part(whole_->elements(0, whole_->count));
  const std::lock_guard lock(whole_->mutex);
  Tensor& stored = whole_->stored;
  if (!stored.defined() && count_ != whole_->count) {
    const Tensor some = whole_->elements(begin_, begin_ + count_);
    return batch_ == whole_->batch ? some : some.expand({batch_, -1, -1});
  }
  if (!stored.defined()) stored = whole_->elements(0, count_);
  return part(stored);
}

Tensor Array::Whole::normalise(at::ScalarType dtype, int64_t padded, bool with_constant) const {
  const auto* const sums = std::get_if<LearnedSums>(&kind);
  const auto* const grid = std::get_if<OnGrid>(&kind);
  PlacedArray placed;
  if (sums) {
    placed = {.places = sums->places.narrow(0, 0, count),
              .content = sums->vectors,
              .ids = sums->ids,
              .channels = sums->vectors.size(1)};
  } else if (grid && grid->content.size(2) > 0 && grid->content.is_cuda()) {
    const int64_t own = grid->content.size(2);
    placed = {.places = grid->positions->behind(own, grid->content.options()),
              .content = grid->content,
              .channels = own + grid->positions->places().channels()};
  }
  if (placed.places.defined() && placed.places.size(1) == padded &&
      with_constant == (padded > placed.channels) && placed.places.scalar_type() == dtype &&
      placed_rows_are_fused(placed)) {
    return normalised_placed(placed);
  }
  if (!grid) return normalised_padded(elements(0, count), dtype, padded, with_constant);
  // In parts, whose elements need little memory. Positions are rounded once, with the rows.
  constexpr int64_t kAtOnce = 65536;
  const OnGrid wide{grid->content.to(at::promote_types(grid->content.scalar_type(), at::kFloat)),
                    grid->positions, grid->first};
  const Tensor rows = at::empty({batch, count, padded}, wide.content.options().dtype(dtype));
  for (int64_t begin = 0; begin < count; begin += kAtOnce) {
    const int64_t some = std::min(kAtOnce, count - begin);
    rows.narrow(1, begin, some)
        .copy_(normalised_padded(elements_of(wide, begin, some), dtype, padded, with_constant));
  }
  return rows;
}

Tensor Array::normalised(at::ScalarType dtype, int64_t padded, bool constant) const {
  const bool is_grid = std::holds_alternative<OnGrid>(whole_->kind);
  if (!is_grid && !std::holds_alternative<LearnedSums>(whole_->kind)) {
    const Array one = repeats() ? repeated(1) : *this;
    const Tensor rows = normalised_padded(one.materialise(), dtype, padded, constant);
    return repeats() ? rows.expand({batch_, -1, -1}) : rows;
  }
  const std::lock_guard lock(whole_->mutex);
  Tensor& rows = whole_->normalised;
  if (!rows.defined() || rows.scalar_type() != dtype || rows.size(2) != padded ||
      whole_->constant != constant) {
    rows = whole_->normalise(dtype, padded, constant);
    whole_->constant = constant;
  }
  return part(rows);
}

std::optional<OnGrid> Array::on_grid() const {
  const auto* const grid = std::get_if<OnGrid>(&whole_->kind);
  if (!grid) return {};
  return OnGrid{part(grid->content), grid->positions, grid->first + begin_};
}

std::optional<LearnedRows> Array::learned_rows() const {
  const auto* const learned = std::get_if<LearnedRows>(&whole_->kind);
  if (!learned) return {};
  return LearnedRows{learned->rows, learned->first + begin_};
}

std::optional<LearnedSums> Array::learned_sums() const {
  const auto* const sums = std::get_if<LearnedSums>(&whole_->kind);
  if (!sums || begin_ > 0) return {};
  return LearnedSums{sums->vectors, sums->places, sums->ids.narrow(1, 0, count_)};
}

}  // namespace perceiver
