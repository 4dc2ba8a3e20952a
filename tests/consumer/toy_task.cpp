// A task of one's own, with no file of the project touched: which of some numbers is the largest.
// It is trained ten steps, saved, loaded and evaluated as the project's own tasks are.
#include <ATen/ATen.h>
#include <perceiver/model/perceiver_io.h>
#include <perceiver/model/query.h>
#include <perceiver/tasks/experiment.h>
#include <perceiver/tasks/registry.h>
#include <perceiver/tasks/training.h>
#include <perceiver/train/evaluate.h>
#include <perceiver/train/trainer.h>
#include <perceiver/zoo/find.h>
#include <perceiver/zoo/model.h>

#include <iostream>

using namespace perceiver;
namespace fs = std::filesystem;

// What a config may say. Reading, writing and overriding follow from the lists of fields.
struct LargestConfig {
  int64_t count = 5;  // numbers in a row
  EncoderConfig encoder = {
      .num_latents = 8, .latent_channels = 32, .num_blocks = 1, .self_attends_per_block = 1};
  DecoderConfig decoder = {};
};
struct LargestData {
  std::vector<std::string> train = {}, held_out = {};  // files: it has none
  int64_t examples = 512;
};
template <typename Visitor>
void fields(Visitor& visit, LargestConfig& c) {
  visit("count", c.count, at_least(2));
  visit("encoder", c.encoder);
  visit("decoder", c.decoder);
}
template <typename Visitor>
void fields(Visitor& visit, LargestData& c) {
  visit("train", c.train);
  visit("held_out", c.held_out);
  visit("examples", c.examples, at_least(1));
}
using LargestExperiment = Experiment<LargestConfig, LargestData>;

// Each number is an element, its place a one-hot vector beside it; one learned query asks.
class LargestImpl : public torch::nn::Module {
 public:
  explicit LargestImpl(const LargestConfig& c)
      : count_(c.count),
        query_(register_module("query", LearnedQuery(1, 16))),
        perceiver_(register_module(
            "perceiver",
            PerceiverIo(PerceiverIoChannels{.inputs = 1 + count_, .queries = 16, .outputs = count_},
                        c.encoder, c.decoder))) {}

  // numbers [B, count] -> logits [B, count]
  Tensor forward(const Tensor& numbers) {
    const int64_t batch = numbers.size(0);
    const Tensor places = at::eye(count_, numbers.options()).expand({batch, -1, -1});
    const Tensor inputs = at::cat({numbers.unsqueeze(-1), places}, -1);
    return perceiver_(inputs, query_(batch)).squeeze(1);
  }

  ModelSummary summary() const {
    ModelSummary summary{.inputs = {count_, 1 + count_},
                         .latents = perceiver_->latent_size(),
                         .queries = ArraySize{1, 16},
                         .outputs = {1, count_}};
    summary.parts.push_back({.name = "query", .parameters = 16});
    summary.add("perceiver.", perceiver_->parts(count_, 1));
    return summary;
  }

 private:
  int64_t count_;
  LearnedQuery query_;
  PerceiverIo perceiver_;
};
TORCH_MODULE(Largest);

class Numbers : public Dataset {
 public:
  Numbers(int64_t count, int64_t examples) : count_(count), examples_(examples) {}

  int64_t size() const override { return examples_; }
  Example get(int64_t, Rng& rng) const override {
    Tensor numbers = at::empty({count_});
    for (int64_t i = 0; i < count_; ++i) numbers[i] = rng.uniform();
    return {{"numbers", numbers}, {"largest", numbers.argmax()}};
  }

 private:
  int64_t count_, examples_;
};

class LargestTraining : public TrainingOf<LargestExperiment> {
 public:
  LargestTraining(const LargestExperiment& experiment, Largest model)
      : TrainingOf(experiment), model_(std::move(model)) {}

  std::unique_ptr<Dataset> dataset(Split) const override {
    return std::make_unique<Numbers>(experiment_.model.count, experiment_.data.examples);
  }
  Example random_batch(int64_t batch) const override {
    const Tensor numbers = at::rand({batch, experiment_.model.count});
    return {{"numbers", numbers}, {"largest", numbers.argmax(-1)}};
  }
  Loss loss(const Example& batch) override {
    const Tensor logits = model_(batch.at("numbers"));
    return {at::cross_entropy_loss(logits, batch.at("largest"), {}, at::Reduction::Sum),
            at::full({}, static_cast<double>(logits.size(0)), logits.options())};
  }
  std::unique_ptr<Evaluator> evaluator() override {
    return std::make_unique<SumEvaluator>([this](const Example& batch) -> Measures {
      const Tensor right = model_(batch.at("numbers")).argmax(-1).eq(batch.at("largest"));
      return {{"accuracy", {right.sum().item<double>(), static_cast<double>(right.size(0))}}};
    });
  }
  MainMeasure main_measure() const override { return {"accuracy", /*lower_is_better=*/false}; }
  double flops_per_example() const override { return 3.0 * model_->summary().flops(); }

 private:
  Largest model_;
};

class LargestTask : public ModelTask<Largest, LargestExperiment> {
 public:
  using ModelTask::ModelTask;

  Example random_inputs(int64_t batch) const override {
    return {{"numbers", at::rand({batch, config_.model.count})}};
  }
  Tensor forward(const Example& inputs, Split) override {
    return model_(inputs.at("numbers")).unsqueeze(1);
  }
  Training* training() override { return &training_; }

 private:
  LargestTraining training_{config_, model_};
};

int main(int argc, char** argv) {
  const fs::path run = argc > 1 ? argv[1] : "toy-run";
  register_task(task_entry<LargestTask>("largest"));
  const File config{"largest.toml",
                    "task = 'largest'\n[train]\nsteps = 10\nlearning_rate = 0.003\n"
                    "optimizer = 'adamw'\nbatch = 64\n"};
  at::manual_seed(0);
  Model model = new_model(config);
  Trainer trainer(model, {});
  RunFolder folder = RunFolder::create(run, model.settings->text(), "{}");
  trainer.run(folder);  // ten steps; evaluates at the end and saves `last` and `best`

  Model loaded = load_model(find_model(run.string()));
  const auto held_out = training_of(loaded).dataset(Split::kEval);
  const double before = *find_checkpoint(run)->best;
  const Evaluation after = evaluate(*loaded.task, *held_out, {.seed = 0});
  std::cout << task_name(loaded) << ": accuracy " << after.figures.at("accuracy") << " of "
            << after.examples << " rows after " << trainer.steps_done() << " steps\n";
  if (trainer.steps_done() == 10 && after.figures.at("accuracy") == before) return 0;
  std::cerr << "the loaded model does not measure what the trained one did: " << before << "\n";
  return 1;
}
