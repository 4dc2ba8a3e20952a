#include "perceiver/http/accept.h"

#include <cstdlib>

#include "perceiver/http/message.h"

namespace perceiver {
namespace {

// How closely a range such as "image/*" names the type: 3 exactly, 1 by "*/*", 0 not at all.
int closeness(std::string_view range, std::string_view type) {
  if (range == type) return 3;
  if (range.ends_with("/*") && type.starts_with(range.substr(0, range.size() - 1))) return 2;
  return range == "*/*" || range == "*" ? 1 : 0;
}

// The weight of the closest range that names the type; 0: none.
double weight_of(std::string_view accept, std::string_view type) {
  int closest = 0;
  double weight = 0.0;
  while (!accept.empty()) {
    const std::string_view item = accept.substr(0, accept.find(','));
    accept.remove_prefix(std::min(accept.size(), item.size() + 1));
    const std::string range = lower_case(trimmed(item.substr(0, item.find(';'))));
    const int close = closeness(range, type);
    if (close <= closest) continue;
    closest = close;
    const auto q = header_parameter(item, "q");
    weight = q ? std::strtod(q->c_str(), nullptr) : 1.0;
  }
  return weight;
}

}  // namespace

std::string best_type(std::string_view accept, std::span<const std::string> offered) {
  if (trimmed(accept).empty()) return offered.front();
  std::string best;
  double most = 0.0;
  for (const std::string& type : offered) {
    const double weight = weight_of(accept, type);
    if (weight > most) best = type, most = weight;
  }
  return best;
}

}  // namespace perceiver
