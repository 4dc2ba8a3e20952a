#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "perceiver/ranks/backends.h"

namespace perceiver {

c10::intrusive_ptr<c10d::Backend> gloo_backend(const BackendPlace& place, const std::string& host) {
  using Gloo = c10d::ProcessGroupGloo;
  auto options = Gloo::Options::create(place.patience);
  options->devices.push_back(host.empty() ? Gloo::createDefaultDevice()
                                          : Gloo::createDeviceForHostname(host));
  return c10::make_intrusive<Gloo>(place.store, static_cast<int>(place.rank),
                                   static_cast<int>(place.size), options);
}

}  // namespace perceiver
