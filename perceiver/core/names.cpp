#include "perceiver/core/names.h"

#include <fmt/format.h>

#include <algorithm>

namespace perceiver {

static size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

std::string nearest(std::string_view name, const std::vector<std::string>& known) {
  std::string best;
  // Further than a third of the word, or than three letters, is another word and not a typo.
  size_t best_distance = std::min<size_t>(4, name.size() / 3 + 2);
  for (const std::string& candidate : known) {
    const size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known,
                         std::string_view prefix) {
  const std::string near = nearest(name, known);
  return near.empty() ? "" : fmt::format("; did you mean '{}{}'?", prefix, near);
}

}  // namespace perceiver
