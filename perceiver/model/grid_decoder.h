// Outputs on a grid, asked for by their positions, of a decoder that has other queries too: theirs
// are filled up with a learned vector, and a linear layer of their own makes values of what the
// decoder puts out (paper, Sec. 4.3: pixels and sounds of a video).
#pragma once

#include <memory>
#include <mutex>

#include "perceiver/model/perceiver_io.h"
#include "perceiver/model/query.h"

namespace perceiver {

class GridDecoder {
 public:
  // `filling` [Q - F], the parameter behind each of the grid's queries [F]
  GridDecoder(Decoder decoder, PositionQuery grid, Tensor filling, Linear head);

  // Whether there is a form that saves work now; else the modules are called.
  bool has_form() { return form().attend != nullptr; }

  // How that form attends; none where the decoder's own does.
  std::optional<InferenceAttend> inference() const;

  // latents [B, N, D], outputs by flat index [O] -> [B, O, E]
  Tensor at(const Tensor& latents, const Tensor& indices, Spacing spacing);

  // Outputs [begin, end) -> [B, end - begin, E]. What the whole grid's queries are made of are
  // parameters and positions alone: a GPU keeps them, a CPU what its lines and places add to them.
  Tensor range(const Tensor& latents, int64_t begin, int64_t end, Spacing spacing);

 private:
  // The decoder's inference form for these queries (nn/fold.h, narrowed()), if there is one now.
  struct Form {
    std::shared_ptr<PackedAttend> attend;  // null: there is none
    LinearMap queries;                     // [F] -> [F']
  };
  Form form();

  // Fourier features [F] of some outputs through that form, or through the modules.
  Tensor decode(const Tensor& latents, const Tensor& features);
  Tensor decode_plain(const Tensor& latents, const Tensor& features);

  // The whole grid's queries, normalised and padded as the form takes them.
  Tensor known_rows(const Form& form, const at::TensorOptions& options, Spacing spacing);
  // The same as sums of what lines and places along them are.
  GridPlaces known_places(const Form& form, Spacing spacing);

  Decoder decoder_;
  PositionQuery grid_;
  Tensor filling_;
  Linear head_;

  std::mutex mutex_;  // of what follows
  PackedCache packed_;
  LinearMap queries_;
  Tensor rows_;                              // [1, all outputs, P], on a GPU
  GridPlaces places_;                        // on a CPU
  std::shared_ptr<PackedAttend> rows_form_;  // that either was made for
  Spacing rows_spacing_ = Spacing::kInclusive;
};

}  // namespace perceiver
