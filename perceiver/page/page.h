// The page that a server shows people: perceiver/page/*.{html,css,js}, joined to one file when the
// program is built.
#pragma once

#include <string_view>

#include "perceiver/http/message.h"

namespace perceiver {

std::string_view page_html();

// The page, with headers that let it run its own script and style alone, and ask its own server.
HttpResponse page_response();

}  // namespace perceiver
