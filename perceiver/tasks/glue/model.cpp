#include "perceiver/tasks/glue/model.h"

#include <ATen/ATen.h>

#include <set>

#include "perceiver/core/error.h"

namespace perceiver {

GlueHeadImpl::GlueHeadImpl(int64_t channels, int64_t num_answers)
    : hidden_(register_module("hidden", Linear(channels, channels))),
      answers_(register_module("answers", Linear(channels, num_answers))) {}

Tensor GlueHeadImpl::forward(const Tensor& output) { return answers_(hidden_(output).tanh()); }

Part GlueHeadImpl::part(const std::string& task) const {
  return {.name = task,
          .parameters = num_parameters(*this),
          .flops = hidden_->flops(1) + answers_->flops(1)};
}

// Learned queries. Where a token of the text answers, its position asks, and the queries are the
// language model's.
static int64_t num_queries(const GlueConfig& config) {
  switch (config.variant) {
    case GlueVariant::kSingle:
      return 1;
    case GlueVariant::kMultitaskQuery:
      return static_cast<int64_t>(config.tasks.size());
    case GlueVariant::kSharedToken:
    case GlueVariant::kTaskTokens:
      break;
  }
  return config.num_inputs;
}

void check_tasks(const std::vector<std::string>& tasks) {
  if (tasks.empty()) fail("tasks: names no task");
  if (std::set<std::string>(tasks.begin(), tasks.end()).size() != tasks.size()) {
    fail("tasks: a task is named twice");
  }
}

void check_cls(int64_t cls_id, int64_t vocabulary_size) {
  if (cls_id >= vocabulary_size) {
    fail("cls_id ({}) must be below vocabulary_size ({})", cls_id, vocabulary_size);
  }
}

static void check(const GlueConfig& config) {
  check_tasks(config.tasks);
  if (config.variant == GlueVariant::kSingle && config.tasks.size() != 1) {
    fail("tasks: the variant 'single' takes one task, got {}", config.tasks.size());
  }
  if (config.variant == GlueVariant::kSharedToken) {
    check_cls(config.cls_id, config.vocabulary_size);
  }
}

TokenBatch behind_token(const Tensor& ids, const Tensor& mask, int64_t token) {
  const int64_t batch = ids.size(0);
  return {at::cat({at::full({batch, 1}, token, ids.options()), ids}, 1),
          mask.defined() ? at::cat({mask.new_ones({batch, 1}), mask}, 1) : Tensor()};
}

GlueImpl::GlueImpl(const GlueConfig& config) : config_(config) {
  check(config);
  const int64_t c = config.input_channels, q = config.query_channels;
  const Init token_init = truncated_normal(config.token_init_scale);
  input_ =
      register_module("input", TextInput(config.vocabulary_size, config.num_inputs, c, token_init));
  if (config.variant == GlueVariant::kTaskTokens) {
    // They stand among the tokens of the text, and start as those.
    const auto num_tasks = static_cast<int64_t>(config.tasks.size());
    task_token_ = register_module("task_token", Embedding(num_tasks, c, token_init));
  }
  encoder_ = register_module("encoder", Encoder(c, config.encoder, config.semantics));
  query_ = register_module("query", LearnedQuery(num_queries(config), q));
  decoder_ = register_module("decoder", Decoder(DecoderChannels{q, config.encoder.latent_channels},
                                                config.decoder, config.semantics));
  for (const std::string& task : config.tasks) {
    heads_.push_back(
        register_module("head_" + task, GlueHead(q, glue_benchmark(task).num_answers())));
  }
}

bool GlueImpl::has_token() const {
  return config_.variant == GlueVariant::kSharedToken ||
         config_.variant == GlueVariant::kTaskTokens;
}

std::optional<int64_t> GlueImpl::cls_id() const {
  if (config_.variant != GlueVariant::kSharedToken) return {};
  return config_.cls_id;
}

int64_t GlueImpl::max_length() const { return config_.num_inputs - (has_token() ? 1 : 0); }

Tensor GlueImpl::encode(const Tensor& ids, const Tensor& mask, const Tensor& tasks) {
  check_shape(ids, {kAny, kAny}, "ids");
  const int64_t batch = ids.size(0);
  if (mask.defined()) check_shape(mask, {batch, ids.size(1)}, "mask");
  if (!has_token()) return encoder_(input_(ids), mask);

  const TokenBatch rows = behind_token(ids, mask, config_.cls_id);
  if (cls_id()) return encoder_(input_(rows.ids), rows.mask);
  if (!tasks.defined()) fail("the variant 'task_tokens' needs the task of each text");
  check_shape(tasks, {batch}, "tasks");
  return encoder_(input_(ids, task_token_(tasks.unsqueeze(1))), rows.mask);
}

Tensor GlueImpl::decode(const Tensor& latents) {
  const Tensor first = has_token() ? at::zeros({1}, latents.options().dtype(at::kLong)) : Tensor();
  return decoder_(latents, query_(latents.size(0), first));
}

bool GlueImpl::has_own_queries() const { return config_.variant == GlueVariant::kMultitaskQuery; }

Tensor GlueImpl::answers(const Tensor& latents, int64_t task) {
  const Tensor query =
      at::full({1}, has_own_queries() ? task : 0, latents.options().dtype(at::kLong));
  return head(task, decoder_(latents, query_(latents.size(0), query)).squeeze(1));
}

Tensor GlueImpl::outputs(const Tensor& latents, const Tensor& tasks) {
  if (!has_own_queries()) return decode(latents).squeeze(1);
  return decoder_(latents, query_(latents.size(0), tasks.unsqueeze(1))).squeeze(1);
}

std::vector<Tensor> GlueImpl::forward(const Tensor& ids, const Tensor& mask, const Tensor& tasks) {
  const Tensor outputs = decode(encode(ids, mask, tasks));
  std::vector<Tensor> answers;
  for (size_t i = 0; i < heads_.size(); ++i) {
    answers.push_back(heads_[i](outputs.select(1, outputs.size(1) > 1 ? i : 0)));
  }
  return answers;
}

ModelSummary GlueImpl::summary() const {
  const int64_t m = config_.num_inputs, o = has_token() ? 1 : num_queries(config_);
  // The output array is the decoder's, as in Tab. 5; answers are made of it.
  ModelSummary s{.inputs = {m, config_.input_channels},
                 .latents = encoder_->latent_size(),
                 .queries = ArraySize{o, config_.query_channels},
                 .outputs = {o, config_.query_channels}};
  s.add("input.", input_->parts());
  if (!task_token_.is_empty()) {
    s.add("input.", {{.name = "task_token", .parameters = num_parameters(*task_token_)}});
  }
  s.add("encoder.", encoder_->parts(m));
  s.add("", {{.name = "query", .parameters = num_parameters(*query_)}});
  s.add("decoder.", decoder_->parts(o, s.latents->index));
  for (size_t i = 0; i < heads_.size(); ++i) {
    s.add("heads.", {heads_[i]->part(config_.tasks[i])});
  }
  return s;
}

}  // namespace perceiver
