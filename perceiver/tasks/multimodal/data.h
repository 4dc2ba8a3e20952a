// Clips with classes to train on, or to be measured on (paper, Sec. 4.3 and App. I): some frames
// and their sound of each, and which of its outputs are asked for.
#pragma once

#include <mutex>

#include "perceiver/data/dataset.h"
#include "perceiver/data/labelled_files.h"
#include "perceiver/tasks/multimodal/clip.h"
#include "perceiver/tasks/split.h"

namespace perceiver {

struct ClipDataConfig {
  LabelledFilesConfig files = {};
  double hidden_labels = 0.5;
  double cache_gib = 4.0;
};

// All in one table: [data].
template <typename Visitor>
void fields(Visitor& visit, ClipDataConfig& c) {
  fields(visit, c.files);
  visit({"hidden_labels", "Share of the training examples whose class is hidden from the model"},
        c.hidden_labels, between(0.0, 1.0));
  visit({"cache_gib",
         "GiB of memory for clips as the model takes them; 0: each is decoded whenever it is read"},
        c.cache_gib, at_least(0.0));
}

struct ClassifiedClip {
  LabelledRow row;
  int64_t label = 0;  // where the row has no error
};

// Rows with the numbers of their classes among `names`. One that has several is the row's error.
std::vector<ClassifiedClip> classified_clips(std::vector<LabelledRow> rows,
                                             const std::vector<std::string>& names);

// Frames of clips with their sound, kept once they are decoded for as long as there is room.
class ClipCache {
 public:
  ClipCache(MultimodalConfig model, double gib, size_t num_clips);

  // As many frames as the model takes of the part of a clip that its row names. `place` in [0, 1)
  // says which: 0 the first, 0.5 those in the middle. Which ones does not depend on what is kept.
  // By several threads at once.
  Chunk get(size_t index, const LabelledRow& row, double place) const;

 private:
  struct Kept {
    int64_t claimed = 0;  // frames, as the container says
    Tensor frames = {};   // uint8 [F, 3, H, W]
    Tensor samples = {};  // float [F * samples of a frame]
  };
  std::optional<Kept> keep(size_t index, const File& file, FrameRange range) const;
  Chunk cut(const Kept& clip, double place) const;
  Chunk decode(const File& file, FrameRange range, double place) const;

  MultimodalConfig model_;
  mutable std::mutex mutex_;
  mutable std::vector<Kept> kept_;
  mutable double room_;  // bytes
};

// Some of `count` things, each at most once and in order: int64 [some].
Tensor drawn_points(int64_t count, int64_t some, Rng& rng);

// Examples: image uint8 [T, 3, H, W], audio [S], label []. In training from any place of the clip,
// and drawn for each example: image_points [P] with image_targets uint8 [P, 3], audio_points [Q]
// with audio_targets [Q, samples of a patch], hidden bool [1], and where the model hears a
// spectrogram its elements, heard [elements, values]; else from the middle, with num_frames [] that
// are the clip's own.
class ClipDataset : public Dataset {
 public:
  ClipDataset(std::vector<ClassifiedClip> clips, const MultimodalConfig& model,
              const ClipDataConfig& data, Split split);

  int64_t size() const override { return static_cast<int64_t>(clips_.size()); }
  Example get(int64_t index, Rng& rng) const override;

 private:
  void draw(Example& example, Rng& rng) const;

  std::vector<ClassifiedClip> clips_;
  MultimodalConfig model_;
  double hidden_labels_;
  Split split_;
  ClipCache cache_;
};

}  // namespace perceiver
