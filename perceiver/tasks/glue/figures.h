// What the paper reports of GLUE (App. F.4): Matthews' correlation for CoLA, Pearson's for STS-B,
// accuracy for the others, and the average over the tasks.
#pragma once

#include <map>

#include "perceiver/tasks/evaluator.h"

namespace perceiver {

// predictions [B]: a class's number or a value. targets [B, 3]: the task's number in `tasks`, the
// right answer, and 1 for MNLI's mismatched examples. -> by name: "cola.matthews", "stsb.pearson"
// and ".spearman", "mrpc.accuracy" and ".f1", "mnli.accuracy" (the mean of ".matched" and
// ".mismatched" where there are both), …, "average". Of predictions that are all the same a
// correlation is 0. The average is NaN where a task has no examples.
std::map<std::string, double> glue_figures(const Predictions& all,
                                           const std::vector<std::string>& tasks);

}  // namespace perceiver
