// Labelled clips and sounds: a part of each, drawn, to train on, or its views to be measured on
// (paper, App. C).
#pragma once

#include "perceiver/data/dataset.h"
#include "perceiver/data/labelled_files.h"
#include "perceiver/tasks/audioset/augment.h"

namespace perceiver {

struct AudioSetDataConfig {
  LabelledFilesConfig files = {};
  SoundAugmentConfig augment = {};
};

// All in one table: [data].
template <typename Visitor>
void fields(Visitor& visit, AudioSetDataConfig& c) {
  fields(visit, c.files);
  fields(visit, c.augment);
}

// Rows of clips and sounds, AudioSet's ids of classes ("/m/09x0r") by their names. An unknown id is
// the row's error.
std::vector<LabelledRow> sound_rows(const LabelledFilesConfig& config, DataPart part);

// Names of the classes by number: the model's where it has some; AudioSet's 527 where it has as
// many and all labels are among them; else those of the rows. Fails where these are not as many as
// the model's.
std::vector<std::string> sound_classes(const std::vector<LabelledRow>& rows,
                                       const AudioSetConfig& model,
                                       const std::vector<std::string>& model_names);

// Examples: sounds [V, elements, values] of sound_of(), video uint8 [V, T, 3, H, W] where the
// model sees it, labels [classes] of 0 and 1. V is 1 to train on. Batches: those of all examples
// one after another, and views [B], how many are whose.
class SoundDataset : public Dataset {
 public:
  // Without `augment`, as evaluated.
  SoundDataset(std::vector<LabelledRow> rows, const std::vector<std::string>& classes,
               const AudioSetConfig& model, std::optional<SoundAugmentConfig> augment);

  int64_t size() const override { return std::ssize(rows_); }
  Example get(int64_t index, Rng& rng) const override;
  Example batch(const std::vector<Example>& examples, Rng& rng) const override;

 private:
  Tensor labels_of(const LabelledRow& row) const;  // [classes]

  std::vector<LabelledRow> rows_;
  ClassNumbers classes_;
  AudioSetConfig model_;
  std::optional<SoundAugmentConfig> augment_;
};

}  // namespace perceiver
