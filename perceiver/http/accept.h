// In which form a client wants its answer.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace perceiver {

// The one of `offered` that an Accept header likes best, by its weights ("image/png;q=0.9, */*");
// of equal ones the first. "" where it likes none. An empty header likes all.
std::string best_type(std::string_view accept, std::span<const std::string> offered);

}  // namespace perceiver
