#include "perceiver/tasks/glue/model.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <set>

#include "perceiver/core/error.h"
#include "perceiver/core/names.h"

namespace perceiver {

int64_t num_answers(const std::string& task) {
  constexpr std::pair<std::string_view, int64_t> kTasks[] = {{"cola", 2}, {"mnli", 3}, {"mrpc", 2},
                                                             {"qnli", 2}, {"qqp", 2},  {"rte", 2},
                                                             {"sst2", 2}, {"stsb", 1}};
  std::vector<std::string> known;
  for (const auto& [name, answers] : kTasks) {
    if (name == task) return answers;
    known.emplace_back(name);
  }
  fail("tasks: unknown task '{}'{}; known: {}", task, did_you_mean(task, known),
       fmt::join(known, ", "));
}

GlueHeadImpl::GlueHeadImpl(int64_t channels, int64_t num_answers)
    : hidden_(register_module("hidden", Linear(channels, channels))),
      answers_(register_module("answers", Linear(channels, num_answers))) {}

Tensor GlueHeadImpl::forward(const Tensor& output) { return answers_(hidden_(output).tanh()); }

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

static void check(const GlueConfig& config) {
  const size_t num_tasks = config.tasks.size();
  if (num_tasks == 0) fail("tasks: names no task");
  if (std::set<std::string>(config.tasks.begin(), config.tasks.end()).size() != num_tasks) {
    fail("tasks: a task is named twice");
  }
  if (config.variant == GlueVariant::kSingle && num_tasks != 1) {
    fail("tasks: the variant 'single' takes one task, got {}", num_tasks);
  }
  if (config.variant == GlueVariant::kSharedToken && config.cls_id >= config.vocabulary_size) {
    fail("cls_id ({}) must be below vocabulary_size ({})", config.cls_id, config.vocabulary_size);
  }
}

GlueImpl::GlueImpl(const GlueConfig& config) : config_(config) {
  check(config);
  const int64_t c = config.input_channels, q = config.query_channels;
  input_ = register_module("input", TextInput(config.vocabulary_size, config.num_inputs, c));
  if (config.variant == GlueVariant::kTaskTokens) {
    // They stand among the tokens of the text, and start as those.
    task_token_ = register_module("task_token", Embedding(static_cast<int64_t>(config.tasks.size()),
                                                          c, truncated_normal(1.0)));
  }
  encoder_ = register_module("encoder", Encoder(c, config.encoder, config.semantics));
  encoder_->expect_inputs(input_->vectors());
  query_ = register_module("query", LearnedQuery(num_queries(config), q));
  decoder_ = register_module("decoder", Decoder(DecoderChannels{q, config.encoder.latent_channels},
                                                config.decoder, config.semantics));
  for (const std::string& task : config.tasks) {
    heads_.push_back(register_module("head_" + task, GlueHead(q, num_answers(task))));
  }
}

bool GlueImpl::has_token() const {
  return config_.variant == GlueVariant::kSharedToken ||
         config_.variant == GlueVariant::kTaskTokens;
}

int64_t GlueImpl::max_length() const { return config_.num_inputs - (has_token() ? 1 : 0); }

Tensor GlueImpl::encode(const Tensor& ids, const Tensor& mask, const Tensor& tasks) {
  check_shape(ids, {kAny, kAny}, "ids");
  const int64_t batch = ids.size(0);
  if (mask.defined()) check_shape(mask, {batch, ids.size(1)}, "mask");
  if (!has_token()) return encode_text(input_, encoder_, ids, mask);

  const Tensor whole_mask =
      mask.defined() ? at::cat({mask.new_ones({batch, 1}), mask}, 1) : Tensor();
  if (config_.variant == GlueVariant::kSharedToken) {
    const Tensor cls = at::full({batch, 1}, config_.cls_id, ids.options());
    return encode_text(input_, encoder_, at::cat({cls, ids}, 1), whole_mask);
  }
  if (!tasks.defined()) fail("the variant 'task_tokens' needs the task of each text");
  check_shape(tasks, {batch}, "tasks");
  return encoder_(input_(ids, task_token_(tasks.unsqueeze(1))), whole_mask);
}

Tensor GlueImpl::decode(const Tensor& latents) {
  const Tensor first = has_token() ? at::zeros({1}, latents.options().dtype(at::kLong)) : Tensor();
  return decoder_(latents, query_(latents.size(0), first));
}

Tensor GlueImpl::answers(const Tensor& latents, int64_t task) {
  const bool own_query = config_.variant == GlueVariant::kMultitaskQuery;
  const Tensor query = at::full({1}, own_query ? task : 0, latents.options().dtype(at::kLong));
  return heads_[task](decoder_(latents, query_(latents.size(0), query)).squeeze(1));
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
    s.add("heads.", {{.name = config_.tasks[i],
                      .parameters = num_parameters(*heads_[i]),
                      .flops = heads_[i]->flops()}});
  }
  return s;
}

}  // namespace perceiver
