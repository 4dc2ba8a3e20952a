// Labelled rows of files: all of a file, with those that cannot be read, and a share of them that
// is held out.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "perceiver/core/error.h"

namespace perceiver {

// Every row of `reader`, which has `optional<Row> next()` and `line()`, where it stands in `file`.
// The first row that cannot be read is an Error, or, to be skipped, such rows are kept with theirs,
// as Row::error.
template <typename Row, typename Reader>
std::vector<Row> read_rows(const std::string& file, Reader& reader, bool keep_unreadable) {
  std::vector<Row> rows;
  for (bool more = true; more;) {
    try {
      std::optional<Row> row = reader.next();
      more = row.has_value();
      if (row) rows.push_back(std::move(*row));
    } catch (const Error& e) {
      std::string error = fmt::format("{}:{}: {}", file, reader.line(), e.what());
      if (!keep_unreadable) throw Error(error);
      rows.push_back({.error = std::move(error)});
    }
  }
  if (std::ranges::all_of(rows, [](const Row& row) { return !row.error.empty(); })) {
    fail("{}: there are no examples in it that can be read", file);
  }
  return rows;
}

// Whether row `index` is of a share that is spread evenly over all rows.
inline bool in_share(int64_t index, double share) {
  const auto before = std::floor(static_cast<double>(index) * share);
  return std::floor(static_cast<double>(index + 1) * share) > before;
}

// The share that is held out, or the rest of the rows.
template <typename Row>
std::vector<Row> part_of(std::vector<Row> rows, double share, bool held_out) {
  std::vector<Row> part;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (in_share(static_cast<int64_t>(i), share) == held_out) part.push_back(std::move(rows[i]));
  }
  return part;
}

}  // namespace perceiver
