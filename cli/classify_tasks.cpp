#include "cli/classify_tasks.h"

#include <fmt/format.h>

#include "perceiver/modalities/text_file.h"
#include "perceiver/tasks/classify.h"
#include "perceiver/tasks/given_inputs.h"
#include "perceiver/tasks/json.h"
#include "perceiver/tasks/text_tasks.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

std::vector<File> texts_of(const Model& model, const TaskQuestions& questions) {
  if (questions.inputs.empty()) fail("give a text to ask about, or a file of one");
  const InputKind reads = application_of(model).reads();
  if (!questions.lines) return given_files(questions.inputs, reads);
  std::vector<File> lines;
  for (const ClassifySource& source : classify_sources(model, questions.inputs, {.lines = true})) {
    lines.push_back({source.name, source.bytes.value_or("")});
  }
  return lines;
}

Json to_json(const std::vector<File>& texts, const std::vector<TaskAnswer>& answers) {
  Json json = {{"text", text_in(texts[0])}};
  if (texts.size() > 1) json["pair"] = text_in(texts[1]);
  json["tasks"] = to_json(answers);
  return json;
}

}  // namespace

File second_text(const Model& model, const std::string& pair) {
  return given_files(std::span(&pair, 1), application_of(model).reads())[0];
}

void classify_tasks(Model& model, const TaskQuestions& questions) {
  const std::vector<File> inputs = texts_of(model, questions);
  Json document = Json::array();
  for (const File& input : inputs) {
    std::vector<File> texts = {input};
    if (!questions.pair.empty()) texts.push_back(second_text(model, questions.pair));
    const std::vector<TaskAnswer> answers = answer_tasks(model, texts, questions.tasks);
    if (!questions.json && !questions.jsonl) {
      if (inputs.size() > 1) fmt::print("{}\n", text_in(input));
      fmt::print("{}", task_table(answers));
      continue;
    }
    const Json json = with_origin(to_json(texts, answers), model);
    if (questions.jsonl) fmt::print("{}\n", json_text(json));
    document.push_back(json);
  }
  if (questions.json) fmt::print("{}\n", json_text(inputs.size() == 1 ? document[0] : document, 2));
}

}  // namespace perceiver
