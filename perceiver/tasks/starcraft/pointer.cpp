#include "perceiver/tasks/starcraft/pointer.h"

#include <ATen/ATen.h>

#include <cmath>

namespace perceiver {

constexpr double kMapCells = 256.0;  // brings a place to about [0, 1]

EntityPointerImpl::EntityPointerImpl(const EntityConfig& config)
    : config_(config),
      keys_(register_module("keys", Linear(config.output_channels, config.pointer_channels))),
      place_(register_module("place", Linear(2, config.output_channels))),
      selected_(
          register_module("selected", Linear(config.pointer_channels, config.output_channels))),
      query_(register_module("query", Linear(config.output_channels, config.pointer_channels))),
      gates_(register_module("gates",
                             Linear(2 * config.pointer_channels, 4 * config.pointer_channels))),
      end_key_(register_parameter(
          "end_key", new_parameter({config.pointer_channels}, truncated_normal(1.0)))) {}

Tensor EntityPointerImpl::keys_of(const EntityEncoding& encoding) {
  const Tensor keys = keys_(encoding.entity_embeddings);
  const Tensor end = end_key_.to(keys.dtype()).expand({keys.size(0), 1, keys.size(2)});
  return at::cat({keys, end}, 1);
}

Tensor EntityPointerImpl::start_of(const EntityEncoding& encoding, const Tensor& place) {
  return (encoding.embedded_entity + place_(place / kMapCells)).unsqueeze(1);
}

// An LSTM, as AlphaStar's.
EntityPointerImpl::Memory EntityPointerImpl::step(const Tensor& start, const Tensor& sums,
                                                  const Memory& before) {
  const Tensor input = query_(start + selected_(sums)).relu().squeeze(1);
  const std::vector<Tensor> gates = gates_(at::cat({input, before.hidden}, -1)).chunk(4, -1);
  const Tensor cell = gates[0].sigmoid() * before.cell + gates[1].sigmoid() * gates[2].tanh();
  return {gates[3].sigmoid() * cell.tanh(), cell};
}

Tensor EntityPointerImpl::scores_of(const Tensor& hidden, const Tensor& keys) const {
  return at::bmm(hidden, keys.transpose(1, 2)).to(at::kFloat) /
         std::sqrt(static_cast<double>(config_.pointer_channels));
}

Tensor selected_before(const Tensor& selected, int64_t num_entities) {
  const int64_t batch = selected.size(0), most = selected.size(1);
  const Tensor one_hot =
      at::zeros({batch, most, num_entities + 1}, selected.options().dtype(at::kFloat))
          .scatter(2, selected.unsqueeze(-1), 1.0);
  const Tensor entities = at::constant_pad_nd(one_hot.narrow(2, 0, num_entities), {0, 1});
  return at::constant_pad_nd(entities.cumsum(1), {0, 0, 1, 0});
}

Tensor EntityPointerImpl::forward(const EntityEncoding& encoding, const Tensor& mask,
                                  const Tensor& place, const Tensor& selected) {
  const Tensor keys = keys_of(encoding), start = start_of(encoding, place);
  const Tensor taken = selected_before(selected, config_.num_entities);
  const Tensor picked = keys.gather(1, selected.unsqueeze(-1).expand({-1, -1, keys.size(2)})) *
                        selected.ne(config_.num_entities).unsqueeze(-1);
  const Tensor none = at::zeros({keys.size(0), keys.size(2)}, keys.options());
  Tensor sums = none.unsqueeze(1);
  Memory memory{none, none};
  std::vector<Tensor> hidden;
  for (int64_t s = 0; s <= selected.size(1); ++s) {
    memory = step(start, sums, memory);
    hidden.push_back(memory.hidden);
    if (s < selected.size(1)) sums = sums + picked.narrow(1, s, 1);
  }
  const Tensor absent = at::constant_pad_nd(mask.logical_not(), {0, 1}).unsqueeze(1);
  return scores_of(at::stack(hidden, 1), keys)
      .masked_fill(absent.logical_or(taken.gt(0.0)), -INFINITY);
}

Tensor EntityPointerImpl::select(const EntityEncoding& encoding, const Tensor& mask,
                                 const Tensor& place) {
  const Tensor keys = keys_of(encoding), start = start_of(encoding, place);
  const Tensor none = at::zeros({keys.size(0), keys.size(2)}, keys.options());
  Tensor closed = at::constant_pad_nd(mask.logical_not(), {0, 1});  // [B, M + 1]
  Tensor ended = at::zeros({keys.size(0)}, keys.options().dtype(at::kBool));
  Tensor sums = none.unsqueeze(1);
  Memory memory{none, none};
  std::vector<Tensor> selected;
  for (int64_t s = 0; s < config_.max_selected; ++s) {
    memory = step(start, sums, memory);
    const Tensor scores = scores_of(memory.hidden.unsqueeze(1), keys).squeeze(1);
    const Tensor next =
        scores.masked_fill(closed, -INFINITY).argmax(-1).masked_fill(ended, config_.num_entities);
    selected.push_back(next);
    ended = next.eq(config_.num_entities);
    closed = closed.scatter(1, next.unsqueeze(-1), true);
    closed.select(1, config_.num_entities).fill_(false);
    const Tensor key = keys.gather(1, next.view({-1, 1, 1}).expand({-1, 1, keys.size(2)}));
    sums = sums + key * ended.logical_not().view({-1, 1, 1});
  }
  return at::stack(selected, 1);
}

std::vector<Part> EntityPointerImpl::parts(int64_t num_entities) const {
  const int64_t steps = config_.max_selected + 1;
  return {{.name = "pointer",
           .parameters = num_parameters(*this),
           .flops = keys_->flops(num_entities) + place_->flops(1) +
                    steps * (selected_->flops(1) + query_->flops(1) + gates_->flops(1) +
                             2 * (num_entities + 1) * config_.pointer_channels)}};
}

}  // namespace perceiver
