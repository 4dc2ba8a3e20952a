#include "perceiver/tasks/arrays/model.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/tasks/arrays/examples.h"

namespace perceiver {
namespace {

constexpr int64_t kMinInputPadding = 4, kMinQueryPadding = 2;  // as the multimodal model's
constexpr int64_t kQueriesAtOnce = 8192;

// Channels before padding.
template <typename Layouts>
std::map<std::string, int64_t> channels_of(const Layouts& layouts) {
  std::map<std::string, int64_t> channels;
  for (const auto& [name, layout] : layouts) channels[name] = layout.elements.channels;
  return channels;
}

// A vector for what is unknown stands behind the others.
Embedding category_vectors(const ArrayField& field, int64_t channels) {
  return Embedding(field.size + 1, channels);
}

int64_t resolution_of(const ArrayField& field) {
  return field.resolution > 0 ? field.resolution : 2 * field.bands;
}

std::string field_name(size_t i) { return fmt::format("field_{}", i); }

}  // namespace

FieldArrayImpl::FieldArrayImpl(const ElementsLayout& layout, const std::vector<ArrayField>& parts)
    : layout_(layout), parts_(parts) {
  for (size_t i = 0; i < parts.size(); ++i) {
    switch (layout.parts[i].kind) {
      case FieldKind::kCategory:
        vectors_.emplace(
            i, register_module(field_name(i), category_vectors(parts[i], parts[i].channels)));
        break;
      case FieldKind::kLearnedPosition:
        vectors_.emplace(
            i, register_module(field_name(i), Embedding(layout.elements, parts[i].channels)));
        break;
      case FieldKind::kPosition:
        grids_.emplace(i, std::make_unique<GridFeatures>(layout.grid, parts[i].bands));
        break;
      default:
        break;
    }
  }
}

Tensor FieldArrayImpl::positions(size_t i, const Example& batch, const std::string& prefix,
                                 const Tensor& like) {
  if (layout_.parts[i].kind == FieldKind::kLearnedPosition) {
    const auto index = batch.find(prefix + "index");
    if (index != batch.end()) return vectors_.at(i)(index->second);
    return vectors_.at(i)->weight.expand({like.size(0), -1, -1});
  }
  const auto place = batch.find(prefix + "place");
  if (place != batch.end()) {
    return fourier_features(place->second.to(at::kFloat), parts_[i].bands, layout_.grid);
  }
  const Tensor nothing =
      at::empty({1, layout_.elements, 0}, like.options().dtype(at::kFloat));  // before the features
  return grids_.at(i)->behind(nothing, layout_.grid).materialise().expand({like.size(0), -1, -1});
}

Tensor FieldArrayImpl::field(size_t i, const Example& batch, const std::string& prefix,
                             const Tensor& like) {
  if (!parts_[i].has_source()) return positions(i, batch, prefix, like);
  const Tensor& values = batch.at(fmt::format("{}{}", prefix, i));
  switch (layout_.parts[i].kind) {
    case FieldKind::kCategory:
      return vectors_.at(i)(values).flatten(-2);
    case FieldKind::kFourier:
      return fourier_features(values.to(at::kFloat), parts_[i].bands,
                              std::vector<int64_t>(values.size(-1), resolution_of(parts_[i])));
    default:
      return values;
  }
}

Tensor FieldArrayImpl::forward(const Example& batch, const std::string& prefix,
                               const Tensor& like) {
  std::vector<Tensor> all;
  for (size_t i = 0; i < parts_.size(); ++i) {
    all.push_back(field(i, batch, prefix, like).to(at::kFloat));
  }
  return all.size() == 1 ? all[0] : at::cat(all, -1);
}

ColumnArrayImpl::ColumnArrayImpl(const ElementsLayout& layout, const std::vector<ArrayField>& parts)
    : layout_(layout), parts_(parts) {
  int64_t numbers = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (layout.parts[i].kind == FieldKind::kNumber) {
      numbers += layout.parts[i].width;
    } else {
      vectors_.emplace(i,
                       register_module(field_name(i), category_vectors(parts[i], layout.channels)));
    }
  }
  // A number of deviation 1 is as long as a category's vector and the column's own.
  numbers_ =
      register_parameter("numbers", new_parameter({numbers, layout.channels}, kLearnedVectors));
  columns_ = register_parameter("columns",
                                new_parameter({layout.elements, layout.channels}, kLearnedVectors));
}

Tensor ColumnArrayImpl::forward(const Example& batch, const std::string& prefix) {
  std::vector<Tensor> all;
  int64_t number = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Tensor values = batch.at(fmt::format("{}{}", prefix, i)).squeeze(1);  // [B, width]
    if (layout_.parts[i].kind == FieldKind::kNumber) {
      const int64_t width = values.size(-1);
      all.push_back(values.unsqueeze(-1) * numbers_.narrow(0, number, width));
      number += width;
    } else {
      all.push_back(vectors_.at(i)(values));
    }
  }
  return at::cat(all, 1) + columns_;
}

