#include "perceiver/tasks/figures.h"

#include <fmt/format.h>

namespace perceiver {

std::string value_text(double value, Unit unit) {
  switch (unit) {
    case Unit::kShare:
      return fmt::format("{:.1f} %", 100.0 * value);
    case Unit::kPixels:
      return fmt::format("{:.3f} px", value);
    case Unit::kDecibels:
      return fmt::format("{:.2f} dB", value);
    case Unit::kTimes:
      return fmt::format("{:.1f}x", value);
    default:
      return fmt::format("{:.4f}", value);
  }
}

}  // namespace perceiver
