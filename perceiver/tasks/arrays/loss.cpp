#include "perceiver/tasks/arrays/loss.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace perceiver {
namespace {

// A gaussian's logarithm of the variance is kept where its exponential is a number.
constexpr double kMostLogVariance = 20.0;
constexpr double kNormal95 = 1.959963984540054;  // 95 % of a normal distribution lie within

Tensor log_variance(const Tensor& outputs) {
  return outputs.chunk(2, -1)[1].clamp(-kMostLogVariance, kMostLogVariance);
}

// [B, O, values * quantiles] -> [B, O, values, quantiles]
Tensor by_quantile(const Tensor& outputs, const ArrayQuery& query) {
  return outputs.unflatten(-1, {-1, std::ssize(query.quantiles)});
}

// Made where the outputs are: a recorded pass copies nothing from the CPU.
Tensor pinball(const Tensor& outputs, const Tensor& target, const ArrayQuery& query) {
  const std::vector<Tensor> each = by_quantile(outputs, query).unbind(-1);
  Tensor sum = at::zeros_like(target);
  for (size_t i = 0; i < each.size(); ++i) {
    const Tensor error = target - each[i];
    sum = sum + at::maximum(query.quantiles[i] * error, (query.quantiles[i] - 1.0) * error);
  }
  return sum / static_cast<double>(each.size());
}

// -> [B, O]; of unknown classes anything
Tensor class_losses(const Answered& a, double smoothing) {
  const Tensor log = a.outputs.log_softmax(-1);
  const Tensor right = log.gather(-1, a.target.clamp_min(0)).squeeze(-1);
  return -(1.0 - smoothing) * right - smoothing * log.mean(-1);
}

// Of each number, [B, O, values].
Tensor number_losses(const Answered& a, const Tensor& target, const ArrayQuery& query,
                     double smoothing) {
  switch (query.loss) {
    case ArrayLoss::kBinary:
      return at::binary_cross_entropy_with_logits(
          a.outputs, target * (1.0 - smoothing) + smoothing / 2, {}, {}, at::Reduction::None);
    case ArrayLoss::kL1:
      return (a.outputs - target).abs();
    case ArrayLoss::kHuber:
      return at::huber_loss(a.outputs, target, at::Reduction::None, query.delta);
    case ArrayLoss::kGaussian: {
      const Tensor log = log_variance(a.outputs);
      return 0.5 * (log + (target - a.outputs.chunk(2, -1)[0]).square() * (-log).exp() +
                    std::log(2 * std::numbers::pi));
    }
    case ArrayLoss::kQuantile:
      return pinball(a.outputs, target, query);
    default:
      return (a.outputs - target).square();
  }
}

// The mean over all but the first axis of what is known.
Tensor known_mean(const Tensor& losses, const Tensor& known) {
  const Tensor weights = known.to(losses.dtype());
  const Tensor sum = at::where(known, losses, 0.0).flatten(1).sum(1);
  return sum / weights.flatten(1).sum(1).clamp_min(1.0);
}

// Where the right answer is known and asked for: as the target, but of classes [B, O].
Tensor is_known(const Answered& a, const ArrayQuery& query) {
  Tensor known = is_class(query.loss) ? a.target.squeeze(-1).ge(0) : a.target.isnan().logical_not();
  if (query.loss == ArrayLoss::kEndPoint) known = known.all(-1);
  if (!a.asked.defined()) return known;
  return known.logical_and(known.dim() == 2 ? a.asked : a.asked.unsqueeze(-1));
}

// mean and scale, a number for each value: of a patch's channels, again for each place.
Tensor statistic(const std::vector<double>& list, double otherwise, const QueryLayout& layout,
                 const Tensor& like) {
  if (list.empty()) return at::full({1}, otherwise, like.options());
  const Tensor one = at::tensor(list, at::kDouble).to(like.options());
  return one.repeat({layout.values / std::ssize(list)});
}

Tensor in_units(const Tensor& x, const ArrayQuery& query, const QueryLayout& layout) {
  return x * statistic(query.scale, 1.0, layout, x) + statistic(query.mean, 0.0, layout, x);
}

// The best single answer: of a gaussian its mean, of quantiles that nearest to the median.
Tensor best(const Tensor& outputs, const ArrayQuery& query) {
  if (query.loss == ArrayLoss::kGaussian) return outputs.chunk(2, -1)[0];
  if (query.loss != ArrayLoss::kQuantile) return outputs;
  const auto apart = [](double q) { return std::abs(q - 0.5); };
  const auto middle = std::ranges::min_element(query.quantiles, {}, apart);
  return by_quantile(outputs, query).select(-1, middle - query.quantiles.begin());
}

double sum_of(const Tensor& x) { return x.to(at::kDouble).sum().item<double>(); }

class Measurer {
 public:
  Measurer(const Answered& a, const ArrayQuery& query, const QueryLayout& layout,
           std::string prefix, Measures& measures)
      : a_(a),
        query_(query),
        layout_(layout),
        prefix_(std::move(prefix)),
        measures_(measures),
        known_(is_known(a, query)) {}

