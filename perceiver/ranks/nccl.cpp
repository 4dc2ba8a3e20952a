#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "perceiver/ranks/backends.h"

namespace perceiver {

c10::intrusive_ptr<c10d::Backend> nccl_backend(const BackendPlace& place) {
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = place.patience;
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(place.store, static_cast<int>(place.rank),
                                                     static_cast<int>(place.size), options);
}

}  // namespace perceiver
