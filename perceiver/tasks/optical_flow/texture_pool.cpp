#include "perceiver/tasks/optical_flow/texture_pool.h"

#include <ATen/ATen.h>

#include "perceiver/core/error.h"
#include "perceiver/media/image.h"
#include "perceiver/media/resize.h"
#include "perceiver/tasks/optical_flow/procedural.h"

namespace perceiver {
namespace {

constexpr int64_t kRoom = 1LL << 30;
constexpr int64_t kProceduralSize = 512, kLargestSide = 1024;  // pixels
constexpr uint64_t kProceduralSeed = 0x7E875E;

// More than a frame ever shows of a picture is not kept.
Tensor reduced(const Tensor& pixels) {
  const int64_t height = pixels.size(1), width = pixels.size(2), side = std::max(height, width);
  if (side <= kLargestSide) return pixels;
  return resize_bilinear_pillow(pixels, {std::max<int64_t>(height * kLargestSide / side, 1),
                                         std::max<int64_t>(width * kLargestSide / side, 1)});
}

// The part of a cut-out that can be seen.
Tensor trimmed(const Tensor& pixels, const std::filesystem::path& path) {
  const Tensor seen = pixels[3].gt(127);
  const Tensor rows = seen.any(1).nonzero(), columns = seen.any(0).nonzero();
  if (rows.numel() == 0) fail("{}: nothing of this cut-out can be seen", path.string());
  const int64_t top = rows[0].item<int64_t>(), left = columns[0].item<int64_t>();
  const int64_t bottom = rows[-1].item<int64_t>(), right = columns[-1].item<int64_t>();
  return pixels.narrow(1, top, bottom - top + 1).narrow(2, left, right - left + 1);
}

}  // namespace

TexturePool::TexturePool(Kind kind, int64_t size, std::vector<std::filesystem::path> paths)
    : kind_(kind),
      size_(size),
      paths_(std::move(paths)),
      slots_(std::make_unique<Slot[]>(size)),
      room_(std::make_unique<std::atomic<int64_t>>(kRoom)) {}

TexturePool TexturePool::pictures(const std::string& folder) {
  if (folder.empty()) return {Kind::kPictures, 0};
  std::vector<std::filesystem::path> paths = images_in(folder);
  const auto size = static_cast<int64_t>(paths.size());
  return {Kind::kPictures, size, std::move(paths)};
}

TexturePool TexturePool::cutouts(const std::string& folder) {
  TexturePool pool = pictures(folder);
  pool.kind_ = Kind::kCutouts;
  return pool;
}

TexturePool TexturePool::procedural(int64_t count) { return {Kind::kProcedural, count}; }

Texture TexturePool::make(int64_t index) const {
  if (kind_ == Kind::kProcedural) {
    Rng rng(kProceduralSeed, 0, index);
    return {procedural_texture(kProceduralSize, rng), TextureLevel::Beyond::kMirrored};
  }
  const File file = read_file(paths_[index]);
  if (kind_ == Kind::kCutouts) {
    return {reduced(trimmed(decode_image_with_alpha(file), paths_[index])),
            TextureLevel::Beyond::kEmpty};
  }
  const Tensor pixels = reduced(decode_image(file));
  return {at::cat({pixels, at::full_like(pixels.narrow(0, 0, 1), 255)}),
          TextureLevel::Beyond::kMirrored};
}

SharedTexture TexturePool::at(int64_t index) const {
  Slot& slot = slots_[index];
  const std::lock_guard lock(slot.mutex);
  if (slot.texture) return slot.texture;
  auto texture = std::make_shared<const Texture>(make(index));
  const int64_t bytes = texture->height() * texture->width() * 4 * 4 / 3;
  if (room_->fetch_sub(bytes) >= bytes) {
    slot.texture = texture;
  } else {
    room_->fetch_add(bytes);
  }
  return texture;
}

}  // namespace perceiver
