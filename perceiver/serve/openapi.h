// The routes of the server as an OpenAPI document, for programs, and as a page for people. Both
// follow from routes.json, which says what each route takes and gives.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "perceiver/http/router.h"

namespace perceiver {

// Of the routes that the router has; errors are those that the server gives to every such route.
nlohmann::ordered_json openapi_document(const Router& router, std::string_view version);

// The page of a document; it has no script.
HttpResponse docs_page(const nlohmann::ordered_json& document);

// routes.json, compiled in.
std::string_view routes_json();

}  // namespace perceiver
