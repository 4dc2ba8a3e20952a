// What the folder of a training says of how it was begun.
#pragma once

#include <filesystem>
#include <string>

#include "perceiver/core/tensor.h"
#include "perceiver/tasks/train_config.h"

namespace perceiver {

std::string own_command();  // this process's command line

// run.json: command, time, versions, seed, device and threads.
std::string run_record(const TrainConfig& config, at::Device device, int64_t threads);

// Where a training goes when -o does not say it: runs/, the config's name and the time.
std::filesystem::path default_run_folder(const std::string& config);

}  // namespace perceiver
