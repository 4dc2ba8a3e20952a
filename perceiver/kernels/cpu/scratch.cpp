#include "perceiver/kernels/cpu/scratch.h"

#include <memory>
#include <new>
#include <vector>

namespace perceiver {
namespace {

constexpr std::align_val_t kCacheLine{64};

struct Free {
  void operator()(void* p) const { ::operator delete(p, kCacheLine); }
};

// The n-th piece taken is the n-th block, made larger when it is too small.
struct Block {
  std::unique_ptr<void, Free> memory;
  int64_t bytes = 0;
};
thread_local std::vector<Block> blocks;
thread_local int64_t taken = 0;

}  // namespace

ScratchFrame::ScratchFrame() : mark_(taken) {}

ScratchFrame::~ScratchFrame() { taken = mark_; }

void* ScratchFrame::take_bytes(int64_t bytes) {
  if (taken == static_cast<int64_t>(blocks.size())) blocks.emplace_back();
  Block& block = blocks[taken++];
  const bool is_new = !block.memory;  // a piece of nothing has an address, too
  if (is_new || block.bytes < bytes) {
    block.memory.reset();  // first, so that both are never held
    block.memory.reset(::operator new(bytes, kCacheLine));
    block.bytes = bytes;
  }
  return block.memory.get();
}

}  // namespace perceiver
