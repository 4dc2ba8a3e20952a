// Batch norm over a batch that comes in parts, one after the other or on several processes: the
// statistics, and the gradients that go through them, are those of the whole.
#pragma once

#include <exception>
#include <utility>

#include "perceiver/nn/layers.h"

namespace perceiver {

// Why a pass that was made for a batch norm alone has ended: it has got there.
struct BatchNormReached : std::exception {};

// What a BatchNorm asks in training, where it has one. All parts go through the model once for each
// of three phases; what is added up is then summed over processes by whoever leads through them.
class BatchPartsImpl : public torch::nn::Module {
 public:
  enum class Phase {
    kCount,      // adds up the statistics of a part; the pass ends there
    kNormalise,  // takes those of the whole
    kSendBack,   // sends the gradients of mean and variance to the part; the pass ends there
  };

  explicit BatchPartsImpl(const BatchNormImpl& norm);

  void begin_count();
  const Tensor& sums() const { return sums_; }  // float64 [1 + 2 channels], of the parts counted
  void end_count(BatchNormImpl& norm);          // the statistics are now those of all sums

  // [channels] each, where they are for good: what comes after takes gradients for them.
  const Tensor& mean() const { return mean_; }
  const Tensor& variance() const { return variance_; }

  // Of what the whole batch's loss says of them.
  void begin_send_back(const Tensor& mean_gradient, const Tensor& variance_gradient);
  void end_send_back() { phase_ = Phase::kNormalise; }

  // x [B, channels, H, W] of a part -> mean and variance of the whole; throws BatchNormReached in
  // phases that end there.
  std::pair<Tensor, Tensor> statistics(const Tensor& x);

 private:
  Phase phase_ = Phase::kNormalise;
  Tensor sums_, mean_, variance_, mean_gradient_, variance_gradient_;
};
TORCH_MODULE(BatchParts);

// Null where the norm's batches are whole.
BatchPartsImpl* parts_of(const BatchNormImpl& norm);

void set_parts(BatchNormImpl& norm, const BatchParts& parts);
void unset_parts(BatchNormImpl& norm);

// Counts a batch of these statistics into the running averages.
void update_running(BatchNormImpl& norm, const Tensor& mean, const Tensor& variance);

}  // namespace perceiver
