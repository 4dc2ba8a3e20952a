#include "perceiver/kernels/cuda/pack.h"
#include "perceiver/kernels/embedding/gather_neighbourhoods.h"

namespace perceiver {
namespace {

constexpr int kThreads = 128, kColours = 3, kTogether = 8;

// A thread has a pixel: neighbours in a warp read neighbours in a picture.
template <int kPictures, int kSize>
__global__ void __launch_bounds__(kThreads)
    gather_kernel(Neighbourhoods n, unsigned rows, uint16_t* out) {
  constexpr int kValues = kPictures * kSize * kSize * kColours;
  constexpr int kPacks = (kValues + kTogether - 1) / kTogether;
  const unsigned row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= rows) return;
  const int height = static_cast<int>(n.height), width = static_cast<int>(n.width);
  const unsigned plane = height * width, pixel = row % plane;
  const int y = static_cast<int>(pixel / width), x = static_cast<int>(pixel % width);
  const uint16_t* example = n.pictures + int64_t{row / plane} * kPictures * kColours * plane;
  Pack<uint16_t, kTogether> packs[kPacks] = {};
#pragma unroll
  for (int i = 0; i < kValues; ++i) {
    const int colour = i % kColours, column = i / kColours % kSize;
    const int line = i / (kColours * kSize) % kSize, picture = i / (kColours * kSize * kSize);
    const int from_y = y + line - kSize / 2, from_x = x + column - kSize / 2;
    const bool inside = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
    const int64_t from = int64_t{picture * kColours + colour} * plane + from_y * width + from_x;
    if (inside) packs[i / kTogether].at[i % kTogether] = example[from];
  }
  auto* to = reinterpret_cast<Pack<uint16_t, kTogether>*>(out) + int64_t{row} * kPacks;
#pragma unroll
  for (int i = 0; i < kPacks; ++i) to[i] = packs[i];
}

template <int kPictures, int kSize>
cudaError_t launch(const Neighbourhoods& n, uint16_t* out, cudaStream_t stream) {
  const auto rows = static_cast<unsigned>(n.batch * n.height * n.width);
  gather_kernel<kPictures, kSize>
      <<<(rows + kThreads - 1) / kThreads, kThreads, 0, stream>>>(n, rows, out);
  return cudaGetLastError();
}

}  // namespace

cudaError_t gather_neighbourhoods(const Neighbourhoods& n, uint16_t* out, cudaStream_t stream) {
  constexpr int64_t kMost = int64_t{1} << 31;  // rows and pixels are counted in 32 bits
  const int64_t pixels = n.height * n.width;
  if (n.batch * pixels >= kMost || !is_aligned(out, 16)) return cudaErrorInvalidValue;
  if (n.batch * pixels == 0) return cudaSuccess;
  if (n.size == 3 && n.num_pictures == 2) return launch<2, 3>(n, out, stream);
  if (n.size == 3 && n.num_pictures == 1) return launch<1, 3>(n, out, stream);
  if (n.size == 1 && n.num_pictures == 2) return launch<2, 1>(n, out, stream);
  if (n.size == 1 && n.num_pictures == 1) return launch<1, 1>(n, out, stream);
  return cudaErrorInvalidValue;
}

}  // namespace perceiver
