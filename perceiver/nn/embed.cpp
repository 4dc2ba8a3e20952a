#include "perceiver/nn/embed.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "perceiver/kernels/embedding/embedding_torch.h"

namespace perceiver {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Embed : torch::autograd::Function<Embed> {
  static Tensor forward(AutogradContext* context, const Tensor& table, const Tensor& ids,
                        const std::optional<Tensor>& places) {
    context->save_for_backward({ids});
    context->saved_data["count"] = table.size(0);
    context->saved_data["places"] = places.has_value();
    return cuda_embedded(table, ids, places.value_or(Tensor()));
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto made = cuda_embedding_gradients(gradients[0], context->get_saved_variables()[0],
                                               context->saved_data["count"].toInt(),
                                               context->saved_data["places"].toBool());
    return {made.table, Tensor(), made.places};
  }
};

}  // namespace

Tensor embedded(const Tensor& table, const Tensor& ids, const Tensor& places) {
  if (!cuda_embedding_takes(table, ids, places)) {
    const Tensor elements = at::embedding(table, ids);
    return places.defined() ? elements + places : elements;
  }
  const Tensor out = Embed::apply(table, ids.dim() == 1 ? ids.unsqueeze(0) : ids,
                                  places.defined() ? std::optional(places) : std::nullopt);
  return ids.dim() == 1 ? out.squeeze(0) : out;
}

}  // namespace perceiver
