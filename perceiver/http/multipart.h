// Forms with files in them: multipart/form-data (RFC 7578), as browsers and curl send it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace perceiver {

struct FormPart {
  std::string name;
  std::string file_name = {};     // empty: a field, not a file
  std::string content_type = {};  // empty: none was given
  std::string_view bytes = {};    // in the body
};

// The parts of a body, which has to outlive them. `content_type` is the request's header, with the
// boundary. Fails for what is no such form, is cut short, or has more than 64 parts.
std::vector<FormPart> parse_multipart(std::string_view body, std::string_view content_type);

}  // namespace perceiver
