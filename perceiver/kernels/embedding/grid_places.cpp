#include "perceiver/kernels/embedding/grid_places.h"

#include <ATen/ATen.h>

namespace perceiver {

GridPlaces grid_places(const Tensor& lines, const Tensor& along) {
  const auto centred = [](const Tensor& x) { return x - x.mean(1, /*keepdim=*/true); };
  const auto squares_of = [](const Tensor& x) { return x.square().sum(1); };
  const Tensor line = centred(lines), place = centred(along);
  // |l + x|^2 of every line and place
  const Tensor squares =
      at::mm(line, place.t()).mul_(2.0) + squares_of(line).unsqueeze(1) + squares_of(place);
  return {.lines = lines,
          .along = along,
          .mean = (lines.mean(1).unsqueeze(1) + along.mean(1)).flatten(),
          .squares = squares.clamp_min(0.0).flatten()};
}

Tensor positions_of(const GridPlaces& places, int64_t first, int64_t count) {
  if (first == 0 && count == places.count()) {
    return (places.lines.unsqueeze(1) + places.along).flatten(0, 1);
  }
  const Tensor elements = at::arange(first, first + count, places.lines.options().dtype(at::kLong));
  return places.lines.index_select(0, elements.div(places.width(), "floor")) +
         places.along.index_select(0, elements.remainder(places.width()));
}

}  // namespace perceiver
