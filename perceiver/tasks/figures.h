// How what was measured is told to people. Files and JSON hold the plain numbers by their keys.
#pragma once

#include <string>

namespace perceiver {

enum class Unit { kNumber, kShare, kPixels, kDecibels, kTimes };

struct FigureName {
  std::string name;  // "top-1"
  Unit unit = Unit::kNumber;
  bool detail = false;  // one of many, such as a class's own: in files and JSON alone
};

std::string value_text(double value, Unit unit);  // "0.6123", "77.9 %", "20.70 dB"

}  // namespace perceiver
