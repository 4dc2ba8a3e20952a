#include "perceiver/tasks/figures.h"

#include <fmt/format.h>

namespace perceiver {

std::string value_text(double value, Unit unit) {
  switch (unit) {
    case Unit::kShare:
      return fmt::format("{:.1f} %", 100.0 * value);
    case Unit::kPixels:
      return fmt::format("{:.3f} px", value);
    default:
      return fmt::format("{:.4f}", value);
  }
}

}  // namespace perceiver
