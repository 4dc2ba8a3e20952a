#include "perceiver/model/grid_decoder.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "perceiver/kernels/attention/attention.h"
#include "perceiver/kernels/attention/wide_attention.h"
#include "perceiver/kernels/norm/normalised_rows.h"

namespace perceiver {

GridDecoder::GridDecoder(Decoder decoder, PositionQuery grid, Tensor filling, Linear head)
    : decoder_(std::move(decoder)),
      grid_(std::move(grid)),
      filling_(std::move(filling)),
      head_(std::move(head)) {}

GridDecoder::Form GridDecoder::form() {
  const std::lock_guard lock(mutex_);
  if (decoder_->is_training()) return {};
  const AttendParts parts = decoder_->parts_with_output();
  if (!narrows(shape_of(parts), filling_.size(0))) return {};
  const auto narrow = [&] {
    AttendParts through_head = parts;
    through_head.output = composed_output(parts.output, head_);
    const NarrowedAttend attend = narrowed(through_head, filling_);
    queries_ = attend.queries;
    return attend.parts;
  };
  const auto packed = packed_.get(*decoder_, narrow, {filling_, head_->weight, head_->bias});
  return {packed, queries_};
}

std::optional<AttendShape> GridDecoder::shape() const {
  AttendShape shape = shape_of(decoder_->parts_with_output());
  if (!narrows(shape, filling_.size(0))) return {};
  shape.outputs = head_->weight.size(0);
  return narrowed(shape, filling_.size(0));
}

Tensor GridDecoder::decode_plain(const Tensor& latents, const Tensor& features) {
  const Tensor own = features.to(latents.dtype()).expand({latents.size(0), -1, -1});
  const Tensor filling = filling_.expand({own.size(0), own.size(1), -1});
  return head_(decoder_(latents, at::cat({own, filling}, -1)));
}

// A query of the form from one without its filling.
static Tensor narrow_query(const Tensor& features, const LinearMap& map) {
  return at::linear(features.to(at::kFloat), map.weight, map.bias);
}

Tensor GridDecoder::decode(const Tensor& latents, const std::function<Array(const Form&)>& queries,
                           const std::function<Tensor()>& features) {
  const Form f = form();
  if (!f.attend) return decode_plain(latents, features());
  const Tensor out = f.attend->cross(queries(f), latents, {}).to(latents.dtype());
  if (attention_is_checked()) check_packed(out, decode_plain(latents, features()));
  return out;
}

Tensor GridDecoder::at(const Tensor& latents, const Tensor& indices, Spacing spacing) {
  const auto features = [&] { return grid_.at(1, indices.to(latents.device()), spacing); };
  const auto queries = [&](const Form& f) -> Array {
    return narrow_query(features(), f.queries).expand({latents.size(0), -1, -1});
  };
  return decode(latents, queries, features);
}

Array GridDecoder::all_queries(const Form& form, const at::TensorOptions& options,
                               Spacing spacing) {
  const std::lock_guard lock(mutex_);
  if (all_queries_form_ != form.attend || all_queries_spacing_ != spacing) {
    const GridPlaces features =
        fourier_places(grid_.grid, grid_.num_bands, grid_.resolution, spacing);
    const GridPlaces places =
        grid_places(narrow_query(features.lines.to(options.device()), form.queries),
                    at::linear(features.along.to(options.device()), form.queries.weight));
    all_queries_ = Array(OnGrid{at::empty({1, places.count(), 0}, options),
                                std::make_shared<GridPositions>(places)});
    all_queries_form_ = form.attend, all_queries_spacing_ = spacing;
  }
  return all_queries_;
}

Tensor GridDecoder::range(const Tensor& latents, int64_t begin, int64_t end, Spacing spacing) {
  const auto queries = [&](const Form& f) {
    return all_queries(f, latents.options(), spacing).slice(begin, end).repeated(latents.size(0));
  };
  return decode(latents, queries, [&] {
    const Tensor indices = at::arange(begin, end, latents.options().dtype(at::kLong));
    return grid_.at(1, indices, spacing);
  });
}

}  // namespace perceiver
