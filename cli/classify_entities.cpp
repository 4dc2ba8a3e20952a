#include "cli/classify_entities.h"

#include <fmt/ranges.h>

#include "cli/demo.h"
#include "cli/session.h"
#include "perceiver/core/file.h"
#include "perceiver/tasks/json.h"
#include "perceiver/tasks/starcraft/name_types.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const NamedState& state) {
  std::string text = state.place + "\n";
  for (const NamedEntity& one : state.entities) {
    std::vector<std::string> names;
    for (const RankedClass& type : one.top) names.push_back(percent(type));
    text += fmt::format("  entity {}: {}\n", one.entity, fmt::join(names, ", "));
  }
  return text;
}

}  // namespace

void classify_entities(Model& model, const EntityQuestions& questions) {
  std::vector<std::string> files = questions.inputs;
  if (files.empty()) files = {shipped("samples/entities.jsonl").string()};
  Json document = Json::array();
  for (const std::string& file : files) {
    for (const NamedState& state : name_types(model, file, questions.top)) {
      if (!state.strange.empty()) {
        note(fmt::format("{}: left out, as the model does not know them: {}", state.place,
                         fmt::join(state.strange, ", ")));
      }
      const Json json = with_origin(to_json(state), model);
      if (questions.jsonl) fmt::print("{}\n", json_text(json));
      if (questions.json) document.push_back(json);
      if (!questions.json && !questions.jsonl) fmt::print("{}", text_of(state));
    }
  }
  if (questions.json) fmt::print("{}\n", json_text(document, 2));
}

}  // namespace perceiver
