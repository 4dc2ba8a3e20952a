#include "perceiver/http/api_keys.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "perceiver/core/error.h"
#include "perceiver/core/lines.h"

namespace perceiver {

ApiKeys::Digest ApiKeys::digest(std::string_view key) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
  return digest;
}

ApiKeys::ApiKeys(const File& file) {
  for (const std::string& line : lines_of(file.bytes)) {
    const std::string_view key = trimmed(line);
    if (!key.empty()) keys_.push_back(digest(key));
  }
  if (keys_.empty()) fail("{}: no key in it; write one a line", file.name);
}

bool ApiKeys::admit(const HttpRequest& request) const {
  if (keys_.empty()) return true;
  std::string_view given = request.header("x-api-key");
  const std::string_view authorization = request.header("authorization");
  constexpr std::string_view kBearer = "bearer ";
  if (lower_case(authorization.substr(0, kBearer.size())) == kBearer) {
    given = trimmed(authorization.substr(kBearer.size()));
  }
  const Digest presented = digest(given);
  int equal = 0;  // all are looked at: which one it was takes no time of its own
  for (const Digest& key : keys_) {
    equal |= CRYPTO_memcmp(key.data(), presented.data(), key.size()) == 0 ? 1 : 0;
  }
  return equal != 0;
}

}  // namespace perceiver
