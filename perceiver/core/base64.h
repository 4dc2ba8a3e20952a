// Bytes in JSON and in pages (RFC 4648). OpenSSL has this too, but a build without a server has no
// OpenSSL.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace perceiver {

std::string base64_text(std::string_view bytes);

// Nothing for what is none. White space and a missing '=' at the end are forgiven.
std::optional<std::string> base64_bytes(std::string_view text);

}  // namespace perceiver