  void measure(const std::string& what) {
    if (what == "accuracy") return add(what, guessed().eq(truth()), known_);
    if (what == "f1") return add_confusion();
    if (what == "coverage") return add_coverage();
    const Tensor guess = in_units(best(a_.outputs, query_), query_, layout_);
    const Tensor truth = in_units(a_.target, query_, layout_);
    const Tensor error = guess - truth;
    if (what == "end_point") {
      const Tensor whole = known_.dim() == 3 ? known_.all(-1) : known_;
      return add(what, error.square().sum(-1).sqrt(), whole);
    }
    const Tensor known = known_.dim() == 3 ? known_ : known_.unsqueeze(-1).expand_as(error);
    if (what == "mae") return add(what, error.abs(), known);
    if (what == "rmse") return add(what + ".square", error.square(), known);
    for (int64_t i = 0; i < truth.size(-1); ++i) {  // r2
      const auto of = [&](const Tensor& x) { return x.select(-1, i); };
      const Tensor there = of(known), x = of(truth).to(at::kDouble);
      const double middle = query_.mean.empty() ? 0.0 : query_.mean[i % query_.mean.size()];
      add(fmt::format("r2.error.{}", i), of(error).square(), there);
      add(fmt::format("r2.mean.{}", i), x - middle, there);
      add(fmt::format("r2.square.{}", i), (x - middle).square(), there);
    }
  }

 private:
  void add(const std::string& name, const Tensor& values, const Tensor& known) {
    Measure& measure = measures_[prefix_ + name];
    measure.sum += sum_of(at::where(known, values.to(at::kDouble), 0.0));
    measure.weight += sum_of(known);
  }

  Tensor guessed() const {
    return is_class(query_.loss) ? a_.outputs.argmax(-1) : a_.outputs.gt(0.0).to(at::kLong);
  }
  Tensor truth() const {
    return is_class(query_.loss) ? a_.target.squeeze(-1)
                                 : a_.target.nan_to_num(0.0).round().to(at::kLong);
  }

  // Of each class: right, guessed and true ones. Of two, F1 is that of the second.
  void add_confusion() {
    const Tensor guess = guessed(), right = truth();
    const int64_t classes = is_class(query_.loss) ? query_.classes : 2;
    for (int64_t k = classes == 2 ? 1 : 0; k < classes; ++k) {
      const Tensor g = guess.eq(k).logical_and(known_), t = right.eq(k).logical_and(known_);
      Measure& measure = measures_[fmt::format("{}f1.{}", prefix_, k)];
      measure.sum += 2.0 * sum_of(g.logical_and(t));
      measure.weight += sum_of(g) + sum_of(t);
    }
  }

  // The share of answers between the outer quantiles, or in the middle 95 % of a gaussian.
  void add_coverage() {
    Tensor low, high;
    if (query_.loss == ArrayLoss::kGaussian) {
      const Tensor mean = a_.outputs.chunk(2, -1)[0];
      const Tensor wide = (0.5 * log_variance(a_.outputs)).exp() * kNormal95;
      low = mean - wide, high = mean + wide;
    } else {
      const Tensor each = by_quantile(a_.outputs, query_);
      low = each.amin(-1), high = each.amax(-1);
    }
    add("coverage", a_.target.ge(low).logical_and(a_.target.le(high)), known_);
  }

