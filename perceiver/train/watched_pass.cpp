#include "perceiver/train/watched_pass.h"

#include <torch/csrc/autograd/function.h>

#include <unordered_set>
#include <vector>

namespace perceiver {
namespace {

class LookFirst : public torch::autograd::FunctionPreHook {
 public:
  explicit LookFirst(Look look) : look_(std::move(look)) {}

  torch::autograd::variable_list operator()(
      const torch::autograd::variable_list& gradients) override {
    look_();
    return gradients;
  }

 private:
  Look look_;
};

}  // namespace

void watch_backward(const Tensor& root, const Look& look) {
  std::unordered_set<torch::autograd::Node*> seen = {root.grad_fn().get()};
  std::vector<torch::autograd::Node*> left(seen.begin(), seen.end());
  while (!left.empty()) {
    torch::autograd::Node* node = left.back();
    left.pop_back();
    // A parameter's own node, which has no next, may outlive the pass.
    if (node->next_edges().empty()) continue;
    node->add_pre_hook(std::make_unique<LookFirst>(look));
    for (const torch::autograd::Edge& edge : node->next_edges()) {
      if (edge.function && seen.insert(edge.function.get()).second) {
        left.push_back(edge.function.get());
      }
    }
  }
}

}  // namespace perceiver
