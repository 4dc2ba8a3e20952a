// What the README shows: a model of one's own from the installed library.
#include <ATen/ATen.h>
#include <perceiver/core/error.h>
#include <perceiver/model/perceiver_io.h>

#include <iostream>

using namespace perceiver;

int main() {
  at::NoGradGuard no_grad;
  PerceiverIo model(PerceiverIoChannels{.inputs = 26, .queries = 10, .outputs = 5},
                    EncoderConfig{.num_latents = 8, .latent_channels = 32, .num_blocks = 2},
                    DecoderConfig{});
  const Tensor inputs = at::randn({1, 100, 26}), queries = at::randn({1, 7, 10});
  const Tensor latents = model->process(model->encode(inputs));
  const Tensor outputs = model->decode(latents, queries);
  check_shape(outputs, {1, 7, 5}, "outputs");
  try {
    check_shape(outputs, {kAny, 512, 1024}, "outputs");
  } catch (const Error& e) {
    std::cout << e.what() << "\n";
    return 0;
  }
  std::cerr << "check_shape took a wrong shape\n";
  return 1;
}