  const Answered& a_;
  const ArrayQuery& query_;
  const QueryLayout& layout_;
  const std::string prefix_;
  Measures& measures_;
  const Tensor known_;
};

}  // namespace

Tensor query_losses(const Answered& a, const ArrayQuery& query, double label_smoothing) {
  const Tensor known = is_known(a, query);
  if (is_class(query.loss)) return known_mean(class_losses(a, label_smoothing), known);
  // Gradients of what is left out must be numbers, too.
  const Tensor target = a.target.nan_to_num(0.0);
  if (query.loss == ArrayLoss::kEndPoint) {
    constexpr double kTiny = 1e-12;  // the root has no slope at 0
    const Tensor squares = (a.outputs - target).square().sum(-1);
    return known_mean((squares + kTiny).sqrt(), known);
  }
  return known_mean(number_losses(a, target, query, label_smoothing), known);
}

std::string figure_prefix(const std::string& name, const ArraysConfig& config) {
  return config.queries.size() == 1 ? "" : name + ".";
}

void measure_query(const Answered& answered, const ArrayQuery& query, const QueryLayout& layout,
                   const std::string& prefix, Measures& measures) {
  Measurer measurer(answered, query, layout, prefix, measures);
  for (const std::string& what : query.measure) measurer.measure(what);
}

std::map<std::string, double> array_figures(const Measures& all) {
  std::map<std::string, double> figures;
  std::map<std::string, std::pair<double, double>> means;  // sum and number; of none NaN
  const auto mean_of = [&](const std::string& name, double value) {
    means[name].first += value;
    means[name].second += 1.0;
  };
  for (const auto& [name, measure] : all) {
    const double value = measure.weight > 0.0 ? measure.sum / measure.weight : NAN;
    const size_t part = name.find(".square");
    const size_t f1 = name.find("f1."), r2 = name.find("r2.");
    if (f1 != name.npos) {
      means[name.substr(0, f1 + 2)];
      if (measure.weight > 0.0) mean_of(name.substr(0, f1 + 2), value);
    } else if (r2 != name.npos) {
      if (name.compare(r2, 9, "r2.error.") != 0) continue;
      const std::string end = name.substr(r2 + 8), begin = name.substr(0, r2);
      const auto of = [&](const char* what) {
        const Measure& m = all.at(begin + what + end);
        return m.sum / m.weight;
      };
      const double variance = of("r2.square") - of("r2.mean") * of("r2.mean");
      means[begin + "r2"];
      if (variance > 0.0) mean_of(begin + "r2", 1.0 - value / variance);
    } else if (part != name.npos) {
      figures[name.substr(0, part)] = std::sqrt(value);
    } else {
      figures[name] = value;
    }
  }
  for (const auto& [name, sum] : means) figures[name] = sum.first / sum.second;
  return figures;
}

bool lower_is_better(const std::string& measure) {
  return measure == "mae" || measure == "rmse" || measure == "end_point";
}

UserOutputs user_outputs(const Tensor& outputs, const ArrayQuery& query,
                         const QueryLayout& layout) {
  const Tensor x = outputs.to(at::kFloat);
  if (is_class(query.loss)) return {x.softmax(-1)};
  if (query.loss == ArrayLoss::kBinary) return {x.sigmoid()};
  if (query.loss == ArrayLoss::kQuantile) {
    const std::vector<Tensor> each = by_quantile(x, query).unbind(-1);
    std::vector<Tensor> scaled;
    for (const Tensor& one : each) scaled.push_back(in_units(one, query, layout));
    return {at::stack(scaled, -1)};
  }
  if (query.loss != ArrayLoss::kGaussian) return {in_units(x, query, layout)};
  const Tensor deviation = (0.5 * log_variance(x)).exp();
  return {in_units(x.chunk(2, -1)[0], query, layout),
          deviation * statistic(query.scale, 1.0, layout, x)};
}

}  // namespace perceiver
