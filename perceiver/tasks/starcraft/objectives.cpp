#include "perceiver/tasks/starcraft/objectives.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace perceiver {
namespace {

// How often each type was hidden: a measure for each, told apart from figures by this.
constexpr std::string_view kHiddenType = "hidden_type_";

// [B, M, types], [B, M], hidden [B, M] -> [B]: the mean over what is hidden
Tensor masked_type_losses(const Tensor& logits, const Tensor& types, const Tensor& hidden) {
  const Tensor losses =
      at::cross_entropy_loss(logits.to(at::kFloat).transpose(1, 2), types, {}, at::Reduction::None);
  const Tensor counted = hidden.to(at::kFloat);
  return (losses * counted).sum(1) / counted.sum(1).clamp_min(1.0);
}

Tensor winner_losses(const Tensor& logits, const Tensor& won) {
  return at::cross_entropy_loss(logits.to(at::kFloat), won.clamp_min(0), {}, at::Reduction::None) *
         won.ge(0);
}

// logits [B, S + 1, M + 1] -> [B]: the mean over the steps up to the end token. Any entity of the
// selection that is not taken yet is a right next one: the order of a selection is nobody's.
Tensor pointing_losses(const Tensor& logits, const Tensor& selected) {
  const int64_t end = logits.size(2) - 1;
  const Tensor taken = selected_before(selected, end);
  const Tensor all = taken.narrow(1, selected.size(1), 1);
  const Tensor left = (all - taken).gt(0.0).narrow(2, 0, end);
  const Tensor done = left.any(2, /*keepdim=*/true).logical_not();  // [B, S + 1, 1]
  const Tensor right = at::cat({left, done}, 2);
  const Tensor log_probabilities = logits.log_softmax(-1);
  const Tensor losses = -log_probabilities.masked_fill(right.logical_not(), -INFINITY).logsumexp(2);
  const Tensor steps = at::cat({at::ones_like(done.narrow(1, 0, 1)),
                                done.narrow(1, 0, selected.size(1)).logical_not()},
                               1)
                           .squeeze(2)
                           .to(at::kFloat);  // those up to the first that is done
  return (losses * steps).sum(1) / steps.sum(1);
}

// Slots [B, S] -> [B, M]: true for each entity selected
Tensor set_of(const Tensor& selected, int64_t num_entities) {
  return selected_before(selected, num_entities)
      .select(1, selected.size(1))
      .narrow(1, 0, num_entities)
      .gt(0.0);
}

double count(const Tensor& x) { return x.sum().item<double>(); }

void measure_types(Measures& measures, const Tensor& logits, const Example& batch) {
  const Tensor& hidden = batch.at("hidden");
  const Tensor types = batch.at("type").masked_select(hidden);
  const Tensor right = logits.argmax(-1).masked_select(hidden).eq(types);
  const double all = static_cast<double>(types.numel());
  measures["type_accuracy"] = {count(right), all};
  const Tensor counts = at::bincount(types, {}, logits.size(-1)).to(at::kCPU);
  for (int64_t type = 0; type < counts.size(0); ++type) {
    const double times = counts[type].item<double>();
    if (times > 0) measures[fmt::format("{}{}", kHiddenType, type)] = {times, 0.0};
  }
}

void measure_winner(Measures& measures, const Tensor& logits, const Tensor& won) {
  const Tensor known = won.ge(0);
  measures["winner_accuracy"] = {count(logits.argmax(-1).eq(won)), count(known)};
  measures["wins"] = {count(won.eq(1)), count(known)};
}

void measure_pointing(Measures& measures, const Tensor& answered, const Tensor& right) {
  measures["pointing_f1"] = {2.0 * count(answered.logical_and(right)),
                             count(answered) + count(right)};
  measures["pointing_accuracy"] = {count(answered.eq(right).all(1)),
                                   static_cast<double>(right.size(0))};
}

}  // namespace

EntityObjectivesImpl::EntityObjectivesImpl(const EntityConfig& config)
    : type_(register_module("type", Linear(config.output_channels, config.num_types))),
      winner_(register_module("winner", Linear(config.output_channels, 2))),
      pointer_(register_module("pointer", EntityPointer(config))) {}

Tensor EntityObjectivesImpl::types(const EntityEncoding& encoding) {
  return type_(encoding.entity_embeddings);
}

Tensor EntityObjectivesImpl::winner(const EntityEncoding& encoding) {
  return winner_(encoding.embedded_entity);
}

std::vector<Part> EntityObjectivesImpl::parts(int64_t num_entities) const {
  std::vector<Part> parts = {
      {.name = "masked_type",
       .parameters = num_parameters(*type_),
       .flops = type_->flops(num_entities)},
      {.name = "winner", .parameters = num_parameters(*winner_), .flops = winner_->flops(1)}};
  for (Part& part : pointer_->parts(num_entities)) parts.push_back(std::move(part));
  return parts;
}

Tensor objective_losses(EntityObjectivesImpl& heads, const EntityEncoding& encoding,
                        const Example& batch, const ObjectiveWeights& weights) {
  Tensor sum = at::zeros({batch.at("won").size(0)}, batch.at("place").options());
  if (weights.masked_type > 0.0) {
    sum = sum + weights.masked_type *
                    masked_type_losses(heads.types(encoding), batch.at("type"), batch.at("hidden"));
  }
  if (weights.winner > 0.0) {
    sum = sum + weights.winner * winner_losses(heads.winner(encoding), batch.at("won"));
  }
  if (weights.pointing > 0.0) {
    const Tensor logits = heads.pointer().forward(encoding, batch.at("mask"), batch.at("place"),
                                                  batch.at("selected"));
    sum = sum + weights.pointing * pointing_losses(logits, batch.at("selected"));
  }
  return sum;
}

Measures measure_objectives(EntityObjectivesImpl& heads, const EntityEncoding& encoding,
                            const Example& batch, const ObjectiveWeights& weights) {
  const Tensor losses = objective_losses(heads, encoding, batch, weights);
  Measures measures = {{"loss", {count(losses), static_cast<double>(losses.size(0))}}};
  if (weights.masked_type > 0.0) measure_types(measures, heads.types(encoding), batch);
  if (weights.winner > 0.0) measure_winner(measures, heads.winner(encoding), batch.at("won"));
  if (weights.pointing > 0.0) {
    const Tensor& mask = batch.at("mask");
    const Tensor answered = heads.pointer().select(encoding, mask, batch.at("place"));
    measure_pointing(measures, set_of(answered, mask.size(1)),
                     set_of(batch.at("selected"), mask.size(1)));
  }
  return measures;
}

std::map<std::string, double> objective_figures(const Measures& all) {
  std::map<std::string, double> figures;
  double most_frequent = 0.0;
  for (const auto& [name, measure] : all) {
    if (name.starts_with(kHiddenType)) {
      most_frequent = std::max(most_frequent, measure.sum);
    } else if (name == "wins") {
      const double share = measure.sum / std::max(measure.weight, 1.0);
      if (measure.weight > 0.0) figures["most_frequent_result"] = std::max(share, 1.0 - share);
    } else if (measure.weight > 0.0) {  // nobody's result may be known
      figures[name] = measure.sum / measure.weight;
    }
  }
  const auto types = all.find("type_accuracy");
  if (types != all.end()) figures["most_frequent_type"] = most_frequent / types->second.weight;
  return figures;
}

}  // namespace perceiver
