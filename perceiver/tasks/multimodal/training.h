// How models of clips are trained and measured (paper, Sec. 4.3 and App. I).
#pragma once

#include "perceiver/tasks/experiment.h"
#include "perceiver/tasks/multimodal/data.h"
#include "perceiver/tasks/multimodal/model.h"
#include "perceiver/tasks/training.h"

namespace perceiver {

// App. I. The paper's other choice, for accuracy, has 1 for the label.
struct ClipLossConfig {
  double video = 0.03, audio = 1.0, label = 1e-4;
};

template <typename Visitor>
void fields(Visitor& visit, ClipLossConfig& c) {
  visit({"video", "Weight of the mean absolute error of colours, in [0, 1]"}, c.video,
        at_least(0.0));
  visit({"audio", "Weight of the mean absolute error of samples, in [-1, 1]"}, c.audio,
        at_least(0.0));
  visit({"label", "Weight of the cross-entropy of the class; the paper's other choice is 1"},
        c.label, at_least(0.0));
}

// Peaks are not in the paper.
struct ClipPsnrConfig {
  double video_peak = 1.0, audio_peak = 1.0;
};

template <typename Visitor>
void fields(Visitor& visit, ClipPsnrConfig& c) {
  visit({"video_peak", "Peak by which the PSNR of colours in [0, 1] counts"}, c.video_peak,
        between(1e-6, 1e6));
  visit({"audio_peak",
         "Peak by which the PSNR of samples in [-1, 1] counts; 2: from peak to peak, 6.02 dB more"},
        c.audio_peak, between(1e-6, 1e6));
}

struct ClipExperiment : Experiment<MultimodalConfig, ClipDataConfig> {
  ClipLossConfig loss;
  ClipPsnrConfig psnr;
};

template <typename Visitor>
void fields(Visitor& visit, ClipExperiment& c) {
  fields(visit, static_cast<Experiment<MultimodalConfig, ClipDataConfig>&>(c));
  visit({"loss", "Weights of what a clip's loss is the sum of"}, c.loss);
  visit({"psnr", "How reconstructions are measured"}, c.psnr);
}

std::unique_ptr<Training> clip_training(const ClipExperiment& experiment, Multimodal model);

}  // namespace perceiver
