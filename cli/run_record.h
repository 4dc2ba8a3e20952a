// What the folder of a training says of how it was begun.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "perceiver/core/tensor.h"
#include "perceiver/tasks/train_config.h"

namespace perceiver {

std::vector<std::string> own_words();  // this process's command line
std::string own_command();

// run.json: command, time, versions, seed, device, threads and ranks.
std::string run_record(const TrainConfig& config, at::Device device, int64_t threads,
                       int64_t ranks = 1);

// Where a training goes when -o does not say it: runs/, the config's name and the time.
std::filesystem::path default_run_folder(const std::string& config);

}  // namespace perceiver
