// A task by its config alone: inputs and queries over arrays of any kind, by names of the user's
// own choice. What the data say of them (sizes, statistics) is written into the config when it is
// read (learn.h), so a trained model knows it without the data.
#pragma once

#include <map>

#include "perceiver/model/config.h"
#include "perceiver/tasks/arrays/elements.h"
#include "perceiver/tasks/experiment.h"

namespace perceiver {

// What one element of an input stands for.
enum class ElementKind { kPlace, kColumn };
constexpr std::array<std::string_view, 2> enum_words(ElementKind) { return {"place", "column"}; }

struct ArrayInput {
  std::vector<std::string> array = {};
  bool has_channels = true;
  int64_t bytes = 0;
  std::vector<int64_t> rows = {};
  std::vector<int64_t> patch = {};
  std::vector<ArrayField> parts = {};
  ElementKind element = ElementKind::kPlace;
  int64_t channels = 64;
  std::string mask = {};
  int64_t sample = 0;
  double hide = 0.0, hide_all = 0.0;
  std::vector<int64_t> shape = {};
  bool missing = false;
};

template <typename Visitor>
void fields(Visitor& visit, ArrayInput& c) {
  visit({"array",
         "The array, [example, …index…, channels], or several that stand side by side as channels "
         "(columns of a table); empty: the one of the input's name"},
        c.array);
  visit({"has_channels",
         "Whether the last axis of the array is channels; else it is an index, and an element has "
         "one number"},
        c.has_channels);
  visit({"bytes",
         "Of a table's column of texts: so many bytes of each, an element each; what is longer is "
         "cut; 0: words are categories"},
        c.bytes, at_least(0));
  visit({"rows", "[begin, end] of the first index axis that the input sees; empty: all"}, c.rows,
        at_least(0));
  visit({"patch", "Places along each index axis that make one element; empty: one"}, c.patch,
        at_least(1));
  visit({"fields", "What an element is made of; empty: all numbers, and their position"}, c.parts);
  visit({"element",
         "Whether an element is a place of the array, or one of its columns, each with a learned "
         "vector of its own"},
        c.element);
  visit({"channels", "element 'column': channels of an element"}, c.channels, at_least(1));
  visit({"mask",
         "An array over the index axes that is true where there is an element; empty: everywhere "
         "but where all numbers are NaN"},
        c.mask);
  visit({"sample", "Elements drawn at random in training; 0: all"}, c.sample, at_least(0));
  visit({"hide", "Share of the elements that training leaves out"}, c.hide, between(0.0, 1.0));
  visit({"hide_all", "Share of the examples that training shows without this input"}, c.hide_all,
        between(0.0, 1.0));
  visit({"shape", "Sizes of the array without the examples; empty: as the data have it"}, c.shape,
        at_least(1));
  visit({"missing", "Whether numbers may be missing (NaN); known from the training data"},
        c.missing);
}

enum class ArrayLoss { kCrossEntropy, kBinary, kMse, kL1, kHuber, kGaussian, kQuantile, kEndPoint };
constexpr std::array<std::string_view, 8> enum_words(ArrayLoss) {
  return {"cross_entropy", "binary", "mse", "l1", "huber", "gaussian", "quantile", "end_point"};
}

struct ArrayQuery {
  int64_t learned = 0;
  std::string at = {}, like = {};
  std::vector<ArrayField> parts = {};
  int64_t channels = 128;
  int64_t sample = 0;
  bool hidden_only = false;
  std::vector<std::string> target = {};
  std::vector<int64_t> rows = {};
  ArrayLoss loss = ArrayLoss::kMse;
  std::vector<double> quantiles = {0.1, 0.5, 0.9};
  double delta = 1.0;
  double weight = 1.0;
  std::vector<std::string> measure = {};
  std::vector<std::string> names = {};
  Normalise normalise = Normalise::kTrain;
  std::vector<int64_t> shape = {}, target_shape = {};
  int64_t classes = 0;
  std::vector<double> mean = {}, scale = {};
};

template <typename Visitor>
void fields(Visitor& visit, ArrayQuery& c) {
  visit({"learned", "So many learned vectors ask; 1 where nothing else does"}, c.learned,
        at_least(0));
  visit({"at", "The array of places that are asked for, [example, query, channels]"}, c.at);
  visit({"like", "The input whose elements are asked for"}, c.like);
  visit({"fields",
         "at, like: what a query is made of; empty: Fourier features of the places, or what the "
         "input's elements are made of"},
        c.parts);
  visit({"channels", "learned: channels of a query (Q)"}, c.channels, at_least(1));
  visit({"sample", "Queries drawn at random in training; 0: all"}, c.sample, at_least(0));
  visit({"hidden_only", "like: whether only elements that the input hides are asked for"},
        c.hidden_only);
  visit({"target",
         "The array of right answers, [example, …queries…] and channels, or several side by side; "
         "empty: the one of the query's name, or of the input that the query is like"},
        c.target);
  visit({"rows", "[begin, end] of the target's first axis that is asked for; empty: all"}, c.rows,
        at_least(0));
  visit({"loss", "What training makes small"}, c.loss);
  visit({"quantiles", "loss quantile: shares of the answers that lie below each output"},
        c.quantiles, between(0.0, 1.0));
  visit({"delta", "loss huber: error, in deviations, from which on it grows linearly"}, c.delta,
        between(1e-6, 1e6));
  visit({"weight", "How much the loss counts beside those of other queries"}, c.weight,
        between(0.0, 1e6));
  visit({"measure",
         "What is measured: accuracy, f1, mae, rmse, r2, end_point, coverage; the first picks the "
         "best model; empty: what fits the loss"},
        c.measure);
  visit({"names",
         "Names of the classes, or the file that has one in each line; empty: the words of a "
         "table's column"},
        c.names);
  visit({"normalise", "What numbers of the target are shifted and scaled by while it trains"},
        c.normalise);
  visit({"shape", "at: sizes of the array without the examples; empty: as the data have it"},
        c.shape, at_least(1));
  visit({"target_shape", "Sizes of the target without the examples; empty: as the data have it"},
        c.target_shape, at_least(1));
  visit({"classes", "cross_entropy: how many there are; 0: as many as in the training data"},
        c.classes, at_least(0));
  visit({"mean", "What is taken off the target; empty: learned from the training data"}, c.mean);
  visit({"scale", "What it is then divided by; empty: learned from the training data"}, c.scale);
}

struct ArraysConfig {
  std::map<std::string, ArrayInput> inputs = {};
  std::map<std::string, ArrayQuery> queries = {};
  EncoderConfig encoder = {.num_latents = 64,
                           .latent_channels = 128,
                           .num_blocks = 1,
                           .self_attends_per_block = 4,
                           .self_attend = {.num_heads = 4}};
  DecoderConfig decoder = {};
};

template <typename Visitor>
void fields(Visitor& visit, ArraysConfig& c) {  // inputs and queries stand beside [model]
  visit(kEncoderKey, c.encoder);
  visit(kDecoderKey, c.decoder);
}

// Of tables whose rows follow one another in time: so many of them are an example.
struct TableWindow {
  int64_t rows = 0;
  int64_t stride = 1;
  std::string order = {}, group = {};
};

template <typename Visitor>
void fields(Visitor& visit, TableWindow& c) {
  visit({"rows", "Rows of an example, its first index axis; 0: each row is one"}, c.rows,
        at_least(0));
  visit({"stride", "Rows between the beginnings of two examples"}, c.stride, at_least(1));
  visit({"order", "The column that rows are sorted by; empty: as they stand"}, c.order);
  visit({"group", "The column whose rows of one value belong together; empty: all do"}, c.group);
}

struct ArraysDataConfig {
  std::vector<std::string> train = {};
  std::vector<std::string> held_out = {};
  double held_out_share = 0.1;
  TableWindow window = {};
};

template <typename Visitor>
void fields(Visitor& visit, ArraysDataConfig& c) {
  visit({"train",
         "Files to train on: .npz, .safetensors, .npy, folders of .npy, or tables, .csv and .tsv, "
         "whose columns are the arrays"},
        c.train);
  visit({"held_out", "Files to measure on, likewise; empty: a share of train"}, c.held_out);
  visit({"held_out_share",
         "Share of the examples that is measured on and not trained on where data.held_out is "
         "empty: spread evenly, or the last rows where there are windows"},
        c.held_out_share, between(0.0, 0.9));
  visit({"window", "Tables: several rows as one example"}, c.window);
}

struct ArraysExperiment {
  std::string task;
  ArraysConfig model;
  ArraysDataConfig data;
  TrainConfig train = {.optimizer = OptimizerKind::kAdamW, .clip = 1.0};
  EvalConfig eval;
};

template <typename Visitor>
void model_fields(Visitor& visit, ArraysExperiment& c) {
  visit(kTaskKey, c.task);
  visit({"inputs", "An array that the model sees, by a name of your choice"}, c.model.inputs);
  visit({"queries", "A kind of output, by a name of your choice"}, c.model.queries);
  visit(kModelKey, c.model);
}

template <typename Visitor>
void fields(Visitor& visit, ArraysExperiment& c) {
  model_fields(visit, c);
  visit(kDataKey, c.data);
  visit(kTrainKey, c.train);
  visit(kEvalKey, c.eval);
}

}  // namespace perceiver
