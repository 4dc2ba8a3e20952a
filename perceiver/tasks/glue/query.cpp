#include "perceiver/tasks/glue/query.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "perceiver/core/error.h"
#include "perceiver/core/names.h"
#include "perceiver/core/text.h"

namespace perceiver {

Answer answer_glue(GlueImpl& model, const LatentsFile& file, const Query& query) {
  const GlueConfig& config = model.config();
  const auto num_tasks = std::ssize(config.tasks);
  const bool own_latents = config.variant == GlueVariant::kTaskTokens;
  if (own_latents && file.latents().size(0) % num_tasks != 0) {
    fail("{}: {} arrays of latents are not one for each of {} tasks", file.name,
         file.latents().size(0), num_tasks);
  }
  Answer answer{.json = {{"tasks", nlohmann::ordered_json::array()}}};
  std::vector<std::vector<std::string>> rows = {{"task", "answer"}};
  for (const std::string& task : query.tasks.empty() ? config.tasks : query.tasks) {
    const auto known = std::find(config.tasks.begin(), config.tasks.end(), task);
    if (known == config.tasks.end()) {
      fail("--tasks: the model has no task '{}'{}; it has {}", task,
           did_you_mean(task, config.tasks), fmt::join(config.tasks, ", "));
    }
    const int64_t index = known - config.tasks.begin();
    const Tensor own = own_latents ? file.latents().slice(0, index, {}, num_tasks) : file.latents();
    Tensor values =
        model.answers(own.to(model.parameters().front().options()), index).to(at::kCPU, at::kFloat);
    const bool classes = values.size(1) > 1;
    values = (classes ? values.softmax(-1) : values).mean(0);
    const std::vector<float> numbers(values.data_ptr<float>(),
                                     values.data_ptr<float>() + values.numel());
    answer.json["tasks"].push_back(
        {{"task", task}, {classes ? "probabilities" : "value", numbers}});
    rows.push_back({task, fmt::format("{:.3f}", fmt::join(numbers, " "))});
    answer.arrays.emplace_back(task, values);
  }
  answer.text = table(rows);
  return answer;
}

}  // namespace perceiver
