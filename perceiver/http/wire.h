// How requests are read from the wire: Boost.Beast's parser with this server's limits, and what is
// made of its result. Included where Beast is compiled, and by the fuzzer.
#pragma once

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <utility>  // Boost 1.74 forgets it

#include "perceiver/http/message.h"

namespace perceiver {

using WireParser = boost::beast::http::request_parser<boost::beast::http::string_body>;

constexpr uint32_t kMostHeaderBytes = 16384;

// Request line and headers -> a request without its body; nothing where the target is none.
std::optional<HttpRequest> head_of(const WireParser& parser);

// Why a request cannot be read, as the answer to it; nothing where the client is just gone.
std::optional<HttpResponse> refusal_of(boost::beast::error_code error);

}  // namespace perceiver
