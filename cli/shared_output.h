// What a verb prints of its inputs, piece by piece: where several processes share them, the first
// one prints it, as one process would.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace perceiver {

class Ranks;
class VerbHooks;

struct Said {
  std::string out = {};                  // for the standard output
  nlohmann::ordered_json document = {};  // of --json; null: none
  std::string error = {};                // why an input is passed over
};

using Say = std::function<void(const Said& said)>;

struct SharedOutput {
  int64_t inputs;      // how many
  std::string called;  // "inputs", in a message
  bool json;           // one document at the end
  VerbHooks& verb;     // whose line of progress makes way
  // Does a piece, counted from 0, and says what comes of it, in its order. -> whether there is such
  // a piece
  std::function<bool(int64_t piece, const Say& say)> work;
};

// Prints, in the order of the pieces, what is said; where `ranks` is null at once, else when a
// piece is done. Fails where inputs were passed over.
void print_shared(Ranks* ranks, const SharedOutput& output);

// How many inputs are a piece, of which a process does `batch` at once, reading the next ones
// meanwhile: all where there is one process; else whole batches, eight pieces or more for each rank
// as far as there are so many.
int64_t inputs_per_piece(int64_t inputs, int64_t batch, const Ranks* ranks);

}  // namespace perceiver
