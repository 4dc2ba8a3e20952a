// The textures of generated pairs: a user's pictures and cut-outs, and our own.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <vector>

#include "perceiver/core/rng.h"
#include "perceiver/tasks/optical_flow/texture.h"

namespace perceiver {

using SharedTexture = std::shared_ptr<const Texture>;

// Textures by number, each made when it is first asked for and kept as long as there is room. May
// be asked by several threads at once.
class TexturePool {
 public:
  // Pictures of a folder; an empty name: none. Cut-outs have an opacity and end at their edges.
  static TexturePool pictures(const std::string& folder);
  static TexturePool cutouts(const std::string& folder);
  // Our own: texture i is always the same.
  static TexturePool procedural(int64_t count);

  int64_t size() const { return size_; }
  SharedTexture at(int64_t index) const;
  SharedTexture any(Rng& rng) const { return at(rng.integer(size_)); }

 private:
  enum class Kind { kPictures, kCutouts, kProcedural };
  struct Slot {
    std::mutex mutex;
    SharedTexture texture;
  };

  TexturePool(Kind kind, int64_t size, std::vector<std::filesystem::path> paths = {});
  Texture make(int64_t index) const;

  Kind kind_;
  int64_t size_;
  std::vector<std::filesystem::path> paths_;
  std::unique_ptr<Slot[]> slots_;
  std::unique_ptr<std::atomic<int64_t>> room_;  // in bytes
};

}  // namespace perceiver
