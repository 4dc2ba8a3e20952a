// What to say when a name is not known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace perceiver {

// The known name nearest to `name`, or "" when none is near.
std::string nearest(std::string_view name, const std::vector<std::string>& known);

// "; did you mean 'num_latents'?", or "" when nothing is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known,
                         std::string_view prefix = "");

}  // namespace perceiver
