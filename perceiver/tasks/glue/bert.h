// BERT on GLUE, the baseline of Tab. 2: [CLS] before the text, and the answers made of what the
// Transformer gives for it. The weights that a masked BERT has too are named as there.
#pragma once

#include "perceiver/modalities/bert_trunk.h"
#include "perceiver/tasks/glue/model.h"

namespace perceiver {

struct GlueBertConfig : BertConfig {
  std::vector<std::string> tasks = {"cola", "mnli", "mrpc", "qnli", "qqp", "rte", "sst2", "stsb"};
  int64_t cls_id = ByteTokenizer::kCls;
};

template <typename Visitor>
void fields(Visitor& visit, GlueBertConfig& c) {
  visit({"tasks", "GLUE's tasks that the model answers"}, c.tasks);
  visit({"cls_id", "The token before the text, whose output answers"}, c.cls_id, at_least(0));
  fields(visit, static_cast<BertConfig&>(c));
}

class GlueBertImpl : public BertTrunk {
 public:
  explicit GlueBertImpl(const GlueBertConfig& config);

  // ids [B, m] with m at most M - 1, mask [B, m] (true: there is a token) -> [B, C]
  Tensor outputs(const Tensor& ids, const Tensor& mask = {});
  // A task's answers, made of such outputs: [B, C] -> [B, answers]
  Tensor head(int64_t task, const Tensor& outputs) { return heads_[task](outputs); }

  // -> every task's answers, [B, answers] each, in the config's order
  std::vector<Tensor> forward(const Tensor& ids, const Tensor& mask = {});

  int64_t max_length() const { return config_.num_inputs - 1; }  // of a text, in tokens
  std::optional<int64_t> cls_id() const { return config_.cls_id; }
  ModelSummary summary() const;

 private:
  GlueBertConfig config_;
  std::vector<GlueHead> heads_;
};
TORCH_MODULE(GlueBert);

}  // namespace perceiver
