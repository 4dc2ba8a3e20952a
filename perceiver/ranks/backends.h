// The engines of c10d that reduce, each made in a file of its own: only there are their headers.
#pragma once

#include <chrono>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace perceiver {

struct BackendPlace {
  c10::intrusive_ptr<c10d::Store> store;
  int64_t rank, size;
  std::chrono::milliseconds patience;
};

// For tensors of the CPU, and through it of a GPU. `host`: the name or address under which the
// others reach this machine; empty: what the machine is called.
c10::intrusive_ptr<c10d::Backend> gloo_backend(const BackendPlace& place, const std::string& host);

// For tensors of the current GPU; null where LibTorch has no NCCL. Each rank has a GPU to itself.
c10::intrusive_ptr<c10d::Backend> nccl_backend(const BackendPlace& place);

}  // namespace perceiver
