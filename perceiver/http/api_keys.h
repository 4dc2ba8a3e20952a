// Keys that let clients in: Authorization: Bearer KEY, or X-Api-Key: KEY.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "perceiver/core/file.h"
#include "perceiver/http/message.h"

namespace perceiver {

class ApiKeys {
 public:
  ApiKeys() = default;                 // none: everybody is let in
  explicit ApiKeys(const File& file);  // a key a line; fails where there is none

  bool admit(const HttpRequest& request) const;

 private:
  // Digests have one length: comparing them takes a time that says nothing of a key.
  using Digest = std::array<unsigned char, 32>;
  static Digest digest(std::string_view key);

  std::vector<Digest> keys_;
};

}  // namespace perceiver
