// Perceiver IO over arrays of one's own (paper, Sec. 3): each input's elements in one array, each
// query's outputs through a head of its own.
#pragma once

#include "perceiver/data/dataset.h"
#include "perceiver/model/multimodal.h"
#include "perceiver/model/perceiver_io.h"
#include "perceiver/model/query.h"
#include "perceiver/nn/position.h"
#include "perceiver/tasks/arrays/layout.h"

namespace perceiver {

// Elements of what a batch has of them (examples.h): fields side by side.
class FieldArrayImpl : public torch::nn::Module {
 public:
  FieldArrayImpl(const ElementsLayout& layout, const std::vector<ArrayField>& parts);

  // Tensors of `batch` whose names begin with `prefix` -> [B, M, C], or of a sample [B, S, C], with
  // the B and the device of `like` [B, ...].
  Tensor forward(const Example& batch, const std::string& prefix, const Tensor& like);

 private:
  Tensor field(size_t i, const Example& batch, const std::string& prefix, const Tensor& like);
  Tensor positions(size_t i, const Example& batch, const std::string& prefix, const Tensor& like);

  const ElementsLayout layout_;
  const std::vector<ArrayField> parts_;
  std::map<size_t, Embedding> vectors_;
  std::map<size_t, std::unique_ptr<GridFeatures>> grids_;
};
TORCH_MODULE(FieldArray);

// Each column of a table as an element: a number times a learned vector, or a category's vector,
// and the column's own.
class ColumnArrayImpl : public torch::nn::Module {
 public:
  ColumnArrayImpl(const ElementsLayout& layout, const std::vector<ArrayField>& parts);

  Tensor forward(const Example& batch, const std::string& prefix);  // -> [B, columns, C]

 private:
  const ElementsLayout layout_;
  const std::vector<ArrayField> parts_;
  std::map<size_t, Embedding> vectors_;
  Tensor numbers_, columns_;  // [columns, C] each
};
TORCH_MODULE(ColumnArray);

class ArraysModelImpl : public torch::nn::Module {
 public:
  explicit ArraysModelImpl(const ArraysConfig& config);

  Tensor encode(const Example& batch);  // -> latents [B, N, D]

  // latents [B, N, D] -> by the name of the query what its head puts out, [B, O, E]; of these
  // queries alone, where some are named.
  Modalities decode(const Tensor& latents, const Example& batch,
                    const std::vector<std::string>& names = {});
  Modalities forward(const Example& batch) { return decode(encode(batch), batch); }

  ModelSummary summary(bool trains = false) const;
  const ArraysLayout& layout() const { return layout_; }

 private:
  Modalities input_arrays(const Example& batch);                      // before padding
  Tensor input_mask(const Example& batch, const Modalities& arrays);  // undefined: all are there

  const ArraysConfig config_;
  const ArraysLayout layout_;
  std::map<std::string, FieldArray> inputs_, queries_;
  std::map<std::string, ColumnArray> columns_;
  std::map<std::string, LearnedQuery> learned_;
  ModalityPadding input_padding_{nullptr}, query_padding_{nullptr};  // where there are several
  PerceiverIo perceiver_{nullptr};
  std::map<std::string, Linear> heads_;
};
TORCH_MODULE(ArraysModel);

}  // namespace perceiver
