#include "perceiver/tasks/audioset/data.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "perceiver/core/error.h"
#include "perceiver/core/file.h"
#include "perceiver/media/sound.h"
#include "perceiver/media/video.h"
#include "perceiver/tasks/audioset/views.h"

namespace perceiver {
namespace {

constexpr int64_t kAudioSetClasses = 527;

std::vector<std::string> shipped_lines(const char* name) {
  std::istringstream text(read_file(shipped(name)).bytes);
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

const std::vector<std::string>& audioset_names() {
  static const std::vector<std::string> names = shipped_lines("labels/audioset-527.txt");
  return names;
}

bool is_mid(const std::string& label) {
  return label.starts_with("/m/") || label.starts_with("/g/") || label.starts_with("/t/");
}

void name_mids(LabelledRow& row) {
  static const std::map<std::string, std::string> names = [] {
    const std::vector<std::string> mids = shipped_lines("labels/audioset-527-mids.txt");
    std::map<std::string, std::string> by_mid;
    for (size_t i = 0; i < mids.size(); ++i) by_mid[mids[i]] = audioset_names().at(i);
    return by_mid;
  }();
  for (std::string& label : row.labels) {
    if (!is_mid(label)) continue;
    const auto found = names.find(label);
    if (found == names.end()) {
      if (row.error.empty()) {
        row.error = fmt::format("{}: '{}' is none of AudioSet's 527 classes", row.place, label);
      }
      return;
    }
    label = found->second;
  }
}

}  // namespace

std::vector<LabelledRow> sound_rows(const LabelledFilesConfig& config, DataPart part) {
  const auto is_wanted = [](const std::filesystem::path& path) {
    return has_sound_ending(path) || has_video_ending(path);
  };
  std::vector<LabelledRow> rows = labelled_rows(config, part, is_wanted);
  for (LabelledRow& row : rows) name_mids(row);
  return rows;
}

std::vector<std::string> sound_classes(const std::vector<LabelledRow>& rows,
                                       const AudioSetConfig& model,
                                       const std::vector<std::string>& model_names) {
  if (!model_names.empty()) return class_names(rows, model_names);
  const std::vector<std::string> found = class_names(rows);
  if (model.num_classes == kAudioSetClasses) {
    const std::set<std::string> known(audioset_names().begin(), audioset_names().end());
    if (std::ranges::all_of(found, [&](const auto& name) { return known.contains(name); })) {
      return audioset_names();
    }
  }
  if (std::ssize(found) != model.num_classes) {
    constexpr size_t kMostNamed = 10;
    const std::span some = std::span(found).first(std::min(found.size(), kMostNamed));
    fail("{}: has {} classes ({}{}), the model has {}; set model.num_classes={}",
         rows.front().path.parent_path().string(), found.size(), fmt::join(some, ", "),
         found.size() > kMostNamed ? ", …" : "", model.num_classes, found.size());
  }
  return found;
}

SoundDataset::SoundDataset(std::vector<LabelledRow> rows, const std::vector<std::string>& classes,
                           const AudioSetConfig& model, std::optional<SoundAugmentConfig> augment)
    : rows_(std::move(rows)), classes_(classes), model_(model), augment_(augment) {}

Tensor SoundDataset::labels_of(const LabelledRow& row) const {
  const std::vector<int64_t> numbers = classes_.of(row);
  if (!model_.several_labels && numbers.size() != 1) {
    fail("{}: {} labels, expected one, or model.several_labels=true", row.place, numbers.size());
  }
  const Tensor labels = at::zeros({model_.num_classes});
  for (const int64_t number : numbers) labels[number] = 1.0;
  return labels;
}

Example SoundDataset::get(int64_t index, Rng& rng) const {
  const LabelledRow& row = rows_[index];
  if (!row.error.empty()) fail("{}", row.error);
  const Tensor labels = labels_of(row);
  const auto any_start = [&](int64_t num_frames, int64_t view_frames) {
    return std::vector<int64_t>{rng.integer(std::max(num_frames - view_frames, int64_t{0}) + 1)};
  };
  const ClipViews views = read_views(read_file(row.path), model_, {row.start, row.end},
                                     augment_ ? ViewStarts(any_start) : ViewStarts(view_starts));
  Tensor samples = augment_ ? augmented(views.samples, *augment_, model_, rng) : views.samples;
  Tensor elements = sound_of(model_).of(samples).contiguous();
  if (augment_ && model_.audio == AudioInput::kMel) mask_elements(elements, *augment_, model_, rng);
  Example example = {{"sounds", elements}, {"labels", labels}};
  if (model_.video) example["video"] = views.video;
  return example;
}

Example SoundDataset::batch(const std::vector<Example>& examples, Rng& rng) const {
  std::vector<Tensor> labels;
  std::map<std::string, std::vector<Tensor>> arrays;
  std::vector<int64_t> views;
  for (const Example& example : examples) {
    views.push_back(example.at("sounds").size(0));
    for (const auto& [name, array] : example)
      (name == "labels" ? labels : arrays[name]).push_back(array);
  }
  Example batch = {{"labels", at::stack(labels)}, {"views", at::tensor(views, at::kLong)}};
  for (const auto& [name, parts] : arrays) batch[name] = at::cat(parts);
  if (augment_ && augment_->mixup > 0.0) mix_sounds(batch, augment_->mixup, rng);
  return batch;
}

}  // namespace perceiver
