// GLUE (paper, Sec. 4.1 and App. F.4): a text in, the answers of up to eight tasks out. The weights
// that a language model has too are named as there: fine-tuning starts from it.
#pragma once

#include "perceiver/model/perceiver_io.h"
#include "perceiver/model/query.h"
#include "perceiver/tasks/glue/benchmark.h"
#include "perceiver/tasks/glue/config.h"

namespace perceiver {

// A task's own 2-layer MLP, a tanh between.
class GlueHeadImpl : public torch::nn::Module {
 public:
  GlueHeadImpl(int64_t channels, int64_t num_answers);

  Tensor forward(const Tensor& output);  // [B, E] -> [B, answers]

  Part part(const std::string& task) const;

 private:
  Linear hidden_{nullptr}, answers_{nullptr};
};
TORCH_MODULE(GlueHead);

// Fail unless tasks are known and named once, and [CLS] is an id of the vocabulary.
void check_tasks(const std::vector<std::string>& tasks);
void check_cls(int64_t cls_id, int64_t vocabulary_size);

// The same texts with `token` before each: ids [B, m], mask [B, m] or none -> [B, 1 + m]
TokenBatch behind_token(const Tensor& ids, const Tensor& mask, int64_t token);

class GlueImpl : public torch::nn::Module {
 public:
  explicit GlueImpl(const GlueConfig& config);

  // ids [B, m], mask [B, m] (true: there is a token) -> latents [B, N, D]. With a token before the
  // text m is at most M - 1. `tasks` [B], by index in the config, is for kTaskTokens alone.
  Tensor encode(const Tensor& ids, const Tensor& mask = {}, const Tensor& tasks = {});

  // latents [B, N, D] -> outputs [B, O, E]: one for each task by kMultitaskQuery, else one.
  Tensor decode(const Tensor& latents);

  // The answers to one task, by index in the config: latents [B, N, D] -> [B, answers]. No other
  // is asked.
  Tensor answers(const Tensor& latents, int64_t task);

  // For each text its own task's query, or the one of all: latents [B, N, D], tasks [B] -> [B, E]
  Tensor outputs(const Tensor& latents, const Tensor& tasks);
  // A task's answers, made of such outputs: [B, E] -> [B, answers]
  Tensor head(int64_t task, const Tensor& outputs) { return heads_[task](outputs); }

  // -> every task's answers, [B, answers] each, in the config's order. With kTaskTokens only those
  // to each text's own task mean something.
  std::vector<Tensor> forward(const Tensor& ids, const Tensor& mask = {}, const Tensor& tasks = {});

  int64_t max_length() const;             // of a text, in tokens
  std::optional<int64_t> cls_id() const;  // what stands before the text, where it is of its ids
  const GlueConfig& config() const { return config_; }
  ModelSummary summary() const;

 private:
  bool has_token() const;  // before the text
  bool has_own_queries() const;

  GlueConfig config_;
  TextInput input_{nullptr};
  Embedding task_token_{nullptr};
  Encoder encoder_{nullptr};
  LearnedQuery query_{nullptr};
  Decoder decoder_{nullptr};
  std::vector<GlueHead> heads_;
};
TORCH_MODULE(Glue);

}  // namespace perceiver
