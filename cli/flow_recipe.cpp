#include "cli/flow_recipe.h"

#include <algorithm>
#include <cstdio>

#include "perceiver/core/config.h"
#include "perceiver/core/error.h"
#include "perceiver/core/file.h"

namespace perceiver {

namespace fs = std::filesystem;

template <typename Visitor>
void fields(Visitor& visit, FlowRecipe& c) {
  visit("width", c.width);
  visit("height", c.height);
  visit("seed", c.seed);
  visit("generator", c.generator);
}

FlowRecipe flow_recipe(const std::string& size, int64_t seed, const GeneratorConfig& generator) {
  FlowRecipe recipe{0, 0, seed, generator};
  int end = 0;
  if (std::sscanf(size.c_str(), "%ldx%ld%n", &recipe.width, &recipe.height, &end) != 2 ||
      end != static_cast<int>(size.size()) || std::min(recipe.width, recipe.height) < 16 ||
      std::max(recipe.width, recipe.height) > 8192) {
    fail("--size is WIDTHxHEIGHT, each from 16 to 8192, got '{}'", size);
  }
  return recipe;
}

void check_recipe(const fs::path& folder, const FlowRecipe& recipe) {
  const fs::path path = folder / "generator.toml";
  const std::string text = to_toml(recipe);
  if (!fs::exists(path)) {
    write_file(path, text);
  } else if (read_file(path).bytes != text) {
    fail("{}: pairs made with other options are in this folder; take the same or another folder",
         path.string());
  }
}

}  // namespace perceiver
