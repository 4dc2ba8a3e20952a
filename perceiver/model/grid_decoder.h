// Outputs on a grid, asked for by their positions, of a decoder that has other queries too: theirs
// are filled up with a learned vector, and a linear layer of their own makes values of what the
// decoder puts out (paper, Sec. 4.3: pixels and sounds of a video).
#pragma once

#include <functional>
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

  // The shape of that form's attend; none where the decoder's own is.
  std::optional<AttendShape> shape() const;

  // latents [B, N, D], outputs by flat index [O] -> [B, O, E]
  Tensor at(const Tensor& latents, const Tensor& indices, Spacing spacing);

  // Outputs [begin, end) -> [B, end - begin, E]. The whole grid's queries consist of parameters and
  // positions alone: their description is kept, with what forms computed of it.
  Tensor range(const Tensor& latents, int64_t begin, int64_t end, Spacing spacing);

 private:
  // The decoder's inference form for these queries (nn/fold.h, narrowed()), if there is one now.
  struct Form {
    std::shared_ptr<PackedAttend> attend;  // null: there is none
    LinearMap queries;                     // [F] -> [F']
  };
  Form form();

  // queries(form) through that form, checked where attention is; features() [1 or B, O, F] through
  // the modules where there is no form.
  Tensor decode(const Tensor& latents, const std::function<Array(const Form&)>& queries,
                const std::function<Tensor()>& features);
  Tensor decode_plain(const Tensor& latents, const Tensor& features);

  // The whole grid's queries, of one example.
  Array all_queries(const Form& form, const at::TensorOptions& options, Spacing spacing);

  Decoder decoder_;
  PositionQuery grid_;
  Tensor filling_;
  Linear head_;

  std::mutex mutex_;  // of what follows
  PackedCache packed_;
  LinearMap queries_;
  Array all_queries_;
  std::shared_ptr<PackedAttend> all_queries_form_;  // that they were made for
  Spacing all_queries_spacing_ = Spacing::kInclusive;
};

}  // namespace perceiver
