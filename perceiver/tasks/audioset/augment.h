// How training sounds are changed. The paper names nothing: by default, nothing is.
#pragma once

#include "perceiver/core/config.h"
#include "perceiver/core/rng.h"
#include "perceiver/data/dataset.h"
#include "perceiver/tasks/audioset/model.h"

namespace perceiver {

struct SoundAugmentConfig {
  double gain_db = 0.0;
  double shift_seconds = 0.0;
  double speed = 0.0;
  double noise = 0.0;
  bool any_place = false;
  int64_t masks = 0;
  int64_t mask_windows = 10;
  int64_t mask_energies = 8;
  double mixup = 0.0;
};

template <typename Visitor>
void fields(Visitor& visit, SoundAugmentConfig& c) {
  visit({"gain_db", "Decibels by which training sounds are made louder or softer, at most"},
        c.gain_db, at_least(0.0));
  visit({"shift_seconds",
         "Seconds by which the sound of a training clip is moved, at most; silence where it was"},
        c.shift_seconds, at_least(0.0));
  visit({"speed",
         "Share by which training sounds are played faster or slower, at most; their pitch moves "
         "with it"},
        c.speed, between(0.0, 0.5));
  visit({"noise",
         "Loudness (root mean square, full scale 1) of white noise in training sounds, at most; "
         "drawn by decibels, down to a thousandth of it"},
        c.noise, between(0.0, 1.0));
  visit({"any_place",
         "Whether a training sound that ends before its clip begins anywhere in it, with silence "
         "before it, too"},
        c.any_place);
  visit({"masks", "audio mel: runs of windows, and as many of energies, that training silences"},
        c.masks, at_least(0));
  visit({"mask_windows", "Windows of such a run, at most"}, c.mask_windows, at_least(0));
  visit({"mask_energies", "Energies of such a run, at most"}, c.mask_energies, at_least(0));
  visit({"mixup",
         "Both parameters of MixUp's Beta distribution, by which two examples of a batch, as the "
         "model hears them, become one with a share of each one's labels; 0: no MixUp"},
        c.mixup, between(0.0, 1.0));
}

// A training sound, samples [1, S], as it is changed before it is heard.
Tensor augmented(Tensor samples, const SoundAugmentConfig& augment, const AudioSetConfig& model,
                 Rng& rng);

// SpecAugment's masks: elements [1, windows * energies, 1], silence where they lie.
void mask_elements(Tensor& elements, const SoundAugmentConfig& augment, const AudioSetConfig& model,
                   Rng& rng);

// MixUp (Zhang et al. 2018) of a batch with one view each: every example with one drawn from the
// batch, and their labels alike.
void mix_sounds(Example& batch, double parameter, Rng& rng);

}  // namespace perceiver