ArraysModelImpl::ArraysModelImpl(const ArraysConfig& config)
    : config_(config), layout_(layout_of(config)) {
  for (const auto& [name, input] : config.inputs) {
    const ElementsLayout& elements = layout_.inputs.at(name).elements;
    const std::string module = "input_" + name;
    if (input.element == ElementKind::kColumn) {
      columns_.emplace(name, register_module(module, ColumnArray(elements, input.parts)));
    } else {
      inputs_.emplace(name, register_module(module, FieldArray(elements, input.parts)));
    }
  }
  int64_t input_channels = layout_.inputs.begin()->second.elements.channels;
  int64_t query_channels = layout_.queries.begin()->second.elements.channels;
  if (layout_.inputs.size() > 1) {
    input_padding_ = register_module(
        "input_padding", ModalityPadding(channels_of(layout_.inputs), kMinInputPadding));
    input_channels = input_padding_->channels();
  }
  if (layout_.queries.size() > 1) {
    query_padding_ = register_module(
        "query_padding", ModalityPadding(channels_of(layout_.queries), kMinQueryPadding));
    query_channels = query_padding_->channels();
  }
  for (const auto& [name, query] : config.queries) {
    const QueryLayout& layout = layout_.queries.at(name);
    const std::string module = "query_" + name;
    if (query.at.empty() && query.like.empty()) {
      learned_.emplace(name, register_module(module, LearnedQuery(layout.elements.elements,
                                                                  layout.elements.channels)));
    } else {
      queries_.emplace(name, register_module(module, FieldArray(layout.elements, query.parts)));
    }
    heads_.emplace(name, register_module("head_" + name, Linear(query_channels, layout.outputs)));
  }
  perceiver_ = register_module(
      "perceiver",
      PerceiverIo(PerceiverIoChannels{.inputs = input_channels, .queries = query_channels},
                  config.encoder, config.decoder));
}

Modalities ArraysModelImpl::input_arrays(const Example& batch) {
  Modalities arrays;
  for (const auto& [name, input] : config_.inputs) {
    const std::string prefix = array_key("inputs", name, "");
    const bool columns = columns_.contains(name);
    const Tensor array = columns ? columns_.at(name)(batch, prefix)
                                 : inputs_.at(name)(batch, prefix, batch.begin()->second);
    arrays[name] = array.to(perceiver_->parameters().front().scalar_type());
  }
  return arrays;
}

Tensor ArraysModelImpl::input_mask(const Example& batch, const Modalities& arrays) {
  std::vector<Tensor> masks;
  bool masked = false;
  for (const auto& [name, array] : arrays) {
    const auto mask = batch.find(array_key("inputs", name, "mask"));
    masked |= mask != batch.end();
    masks.push_back(mask != batch.end() ? mask->second
                                        : at::ones({array.size(0), array.size(1)},
                                                   array.options().dtype(at::kBool)));
  }
  return masked ? at::cat(masks, 1) : Tensor();
}

Tensor ArraysModelImpl::encode(const Example& batch) {
  const Modalities arrays = input_arrays(batch);
  const Tensor mask = input_mask(batch, arrays);
  const Tensor inputs =
      input_padding_.is_empty() ? arrays.begin()->second : pack(input_padding_(arrays));
  return perceiver_->process(perceiver_->encode(inputs, mask), inputs, mask);
}

Modalities ArraysModelImpl::decode(const Tensor& latents, const Example& batch,
                                   const std::vector<std::string>& names) {
  Modalities queries;
  std::map<std::string, int64_t> sizes;
  for (const auto& [name, query] : config_.queries) {
    if (!names.empty() && std::ranges::find(names, name) == names.end()) continue;
    const std::string prefix = array_key("queries", name, "");
    const Tensor asked = learned_.contains(name) ? learned_.at(name)(latents.size(0)).materialise()
                                                 : queries_.at(name)(batch, prefix, latents);
    queries[name] = asked.to(latents.scalar_type());
    sizes[name] = asked.size(1);
  }
  const Tensor all =
      query_padding_.is_empty() ? queries.begin()->second : pack(query_padding_(queries));
  Modalities outputs =
      take_apart(is_training() ? perceiver_->decode(latents, all)
                               : decode_in_slices(perceiver_, latents, all, kQueriesAtOnce),
                 sizes);
  for (auto& [name, output] : outputs) output = heads_.at(name)(output);
  return outputs;
}

ModelSummary ArraysModelImpl::summary(bool trains) const {
  int64_t m = 0, o = 0, values = 0;
  for (const auto& [name, layout] : layout_.inputs) {
    m += trains ? layout.seen : layout.elements.elements;
  }
  for (const auto& [name, layout] : layout_.queries) {
    o += trains ? layout.asked : layout.elements.elements;
    values = std::max(values, layout.outputs);
  }
  const auto channels = [](const ModalityPadding& padding, const auto& layouts) {
    return padding.is_empty() ? layouts.begin()->second.elements.channels : padding->channels();
  };
  ModelSummary s{.inputs = {m, channels(input_padding_, layout_.inputs)},
                 .latents = perceiver_->latent_size(),
                 .queries = ArraySize{o, channels(query_padding_, layout_.queries)},
                 .outputs = {o, values}};
  const auto add = [&](const char* kind, const std::string& name, const auto& module) {
    s.add(kind, {{.name = name, .parameters = num_parameters(*module)}});
  };
  for (const auto& [name, module] : columns_) add("input.", name, module);
  for (const auto& [name, module] : inputs_) add("input.", name, module);
  if (!input_padding_.is_empty()) add("input.", "padding", input_padding_);
  for (const auto& [name, module] : queries_) add("query.", name, module);
  for (const auto& [name, module] : learned_) add("query.", name, module);
  if (!query_padding_.is_empty()) add("query.", "padding", query_padding_);
  s.add("", perceiver_->parts(m, o));
  for (const auto& [name, head] : heads_) {
    const QueryLayout& layout = layout_.queries.at(name);
    const int64_t asked = trains ? layout.asked : layout.elements.elements;
    s.add("heads.",
          {{.name = name, .parameters = num_parameters(*head), .flops = head->flops(asked)}});
  }
  return s;
}

}  // namespace perceiver
