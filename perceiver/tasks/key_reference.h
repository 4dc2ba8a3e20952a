// What may stand in a config, for those who write one.
#pragma once

#include <string>

#include "perceiver/tasks/settings.h"

namespace perceiver {

// Every key as the command line takes it, "train.steps=1000", with its default where the settings
// say something else, what it may be, and what it means.
std::string key_table(const Settings& settings);

// The keys of every task with their defaults, as Markdown: docs/configs.md. Tables that several
// tasks have are there once.
std::string key_reference();

}  // namespace perceiver
