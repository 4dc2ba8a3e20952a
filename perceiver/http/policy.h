// What is decided of a request by its head alone, before a byte of its body is read.
#pragma once

#include "perceiver/http/api_keys.h"
#include "perceiver/http/router.h"

namespace perceiver {

struct HttpPolicy {
  ApiKeys keys = {};
  // The origin whose pages may ask; "*": any; empty: those of this server alone. A page of another
  // origin could otherwise have the browser of whoever looks at it ask this server.
  std::string cors = {};
};

// A refusal, or the answer to a browser that asks in advance; nothing for what may go on. `route`
// may be null: then `allowed` has the methods of the path.
std::optional<HttpResponse> answer_to_head(const HttpPolicy& policy, const HttpRequest& request,
                                           const Route* route, const std::string& allowed);

// The headers that let a page of another origin read an answer; none where it may not.
void add_cors(const HttpPolicy& policy, const HttpRequest& request, HttpResponse& response);

}  // namespace perceiver
