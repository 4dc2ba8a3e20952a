#include "perceiver/page/page.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

namespace perceiver {
namespace {

// What stands between <tag> and </tag>.
std::string_view inside(std::string_view html, std::string_view tag) {
  const std::string begin = fmt::format("<{}>", tag), end = fmt::format("</{}>", tag);
  const size_t from = html.find(begin) + begin.size();
  return html.substr(from, html.find(end, from) - from);
}

// As a Content-Security-Policy names a script or a style: 'sha256-…'.
std::string hash_source(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> base64;
  EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(size));
  return fmt::format("'sha256-{}'", reinterpret_cast<const char*>(base64.data()));
}

std::string policy(std::string_view html) {
  return fmt::format(
      "default-src 'none'; script-src {}; style-src {}; connect-src 'self'; img-src 'self' blob: "
      "data:; media-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      hash_source(inside(html, "script")), hash_source(inside(html, "style")));
}

}  // namespace

HttpResponse page_response() {
  static const std::string security_policy = policy(page_html());
  return {.content_type = "text/html; charset=utf-8",
          .body = std::string(page_html()),
          .headers = {{"Content-Security-Policy", security_policy},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cache-Control", "no-cache"}}};
}

}  // namespace perceiver
