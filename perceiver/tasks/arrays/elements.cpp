#include "perceiver/tasks/arrays/elements.h"

#include "perceiver/core/error.h"
#include "perceiver/core/number.h"

namespace perceiver {
namespace {

// A number from 0, or nothing where `text` is something else.
std::optional<int64_t> index_in(std::string_view text) {
  const auto number = number_in<int64_t>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

// "3", "0:3", "2:", ":"
bool read_channels(std::string_view text, ArraySource& source) {
  const size_t colon = text.find(':');
  if (colon == text.npos) {
    const std::optional<int64_t> only = index_in(text);
    if (!only) return false;
    source.begin = *only, source.end = *only + 1;
    return true;
  }
  const std::string_view first = text.substr(0, colon), last = text.substr(colon + 1);
  const std::optional<int64_t> begin = first.empty() ? 0 : index_in(first);
  const std::optional<int64_t> end = last.empty() ? -1 : index_in(last);
  if (!begin || (!last.empty() && !end)) return false;
  if (!last.empty() && *end <= *begin) return false;
  source.begin = *begin, source.end = last.empty() ? -1 : *end;
  return true;
}

}  // namespace

ArraySource read_source(const std::string& text, const std::string& key) {
  ArraySource source;
  if (read_channels(text, source)) return source;
  const size_t bracket = text.find('[');
  source.array = text.substr(0, bracket);
  const bool has_channels = bracket != text.npos;
  const bool closes = has_channels ? text.back() == ']' : text.find(':') == text.npos;
  const std::string_view channels =
      has_channels && closes ? std::string_view(text).substr(bracket + 1, text.size() - bracket - 2)
                             : std::string_view();
  if (source.array.empty() || !closes || (has_channels && !read_channels(channels, source))) {
    fail("'{}' is '{}', expected channels such as '0:3', or an array such as 'x' or 'x[0:3]'", key,
         text);
  }
  return source;
}

}  // namespace perceiver
