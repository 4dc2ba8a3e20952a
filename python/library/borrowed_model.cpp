#include "python/library/borrowed_model.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/variable.h>

#include "perceiver/nn/init.h"
#include "perceiver/nn/module_tensors.h"
#include "perceiver/tasks/language/model.h"
#include "perceiver/zoo/hugging_face.h"
#include "perceiver/zoo/reference_io.h"
#include "perceiver/zoo/weights_match.h"
#include "python/library/plain_errors.h"

namespace perceiver {
namespace {

constexpr const char* kName = "the model";  // in messages

Model empty_model(const std::string& config_json, const TensorMap& state) {
  const File config{kName, config_json};
  const std::shared_ptr<const Settings> settings =
      read_settings({kName, settings_of_config_json(config)});
  {
    const ConstructScope scope(Construct::kWithoutMemory);
    const WeightsMatch match =
        match_weights(settings->make()->model(), state, folder_names(*settings));
    if (!match.problems.empty()) fail("{}: {}", kName, to_string(match.problems.front()));
  }
  const ConstructScope scope(Construct::kEmpty);
  Model model{.source = kName,
              .reference = Reference::kHuggingFace,
              .settings = settings,
              .task = settings->make()};
  model.task->model().eval();
  return model;
}

TensorMap map_of(const TensorDict& dict) {
  TensorMap map;
  for (const auto& item : dict) map[item.key()] = item.value();
  return map;
}

TensorDict dict_of(const TensorMap& map) {
  TensorDict dict;
  for (const auto& [name, tensor] : map) dict.insert(name, tensor);
  return dict;
}

}  // namespace

BorrowedModel::BorrowedModel(const std::string& config_json, const TensorDict& state)
    : model_(plainly([&] { return empty_model(config_json, map_of(state)); })) {
  plainly([&] {
    const NameOf name_of = folder_names(*model_.settings);
    for (const auto& [name, ours] : module_tensors(model_.task->model())) {
      const ForeignName foreign = name_of(name).value();
      const bool counts = foreign.optional;  // batches that were seen: of no use without training
      if (!counts) shared_.push_back({ours, state.at(foreign.name), foreign.layout});
    }
  });
}

void BorrowedModel::share() {
  for (Shared& one : shared_) {
    const void* data = one.theirs.const_data_ptr();
    if (data == one.seen && one.ours.scalar_type() == one.theirs.scalar_type()) continue;
    const Tensor view = from_layout(one.theirs.detach(), one.layout);
    one.ours.set_data(view);
    // What changes theirs in place then tells whoever has kept something that was made of ours.
    if (!one.theirs.is_inference()) {
      torch::autograd::impl::set_version_counter(
          one.ours, torch::autograd::impl::version_counter(one.theirs));
    }
    one.seen = data;
  }
}

TensorDict BorrowedModel::run(const TensorDict& inputs) {
  return plainly([&] {
    const at::NoGradGuard no_grad;
    share();
    return dict_of(run_reference(model_, map_of(inputs)));
  });
}

}  // namespace perceiver
