// The domains that `perceiver demo` shows.
#pragma once

#include <span>

#include "cli/demo.h"

namespace perceiver {

struct DemoDomain {
  const char *name, *model;
  DemoPart (*show)(Model& model, const std::filesystem::path& folder);
  const char* about;  // for the page
  const char* next;   // a command to try; {} is the folder of samples
};

std::span<const DemoDomain> demo_domains();

}  // namespace perceiver
