#include "perceiver/tasks/attend_maps.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

namespace perceiver {

Looks look(Application& task, const Example& inputs, bool decoder) {
  Looks looks;
  const AttentionObserver observer([&](const AttentionInputs& in) {
    const AttentionInputs seen{.q = in.q, .k = in.k, .v = {}, .kv_mask = in.kv_mask};
    if (!looks.encoder.q.defined()) looks.encoder = seen;
    looks.decoder = seen;
    return decoder ? Observed::kGoOn : Observed::kEnough;
  });
  if (decoder) {
    task.classify(inputs);
  } else {
    task.encode(inputs);
  }
  return looks;
}

Groups class_query(const Looks& looks) {
  return {{{"class query", {}}}, mix_attention(looks.decoder, at::ones({1, 1}))};
}

Groups clustered_latents(const Looks& looks, const InputView& view,
                         const GroupingOptions& options) {
  const Clusters clusters = cluster_attention(
      looks.encoder,
      {.groups = options.clusters, .first = view.first, .grid = view.grid, .seed = options.seed},
      {.head = options.head});
  Groups groups{{}, clusters.weights};
  for (int64_t group = 0; group < clusters.weights.size(0); ++group) {
    const Tensor members = clusters.group.eq(group).nonzero().squeeze(1);
    const std::vector<int64_t> latents(members.data_ptr<int64_t>(),
                                       members.data_ptr<int64_t>() + members.numel());
    groups.groups.push_back({latents.size() == 1 ? fmt::format("latent {}", latents[0])
                                                 : fmt::format("{} latents", latents.size()),
                             latents});
  }
  return groups;
}

const InputView& shown_view(const std::vector<InputView>& views) {
  return *std::max_element(views.begin(), views.end(), [](const InputView& a, const InputView& b) {
    return a.pictures.defined() < b.pictures.defined();
  });
}

int64_t elements(const InputView& view) { return c10::multiply_integers(view.grid); }

std::vector<NamedMap> maps_over(const InputView& view, const Groups& groups, const Tensor& maps) {
  std::vector<NamedMap> drawn;
  for (size_t i = 0; i < groups.groups.size(); ++i) {
    const Tensor map = maps[static_cast<int64_t>(i)].narrow(0, view.first, elements(view));
    drawn.push_back({groups.groups[i].name, map.reshape(view.grid)});
  }
  return drawn;
}

}  // namespace perceiver
