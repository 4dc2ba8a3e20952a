// Latents to the logits of classes (paper, App. A and C): asked for by one learned query, or
// average + project, the original Perceiver's decoder (App. E.3).
#pragma once

#include "perceiver/model/average_project.h"
#include "perceiver/model/perceiver_io.h"
#include "perceiver/model/query.h"

namespace perceiver {

enum class DecodeBy { kQuery, kAverage };
constexpr std::array<std::string_view, 2> enum_words(DecodeBy) { return {"query", "average"}; }

// logits [B, classes] -> probabilities, float: of each class by itself (sigmoid), or of one
// (softmax)
Tensor class_probabilities(const Tensor& logits, bool several_labels);

class ClassDecoder {
 public:
  struct Options {
    DecodeBy by = DecodeBy::kQuery;
    int64_t latent_channels, query_channels, num_classes;
    DecoderConfig decoder = {};  // by a query
    Semantics semantics = {};
  };

  ClassDecoder() = default;

  // Its modules are the model's own, "query" and "decoder" or "average": the names that parameters
  // have in checkpoints.
  ClassDecoder(torch::nn::Module& model, const Options& options);

  Tensor operator()(const Tensor& latents);  // [B, N, D] -> logits [B, classes]

  void add_to(ModelSummary& summary) const;  // the queries, and its parts

 private:
  LearnedQuery query_{nullptr};
  Decoder decoder_{nullptr};
  AverageProject average_{nullptr};
};

}  // namespace perceiver
