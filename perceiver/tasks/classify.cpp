#include "perceiver/tasks/classify.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <future>

#include "perceiver/core/error.h"
#include "perceiver/core/text.h"

namespace perceiver {
namespace {

// A batch that was read and decoded: inputs of each source, or why there are none.
struct Prepared {
  std::vector<Example> inputs;
  std::vector<std::string> errors;
};

Prepared prepare(const Application& task, std::span<const ClassifySource> sources,
                 const std::optional<File>& pair) {
  const at::NoGradGuard no_grad;
  Prepared prepared;
  for (const ClassifySource& source : sources) {
    Example inputs;
    std::string error;
    try {
      std::vector<File> files = {source.bytes ? File{source.name, *source.bytes}
                                              : read_file(source.name)};
      if (pair) files.push_back(*pair);
      inputs = task.read(files);
    } catch (const Error& e) {
      error = e.what();
    }
    prepared.inputs.push_back(std::move(inputs));
    prepared.errors.push_back(std::move(error));
  }
  return prepared;
}

// Probabilities [classes] of each source; undefined where it could not be read. The views of a
// source are averaged.
std::vector<Tensor> classify_batch(Application& task, const Prepared& prepared) {
  std::map<std::string, std::vector<Tensor>> arrays;
  for (const Example& inputs : prepared.inputs) {
    for (const auto& [name, array] : inputs) arrays[name].push_back(array);
  }
  std::vector<Tensor> results(prepared.inputs.size());
  if (arrays.empty()) return results;
  Example batch;
  for (const auto& [name, parts] : arrays) batch[name] = at::cat(parts);
  const Tensor probabilities = task.classify(batch).cpu();
  int64_t row = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    if (prepared.inputs[i].empty()) continue;
    const int64_t views = prepared.inputs[i].begin()->second.size(0);
    results[i] = probabilities.narrow(0, row, views).mean(0);
    row += views;
  }
  return results;
}

}  // namespace

std::vector<RankedClass> classify(Model& model, const File& file, int64_t top) {
  const at::NoGradGuard no_grad;
  Application& task = application_of(model);
  const Tensor probabilities = task.classify(task.read(std::span(&file, 1)));
  return likeliest_classes(probabilities.mean(0).cpu(), model.labels, top);
}

std::vector<Classified> classify(Model& model, std::span<const ClassifySource> sources,
                                 const ClassifyOptions& options) {
  const at::NoGradGuard no_grad;
  Application& task = application_of(model);
  const auto prepare_from = [&](size_t begin) {
    const size_t count = std::min<size_t>(options.batch, sources.size() - begin);
    return std::async(std::launch::async, prepare, std::cref(task), sources.subspan(begin, count),
                      std::cref(options.pair));
  };
  const auto count = static_cast<double>(sources.size());
  options.hooks.begin("classify", attention_work(task.summary(Split::kEval)) * count);
  std::vector<Classified> all;
  std::future<Prepared> next = prepare_from(0);
  while (all.size() < sources.size()) {
    const Prepared prepared = next.get();
    const size_t begin = all.size(), end = begin + prepared.inputs.size();
    if (end < sources.size()) next = prepare_from(end);
    const std::vector<Tensor> results = classify_batch(task, prepared);
    for (size_t i = 0; i < results.size(); ++i) {
      Classified result{.name = sources[begin + i].name, .top = {}, .error = prepared.errors[i]};
      if (results[i].defined()) {
        result.top = likeliest_classes(results[i], model.labels, options.top);
      }
      if (options.ready) options.ready(result);
      all.push_back(std::move(result));
    }
  }
  return all;
}

std::string classes_text(const Model& model) {
  constexpr size_t kAll = 20, kSome = 3;  // names of a few classes are all shown
  const std::string count = fmt::format("{} classes", grouped(model.settings->num_classes()));
  const std::span<const std::string> names = model.labels;
  if (names.empty()) return count;
  const bool few = names.size() <= kAll;
  return fmt::format("{}: {}{}", count, fmt::join(few ? names : names.first(kSome), ", "),
                     few ? "" : ", …");
}

nlohmann::ordered_json to_json(const Classified& result) {
  return {{"file", result.name}, {"top", to_json(result.top)}};
}

}  // namespace perceiver
