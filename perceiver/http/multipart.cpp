#include "perceiver/http/multipart.h"

#include "perceiver/core/error.h"
#include "perceiver/http/message.h"

namespace perceiver {
namespace {

constexpr size_t kMostParts = 64, kLongestHeader = 8192, kLongestBoundary = 70;

std::string boundary_of(std::string_view content_type) {
  const std::optional<std::string> boundary = header_parameter(content_type, "boundary");
  if (!boundary || boundary->empty() || boundary->size() > kLongestBoundary) {
    fail("multipart form: its Content-Type names no boundary of 1 to {} characters",
         kLongestBoundary);
  }
  return *boundary;
}

// The headers of a part, a line each.
FormPart part_of(std::string_view header) {
  FormPart part;
  bool named = false;
  while (!header.empty()) {
    const std::string_view line = header.substr(0, header.find("\r\n"));
    header.remove_prefix(std::min(header.size(), line.size() + 2));
    const size_t colon = line.find(':');
    if (colon == line.npos) fail("multipart form: a part has a header without a colon");
    const std::string name = lower_case(trimmed(line.substr(0, colon)));
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (name == "content-disposition") {
      const std::optional<std::string> field = header_parameter(value, "name");
      named = field.has_value();
      part.name = field.value_or("");
      part.file_name = header_parameter(value, "filename").value_or("");
    } else if (name == "content-type") {
      part.content_type = lower_case(trimmed(value.substr(0, value.find(';'))));
    }
  }
  if (!named) fail("multipart form: a part has no name");
  return part;
}

}  // namespace

std::vector<FormPart> parse_multipart(std::string_view body, std::string_view content_type) {
  const std::string mark = "--" + boundary_of(content_type), next_mark = "\r\n" + mark;
  size_t at = 0;
  if (!body.starts_with(mark)) {  // what stands before the first boundary is nobody's
    at = body.find(next_mark);
    if (at == body.npos) fail("multipart form: the boundary is not in the body");
    at += 2;
  }
  at += mark.size();
  std::vector<FormPart> parts;
  for (;;) {
    const std::string_view rest = body.substr(at);
    if (rest.starts_with("--")) return parts;
    if (!rest.starts_with("\r\n")) fail("multipart form: a boundary is followed by other bytes");
    if (parts.size() == kMostParts) fail("multipart form: more than {} parts", kMostParts);
    // An empty line ends the headers; there may be none at all.
    const size_t header_end = rest.find("\r\n\r\n");
    if (header_end == rest.npos) fail("multipart form: cut short in a header");
    if (header_end > kLongestHeader) {
      fail("multipart form: a part has headers of more than {} bytes", kLongestHeader);
    }
    FormPart part = part_of(rest.substr(2, header_end < 2 ? 0 : header_end - 2));
    const size_t begin = at + header_end + 4, end = body.find(next_mark, begin);
    if (end == body.npos) fail("multipart form: cut short in the part '{}'", part.name);
    part.bytes = body.substr(begin, end - begin);
    parts.push_back(std::move(part));
    at = end + next_mark.size();
  }
}

}  // namespace perceiver
