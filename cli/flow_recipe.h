// What a folder of pairs of frames was made with, so that a second run goes on with the same.
#pragma once

#include <filesystem>
#include <string>

#include "perceiver/tasks/optical_flow/generator_config.h"

namespace perceiver {

struct FlowRecipe {
  int64_t width, height, seed;
  GeneratorConfig generator;
};

// `size`: "496x368"
FlowRecipe flow_recipe(const std::string& size, int64_t seed, const GeneratorConfig& generator);

// Leaves the recipe in the folder. Fails where another one is there.
void check_recipe(const std::filesystem::path& folder, const FlowRecipe& recipe);

}  // namespace perceiver
