#include "perceiver/tasks/text_tasks.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "perceiver/core/names.h"
#include "perceiver/core/text.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kAll = "all";

int64_t number_of(const std::string& task, const std::vector<TextTask>& known) {
  std::vector<std::string> names;
  for (const TextTask& one : known) names.push_back(one.name);
  const auto found = std::ranges::find(names, task);
  if (found == names.end()) {
    fail("--task: the model has no task '{}'{}; it has {}", task, did_you_mean(task, names),
         fmt::join(names, ", "));
  }
  return found - names.begin();
}

// The tasks that are meant, by number.
std::vector<int64_t> asked_tasks(const std::vector<std::string>& tasks,
                                 const std::vector<TextTask>& known) {
  std::vector<int64_t> asked;
  for (const std::string& task : tasks) {
    if (task == kAll) {
      asked.resize(known.size());
      std::iota(asked.begin(), asked.end(), 0);
      return asked;
    }
    asked.push_back(number_of(task, known));
  }
  return asked;
}

bool is_named(const TextTask& task, const std::vector<std::string>& tasks) {
  return std::ranges::count(tasks, task.name) > 0;
}

size_t likeliest(const TaskAnswer& answer) {
  return std::ranges::max_element(answer.probabilities) - answer.probabilities.begin();
}

// values [rows, classes], or [rows, 1]: the parts of a long text are averaged
void take(TaskAnswer& answer, const Tensor& values) {
  const Tensor mean = values.to(at::kCPU, at::kDouble).mean(0).contiguous();
  const double* numbers = mean.const_data_ptr<double>();
  if (answer.classes.empty()) answer.value = numbers[0];
  if (!answer.classes.empty()) answer.probabilities.assign(numbers, numbers + mean.numel());
}

}  // namespace

std::vector<TaskAnswer> answer_tasks(Model& model, std::span<const File> texts,
                                     const std::vector<std::string>& tasks) {
  const at::NoGradGuard no_grad;
  Application& application = application_of(model);
  const std::vector<TextTask> known = application.text_tasks();
  if (known.empty()) {
    fail("{}: --task asks models of GLUE's tasks, got one of the task {}", model.source,
         task_name(model));
  }
  std::vector<TaskAnswer> answers;
  std::vector<int64_t> answered;
  for (const int64_t number : asked_tasks(tasks, known)) {
    const TextTask& task = known[number];
    const bool needs_pair = task.takes_pair && texts.size() < 2;
    if (needs_pair && is_named(task, tasks)) {
      fail("--task {}: takes two texts; give the second with --pair", task.name);
    }
    answers.push_back({.task = task.name, .classes = task.classes, .needs_pair = needs_pair});
    if (!needs_pair) answered.push_back(number);
  }
  const std::vector<Tensor> values = application.answer_tasks(application.read(texts), answered);
  size_t next = 0;
  for (TaskAnswer& answer : answers) {
    if (!answer.needs_pair) take(answer, values[next++]);
  }
  return answers;
}

std::string task_table(const std::vector<TaskAnswer>& answers) {
  std::vector<std::vector<std::string>> rows = {{"task", "answer", "probability"}};
  for (const TaskAnswer& answer : answers) {
    if (answer.needs_pair) {
      rows.push_back({answer.task, "needs --pair", ""});
    } else if (answer.classes.empty()) {
      rows.push_back({answer.task, fmt::format("{:.2f}", answer.value), ""});
    } else {
      const size_t best = likeliest(answer);
      rows.push_back(
          {answer.task, answer.classes[best], fmt::format("{:.3f}", answer.probabilities[best])});
    }
  }
  return table(rows);
}

Json to_json(const std::vector<TaskAnswer>& answers) {
  Json json = Json::object();
  for (const TaskAnswer& answer : answers) {
    if (answer.needs_pair) continue;
    if (answer.classes.empty()) {
      json[answer.task] = {{"value", answer.value}};
      continue;
    }
    const size_t best = likeliest(answer);
    Json all = Json::object();
    for (size_t i = 0; i < answer.classes.size(); ++i) {
      all[answer.classes[i]] = answer.probabilities[i];
    }
    json[answer.task] = {{"label", answer.classes[best]},
                         {"probability", answer.probabilities[best]},
                         {"probabilities", std::move(all)}};
  }
  return json;
}

}  // namespace perceiver
