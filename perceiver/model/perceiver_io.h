// Perceiver IO: encode, process, decode (paper, Sec. 3.1). It knows arrays, not modalities.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "perceiver/model/config.h"
#include "perceiver/model/summary.h"

namespace perceiver {

// Encode and process. Latents are a value: keep them, save them, decode them again.
class EncoderImpl : public torch::nn::Module {
 public:
  EncoderImpl(int64_t input_channels, const EncoderConfig& config, const Semantics& semantics = {});

  // inputs [B, M, C], input_mask [B, M] (true: there is an element) -> latents [B, N, D]
  Tensor encode(const Array& inputs, const Tensor& input_mask = {});

  // latents [B, N, D] -> [B, N, D]. Where the encoder looks at the inputs again before later
  // blocks (num_cross_attends > 1), they must be given.
  Tensor process(const Tensor& latents, const Array& inputs = {}, const Tensor& input_mask = {});

  Tensor forward(const Array& inputs, const Tensor& input_mask = {}) {
    return process(encode(inputs, input_mask), inputs, input_mask);
  }

  ArraySize latent_size() const { return {latents_.size(0), latents_.size(1)}; }
  std::vector<Part> parts(int64_t num_inputs) const;

 private:
  int64_t num_blocks_, num_cross_attends_;
  Tensor latents_;  // [N, D]
  CrossAttend cross_attend_{nullptr};
  CrossAttend cross_attend_again_{nullptr};  // the second look and all later ones share weights
  std::vector<SelfAttend> self_attends_;
};
TORCH_MODULE(Encoder);

struct DecoderChannels {
  int64_t queries, latents;
  std::optional<int64_t> outputs = {};  // E; without: the attend's own, as many as the queries'
};

class DecoderImpl : public torch::nn::Module {
 public:
  DecoderImpl(const DecoderChannels& channels, const DecoderConfig& config,
              const Semantics& semantics = {}, LinearInit output_init = LinearInit::kPlain);

  // latents [B, N, D], queries [B, O, Q], query_mask [B, O] -> outputs [B, O, E]. Outputs depend
  // on their own query only, so any slice of the queries gives the same slice of the outputs. A
  // decoder without an output layer of its own may be given one, tied to something else.
  Tensor forward(const Tensor& latents, const Array& queries, const Tensor& query_mask = {},
                 const LinearMap& tied = {});

  AttendParts parts_with_output() const;

  std::vector<Part> parts(int64_t num_queries, int64_t num_latents) const;

 private:
  CrossAttend cross_attend_{nullptr};
  Linear output_{nullptr};
  OutputForms forms_;
};
TORCH_MODULE(Decoder);

struct PerceiverIoChannels {
  int64_t inputs, queries;  // C, Q
  std::optional<int64_t> outputs = {};
};

class PerceiverIoImpl : public torch::nn::Module {
 public:
  PerceiverIoImpl(const PerceiverIoChannels& channels, const EncoderConfig& encoder,
                  const DecoderConfig& decoder, const Semantics& semantics = {},
                  LinearInit output_init = LinearInit::kPlain);

  Tensor encode(const Array& inputs, const Tensor& input_mask = {}) {
    return encoder_->encode(inputs, input_mask);
  }
  Tensor process(const Tensor& latents, const Array& inputs = {}, const Tensor& input_mask = {}) {
    return encoder_->process(latents, inputs, input_mask);
  }
  Tensor decode(const Tensor& latents, const Array& queries, const Tensor& query_mask = {}) {
    return decoder_(latents, queries, query_mask);
  }

  // inputs [B, M, C], queries [B, O, Q], masks [B, M] and [B, O] -> outputs [B, O, E]
  Tensor forward(const Array& inputs, const Array& queries, const Tensor& input_mask = {},
                 const Tensor& query_mask = {}) {
    return decode(encoder_(inputs, input_mask), queries, query_mask);
  }

  const Decoder& decoder() const { return decoder_; }
  ArraySize latent_size() const { return encoder_->latent_size(); }
  std::vector<Part> parts(int64_t num_inputs, int64_t num_queries) const;

 private:
  Encoder encoder_{nullptr};
  Decoder decoder_{nullptr};
};
TORCH_MODULE(PerceiverIo);

// Puts together what `outputs` gives for queries [begin, end), [B, end - begin, E] each, at most
// `slice` of them at a time: as decoding all `count` at once, in less memory (paper, Sec. 3.2).
Tensor decode_in_slices(int64_t count, int64_t slice,
                        const std::function<Tensor(int64_t begin, int64_t end)>& outputs);

// The same for slices of one array of queries, [B, O, Q].
Tensor decode_in_slices(PerceiverIo& model, const Tensor& latents, const Array& queries,
                        int64_t slice);

}  // namespace perceiver
