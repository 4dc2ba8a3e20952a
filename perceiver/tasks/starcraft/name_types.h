// What entities are whose type is not known, told from the others of their state.
#pragma once

#include "perceiver/tasks/classes.h"
#include "perceiver/tasks/model.h"

namespace perceiver {

inline constexpr std::string_view kUnknownType = "?";

struct NamedEntity {
  int64_t entity;  // its place in the state's list
  std::vector<RankedClass> top;
};

struct NamedState {
  std::string place;                       // "states.jsonl:3"
  std::vector<NamedEntity> entities = {};  // those of the type "?", in their order
  std::vector<std::string> strange = {};   // types that the model does not know: left out
};

// Of each state of a file, .jsonl or .jsonl.gz, as states.h has it, as its first player sees it; a
// state without players as the owner of its first own entity does. A state without a "?" is an
// Error, and so is one with more entities than the model has slots.
std::vector<NamedState> name_types(Model& model, const std::string& file, int64_t top = 5);

nlohmann::ordered_json to_json(const NamedState& state);  // {state, entities: [{entity, top}]}

}  // namespace perceiver
