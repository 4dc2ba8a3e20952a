// What states.h is read by: a state from a line of JSON, and those of an .npz.
#pragma once

#include <string_view>

#include "perceiver/tasks/starcraft/states.h"
#include "perceiver/weights/tensor_map.h"

namespace perceiver {

// Types by number, in the order in which they were first asked for.
class TypeNumbers {
 public:
  int32_t of(const std::string& name);
  std::vector<std::string> names() && { return std::move(names_); }

 private:
  std::vector<std::string> names_;
  std::map<std::string, int32_t> numbers_;
};

// Whether data.leave_out drops a type.
bool is_left_out(const std::string& type, const std::vector<std::string>& patterns);

// An object with the game, "players" and "entities", as states.h says.
GameState state_of_json(std::string_view line, const StateFormat& format, TypeNumbers& types);

// The arrays of an .npz, as states.h says, checked to be of one size.
class StateArrays {
 public:
  StateArrays(const std::filesystem::path& file, const StateFormat& format);

  int64_t size() const { return num_states_; }
  std::string place(int64_t index) const;
  GameState read(int64_t index, TypeNumbers& types) const;

 private:
  // What is asked for, [states, entities]; fails where it is missing or of another size.
  Tensor of_entities(const std::string& name) const;
  void read_players(int64_t index, GameState& state) const;

  std::string file_;
  const StateFormat& format_;
  TensorMap arrays_;
  bool one_state_ = false;  // arrays without the dimension of the states
  int64_t num_states_ = 0;
  Tensor type_, owner_, mask_;
  std::vector<Tensor> features_;
};

}  // namespace perceiver
