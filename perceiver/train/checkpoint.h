// What a run can go on from: `last`, the one before it in `previous`, and the `best` model so far.
// Each is a complete model folder; `last` and `previous` hold the optimiser's state too. Where
// weights are averaged, their model has the weights themselves and the average is beside the
// optimiser's state; the model of `best` has the average.
//
// A checkpoint is written beside the others and gets its name when it is complete, so that at any
// moment, whatever ends the program, there is a whole one. Checksums tell a file that was cut short
// later.
#pragma once

#include <filesystem>
#include <optional>

#include "perceiver/weights/tensor_map.h"
#include "perceiver/zoo/model.h"

namespace perceiver {

// Beside the weights. Random numbers need no state: they follow from seed and step.
struct TrainState {
  int64_t step = 0;                 // done
  std::optional<double> best = {};  // main measure of `best`
  bool unevaluated = false;         // the step's evaluation is still to do
  NamedTensors tensors = {};        // of the optimiser, and the averaged weights
};

// Becomes `last`; what was `last` becomes `previous`.
void save_last(const std::filesystem::path& run, const Model& model, const TrainState& state);
void save_best(const std::filesystem::path& run, const Model& model);

struct Checkpoint {
  std::filesystem::path folder;
  int64_t step = 0;
  std::optional<double> best = {};
  bool unevaluated = false;
  TensorMap tensors = {};
  std::string note = {};  // why it is not `last`; empty: it is
};

// The newest that is whole; nothing when the run has none yet. Fails when all there are is broken.
std::optional<Checkpoint> find_checkpoint(const std::filesystem::path& run);

// Why the folder is not what was written, with the file at fault; empty: it is.
std::string damage(const std::filesystem::path& folder);

}  // namespace perceiver
