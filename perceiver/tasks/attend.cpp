#include "perceiver/tasks/attend.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "perceiver/core/error.h"
#include "perceiver/core/text.h"
#include "perceiver/weights/arrays.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

Groups chosen_latents(const std::vector<int64_t>& chosen, int64_t latents) {
  Groups groups{{}, at::zeros({std::ssize(chosen), latents})};
  for (size_t i = 0; i < chosen.size(); ++i) {
    const int64_t latent = chosen[i];
    if (latent < 0 || latent >= latents) {
      fail("--latents: {} is not among the model's {} latents, counted from 0", latent, latents);
    }
    groups.groups.push_back({fmt::format("latent {}", latent), {latent}});
    groups.weights[static_cast<int64_t>(i)][latent] = 1.0;
  }
  return groups;
}

Groups groups_of(const Looks& looks, const InputView& shown, const AttendOptions& options) {
  if (options.query) return class_query(looks);
  if (!options.latents.empty()) return chosen_latents(options.latents, looks.encoder.q.size(2));
  return clustered_latents(
      looks, shown, {.clusters = options.clusters, .seed = options.seed, .head = options.head});
}

// How much of a map [M] falls on each part of the input.
std::vector<double> shares(const Tensor& map, const std::vector<InputView>& views) {
  std::vector<double> shares;
  for (const InputView& view : views) {
    shares.push_back(map.narrow(0, view.first, elements(view)).sum().item<double>());
  }
  return shares;
}

// The share of the elements that hold half of a map [M] between them, the strongest first: small
// where the attention is sharp, a half where it is even.
double share_with_half(const Tensor& map) {
  const Tensor sums = std::get<0>(map.sort(0, /*descending=*/true)).cumsum(0, at::kDouble);
  const int64_t below = sums.lt(0.5 * sums[-1]).sum().item<int64_t>();
  return static_cast<double>(below + 1) / static_cast<double>(map.size(0));
}

Json strongest_elements(const Tensor& map) {
  const auto [values, indices] = map.topk(std::min<int64_t>(10, map.size(0)));
  Json strongest = Json::array();
  for (int64_t i = 0; i < values.size(0); ++i) {
    strongest.push_back(
        {{"element", indices[i].item<int64_t>()}, {"weight", values[i].item<double>()}});
  }
  return strongest;
}

}  // namespace

AttendMaps attend(Model& model, std::span<const File> files, const AttendOptions& options) {
  const at::NoGradGuard no_grad;
  Application& task = application_of(model);
  Example inputs = task.read(files);
  for (auto& [name, array] : inputs) array = array.narrow(0, 0, 1);
  const std::vector<InputView> views = task.views(inputs);
  check_picture_name(options.output, shown_view(views));
  const Looks looks = look(task, inputs, options.query);
  Groups groups = groups_of(looks, shown_view(views), options);
  for (Group& group : groups.groups) {
    if (options.head) group.name += fmt::format(", head {}", *options.head);
  }
  return {views, groups.groups,
          mix_attention(looks.encoder, groups.weights, {.head = options.head})};
}

std::vector<NamedMap> AttendMaps::drawn() const {
  return maps_over(shown(), {groups, {}}, weights);
}

NamedTensors AttendMaps::arrays() const {
  NamedTensors named;
  for (const InputView& view : views) {
    std::vector<int64_t> sizes = {weights.size(0)};
    sizes.insert(sizes.end(), view.grid.begin(), view.grid.end());
    const Tensor maps = weights.narrow(1, view.first, elements(view)).reshape(sizes);
    named.emplace_back(view.modality, maps.contiguous());
  }
  return named;
}

std::string write_maps(const AttendMaps& maps, const std::string& output) {
  if (!output.ends_with(".npz") && !output.ends_with(".safetensors")) {
    return draw_maps(maps.shown(), maps.drawn(), output);
  }
  write_arrays(output, maps.arrays());
  return output;
}

std::string share_table(const AttendMaps& maps) {
  const bool several = maps.views.size() > 1;
  std::vector<std::vector<std::string>> rows = {{"map", "half of it on"}};
  for (const InputView& view : maps.views) {
    if (several) rows[0].push_back("on " + view.modality);
  }
  for (size_t i = 0; i < maps.groups.size(); ++i) {
    const Tensor map = maps.weights[static_cast<int64_t>(i)];
    rows.push_back(
        {maps.groups[i].name, fmt::format("{:.1f} % of the input", 100.0 * share_with_half(map))});
    if (!several) continue;
    for (const double share : shares(map, maps.views)) {
      rows.back().push_back(fmt::format("{:.1f} %", 100.0 * share));
    }
  }
  return table(rows);
}

Json to_json(const AttendMaps& maps) {
  Json list = Json::array();
  for (size_t i = 0; i < maps.groups.size(); ++i) {
    const Tensor map = maps.weights[static_cast<int64_t>(i)];
    Json share = Json::object();
    const std::vector<double> parts = shares(map, maps.views);
    for (size_t v = 0; v < maps.views.size(); ++v) share[maps.views[v].modality] = parts[v];
    list.push_back({{"name", maps.groups[i].name},
                    {"latents", maps.groups[i].latents},
                    {"half_on", share_with_half(map)},
                    {"share", std::move(share)},
                    {"strongest", strongest_elements(map)}});
  }
  return list;
}

}  // namespace perceiver
