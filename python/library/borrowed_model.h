// A model of transformers', computed by this library with the weights that it has there: they are
// shared, not copied.
#pragma once

#include <ATen/core/Dict.h>
#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "perceiver/tasks/model.h"
#include "perceiver/zoo/names.h"
#include "python/library/loaded_model.h"

namespace perceiver {

class BorrowedModel : public torch::CustomClassHolder {
 public:
  // Its config.json, which names the class, and its state_dict(), whose tensors stay its own. Fails
  // where these are not all the weights of such a model.
  BorrowedModel(const std::string& config_json, const TensorDict& state);

  // Inputs and outputs as `perceiver run` has them.
  TensorDict run(const TensorDict& inputs);

 private:
  struct Shared {
    Tensor ours, theirs;
    Layout layout;
    const void* seen = nullptr;  // where their values lay when ours were last put there
  };

  void share();  // what has moved since: to another device, into another dtype

  Model model_;
  std::vector<Shared> shared_;
};

}  // namespace perceiver
