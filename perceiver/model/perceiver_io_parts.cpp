// What the modules of perceiver_io.h are made of, and what they cost.
#include "perceiver/model/perceiver_io.h"

namespace perceiver {

std::vector<Part> EncoderImpl::parts(int64_t num_inputs) const {
  const int64_t n = latents_.size(0);
  std::vector<Part> parts = {{.name = "latents", .parameters = latents_.numel()},
                             {.name = "cross_attend",
                              .parameters = num_parameters(*cross_attend_),
                              .flops = cross_attend_->flops(n, num_inputs),
                              .attention = cross_attend_->attention_case(n, num_inputs),
                              .shape = shape_of(cross_attend_->parts())}};
  if (num_cross_attends_ > 1) {
    const int64_t times = num_cross_attends_ - 1;
    parts.push_back({.name = "cross_attend_again",
                     .parameters = num_parameters(*cross_attend_again_),
                     .flops = times * cross_attend_again_->flops(n, num_inputs),
                     .times = times,
                     .attention = cross_attend_again_->attention_case(n, num_inputs),
                     .shape = shape_of(cross_attend_again_->parts())});
  }
  for (size_t i = 0; i < self_attends_.size(); ++i) {
    parts.push_back({.name = "self_attend_" + std::to_string(i),
                     .parameters = num_parameters(*self_attends_[i]),
                     .flops = num_blocks_ * self_attends_[i]->flops(n),
                     .times = num_blocks_,
                     .attention = self_attends_[i]->attention_case(n),
                     .shape = shape_of(self_attends_[i]->parts())});
  }
  return parts;
}

AttendParts DecoderImpl::parts_with_output() const {
  AttendParts parts = cross_attend_->parts();
  if (!output_.is_empty()) parts.output = {output_->weight, output_->bias};
  return parts;
}

std::vector<Part> DecoderImpl::parts(int64_t num_queries, int64_t num_latents) const {
  std::vector<Part> parts = {{.name = "cross_attend",
                              .parameters = num_parameters(*cross_attend_),
                              .flops = cross_attend_->flops(num_queries, num_latents),
                              .attention = cross_attend_->attention_case(num_queries, num_latents),
                              .shape = shape_of(parts_with_output())}};
  if (!output_.is_empty()) {
    parts.push_back({.name = "output",
                     .parameters = num_parameters(*output_),
                     .flops = output_->flops(num_queries)});
  }
  return parts;
}

std::vector<Part> PerceiverIoImpl::parts(int64_t num_inputs, int64_t num_queries) const {
  ModelSummary all;
  all.add("encoder.", encoder_->parts(num_inputs));
  all.add("decoder.", decoder_->parts(num_queries, latent_size().index));
  return all.parts;
}

}  // namespace perceiver
