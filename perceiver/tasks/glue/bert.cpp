#include "perceiver/tasks/glue/bert.h"

#include <ATen/ATen.h>

#include "perceiver/core/error.h"

namespace perceiver {

static void check(const GlueBertConfig& config) {
  check_tasks(config.tasks);
  check_cls(config.cls_id, config.vocabulary_size);
  if (config.num_inputs < 2) fail("num_inputs (1) must leave room for a text after [CLS]");
}

GlueBertImpl::GlueBertImpl(const GlueBertConfig& config) : BertTrunk(config), config_(config) {
  check(config);
  for (const std::string& task : config.tasks) {
    const int64_t answers = glue_benchmark(task).num_answers();
    heads_.push_back(register_module("head_" + task, GlueHead(config.input_channels, answers)));
  }
}

Tensor GlueBertImpl::outputs(const Tensor& ids, const Tensor& mask) {
  const TokenBatch rows = behind_token(ids, mask, config_.cls_id);
  return encode(rows.ids, rows.mask).select(1, 0);
}

std::vector<Tensor> GlueBertImpl::forward(const Tensor& ids, const Tensor& mask) {
  const Tensor cls = outputs(ids, mask);
  std::vector<Tensor> answers;
  for (GlueHead& head : heads_) answers.push_back(head(cls));
  return answers;
}

ModelSummary GlueBertImpl::summary() const {
  ModelSummary s = trunk_summary();
  s.outputs = {1, config_.input_channels};
  for (size_t i = 0; i < heads_.size(); ++i) {
    s.add("heads.", {heads_[i]->part(config_.tasks[i])});
  }
  return s;
}

}  // namespace perceiver
