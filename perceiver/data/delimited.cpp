#include "perceiver/data/delimited.h"

#include <algorithm>

#include "perceiver/core/error.h"

namespace perceiver {

TextLines::TextLines(const std::filesystem::path& path) : stream_(path, std::ios::binary) {
  if (!stream_ || std::filesystem::is_directory(path)) fail("{}: cannot open", path.string());
}

bool TextLines::next(std::string& line) {
  if (!std::getline(stream_, line)) return false;
  line_end_ = stream_.eof() ? "" : "\n";
  if (line.ends_with('\r')) {
    line.pop_back();
    line_end_ = "\r" + line_end_;
  }
  if (++number_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
  return true;
}

DelimitedReader::DelimitedReader(const std::filesystem::path& path, DelimitedFormat format)
    : lines_(path), format_(format) {}

std::optional<std::vector<std::string>> DelimitedReader::next() {
  std::string line;
  if (!lines_.next(line)) return {};
  line_ = lines_.number();
  if (line.empty()) fail("an empty line, expected an example");
  std::vector<std::string> fields;
  for (size_t at = 0;; ++at) {
    if (format_.quotes && at < line.size() && line[at] == '"') {
      fields.push_back(quoted(line, at));
    } else {
      const size_t end = std::min(line.find(format_.separator, at), line.size());
      fields.push_back(line.substr(at, end - at));
      at = end;
    }
    if (at == line.size()) return fields;
  }
}

std::string DelimitedReader::quoted(std::string& line, size_t& at) {
  std::string field;
  for (++at;;) {
    const size_t quote = line.find('"', at);
    if (quote == line.npos) {
      field += line.substr(at) + lines_.end();
      if (!lines_.next(line)) fail("a quote is opened and never closed");
      at = 0;
      continue;
    }
    field += line.substr(at, quote - at);
    at = quote + 1;
    if (at == line.size() || line[at] == format_.separator) return field;
    if (line[at] != '"') {
      fail(
          "'{}' behind a closing quote, expected '{}' or the line's end; a quote in quotes is \"\"",
          line[at], format_.separator);
    }
    field += line[at++];
  }
}

}  // namespace perceiver
