// A LibTorch without NCCL: tensors of a GPU are added up through the CPU.
#include "perceiver/ranks/backends.h"

namespace perceiver {

c10::intrusive_ptr<c10d::Backend> nccl_backend(const BackendPlace&) { return {}; }

}  // namespace perceiver
