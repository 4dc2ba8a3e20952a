// Passes that a GPU is told once and repeats: after a few calls with tensors of the same sizes, the
// kernels of a pass are recorded as a CUDA graph and replayed from then on, without the time to
// launch them one by one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "perceiver/core/tensor.h"

namespace perceiver {

struct RecordingOptions {
  int calls_before = 2;  // they choose kernels and take memory, which a graph may not
  // A pass whose memory counts, as one with gradients: its recordings share theirs, and begin
  // without what the allocator holds in reserve. Others are called once more before they are
  // recorded, on the recording's stream, for which libraries keep memory of their own.
  bool is_large = false;
};

// For one thread at a time, until it has done with what a replay gave.
class GraphRecorder {
 public:
  using Tensors = std::vector<Tensor>;
  using Pass = std::function<Tensors(const Tensors& inputs)>;

  explicit GraphRecorder(const RecordingOptions& options = {});
  ~GraphRecorder();

  // What pass(inputs) gives, by a replay, in memory that the next replay writes to; or nothing,
  // where the caller has to call: on a CPU, the first few times, and where recording fails. The
  // pass depends on its inputs, which may be undefined, on `constants`, and on the values of
  // tensors that stay where they are. A constant that moves or changes ends all recordings.
  std::optional<Tensors> replay(const Tensors& inputs, const Tensors& constants, const Pass& pass);

 private:
  class Recordings;
  std::unique_ptr<Recordings> recordings_;
};

}  // namespace perceiver
