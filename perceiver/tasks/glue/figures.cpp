#include "perceiver/tasks/glue/figures.h"

#include <ATen/ATen.h>

#include <cmath>

#include "perceiver/tasks/statistics.h"

namespace perceiver {
namespace {

// One task's answers, [B] each.
struct Answers {
  Tensor predictions, targets;
};

double accuracy(const Answers& answers) {
  return answers.predictions.eq(answers.targets).to(at::kDouble).mean().item<double>();
}

double defined_or_zero(double correlation) { return std::isnan(correlation) ? 0.0 : correlation; }

class Figures {
 public:
  // The figure that counts for the average comes first.
  void add(const std::string& task, const Answers& all, const Tensor& mismatched) {
    const auto& [predictions, targets] = all;
    if (task == "cola") {
      set_main(task, "matthews", matthews_correlation(predictions, targets));
    } else if (task == "stsb") {
      set_main(task, "pearson", defined_or_zero(pearson_correlation(predictions, targets)));
      set(task, "spearman", defined_or_zero(spearman_correlation(predictions, targets)));
    } else if (task == "mnli" && mismatched.any().item<bool>()) {
      const auto part = [&](const Tensor& rows) {
        return accuracy({predictions.index({rows}), targets.index({rows})});
      };
      const double matched = part(mismatched.logical_not()), other = part(mismatched);
      set_main(task, "accuracy", (matched + other) / 2.0);
      set(task, "matched", matched);
      set(task, "mismatched", other);
    } else {
      set_main(task, "accuracy", accuracy(all));
      if (task == "mrpc" || task == "qqp") set(task, "f1", binary_f1(predictions, targets));
    }
  }

  void add_missing() { sum_ = std::nan(""); }

  std::map<std::string, double> with_average(size_t num_tasks) && {
    all_["average"] = sum_ / static_cast<double>(num_tasks);
    return std::move(all_);
  }

 private:
  void set(const std::string& task, const char* figure, double value) {
    all_[task + "." + figure] = value;
  }
  void set_main(const std::string& task, const char* figure, double value) {
    set(task, figure, value);
    sum_ += value;
  }

  std::map<std::string, double> all_;
  double sum_ = 0.0;
};

}  // namespace

std::map<std::string, double> glue_figures(const Predictions& all,
                                           const std::vector<std::string>& tasks) {
  Figures figures;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const Tensor own = all.targets.select(1, 0).eq(static_cast<double>(i));
    if (!own.any().item<bool>()) {
      figures.add_missing();
      continue;
    }
    const Tensor targets = all.targets.index({own});
    figures.add(tasks[i], {all.predictions.index({own}), targets.select(1, 1)},
                targets.select(1, 2).ne(0));
  }
  return std::move(figures).with_average(tasks.size());
}

}  // namespace perceiver
