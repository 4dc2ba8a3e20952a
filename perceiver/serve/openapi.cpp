#include "perceiver/serve/openapi.h"

#include <fmt/format.h>

#include <algorithm>

#include "perceiver/core/json_text.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

Json reference(const char* kind, const std::string& name) {
  return {{"$ref", fmt::format("#/components/{}/{}", kind, name)}};
}

// What has a key, or an empty list.
const Json& list_of(const Json& object, const char* key) {
  static const Json none = Json::array();
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

// In JSON, as the table has them; in a form, files are bytes and lists have commas between.
Json object_of(const Json& route, const Json& table, bool is_form) {
  Json object = {
      {"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
  for (const std::string name : list_of(route, "options")) {
    Json option = table.at("options").at(name);
    const bool is_file = name == "file" || name == "files";
    if (is_form && is_file) {
      option = {{"type", "array"}, {"items", {{"type", "string"}, {"format", "binary"}}}};
    } else if (is_form && option.at("type") == "array") {
      option = {{"type", "string"}, {"description", option.at("description")}};
    }
    object["properties"][is_form && is_file ? "file" : name] = option;
  }
  return object;
}

Json body_of(const Json& route, const Json& table) {
  Json content = Json::object();
  if (const auto body = route.find("body"); body != route.end()) {
    content["application/json"] = {{"schema", reference("schemas", *body)}};
  } else {
    content["application/json"] = {{"schema", object_of(route, table, false)}};
    content["multipart/form-data"] = {{"schema", object_of(route, table, true)}};
  }
  for (const std::string type : list_of(route, "reads")) {
    content[type] = {{"schema", {{"type", "string"}, {"format", "binary"}}}};
  }
  return {{"required", true}, {"content", content}};
}

// "{id}" of the path, and options, which may stand in the query of any form.
Json parameters_of(const std::string& path, const Json& route, const Json& table) {
  Json parameters = Json::array();
  for (size_t at = path.find('{'); at != path.npos; at = path.find('{', at + 1)) {
    parameters.push_back({{"name", path.substr(at + 1, path.find('}', at) - at - 1)},
                          {"in", "path"},
                          {"required", true},
                          {"schema", {{"type", "string"}}}});
  }
  for (const std::string name : list_of(route, "options")) {
    if (name == "file" || name == "files") continue;
    Json schema = object_of({{"options", {name}}}, table, true)["properties"][name];
    const Json description = std::exchange(schema["description"], {});
    schema.erase("description");
    parameters.push_back(
        {{"name", name}, {"in", "query"}, {"description", description}, {"schema", schema}});
  }
  return parameters;
}

Json answer_of(const Json& answer) {
  Json made = {{"description", answer.at("means")}};
  if (const auto schema = answer.find("schema"); schema != answer.end()) {
    made["content"]["application/json"]["schema"] = reference("schemas", *schema);
  }
  for (const std::string type : list_of(answer, "types")) {
    made["content"][type]["schema"] = {{"type", "string"}};
    if (!type.starts_with("text/")) made["content"][type]["schema"]["format"] = "binary";
  }
  return made;
}

bool can_give(const std::string& code, const Route& route, const Json& answers) {
  const bool has_body = route.method == "POST";
  if (code == "401") return !route.open;
  if (code == "413" || code == "415") return has_body;
  if (code == "422") return has_body || route.pattern.find('{') != route.pattern.npos;
  if (code == "429") return route.works;
  if (code == "406") {
    return std::ranges::any_of(answers, [](const Json& one) { return one.contains("types"); });
  }
  return true;
}

Json operation_of(const Route& route, const Json& about, const Json& table) {
  Json operation = {{"summary", about.at("summary")}, {"tags", {about.at("tag")}}};
  operation["parameters"] = parameters_of(route.pattern, about, table);
  if (about.contains("options") || about.contains("body")) {
    operation["requestBody"] = body_of(about, table);
  }
  if (route.open) operation["security"] = Json::array();
  Json& responses = operation["responses"];
  for (const auto& [code, answer] : about.at("answers").items())
    responses[code] = answer_of(answer);
  for (const auto& [code, means] : table.at("errors").items()) {
    if (responses.contains(code) || !can_give(code, route, about.at("answers"))) continue;
    responses[code] = reference("responses", code);
  }
  return operation;
}

Json errors_of(const Json& table) {
  Json errors = Json::object();
  for (const auto& [code, means] : table.at("errors").items()) {
    errors[code] = {
        {"description", means},
        {"content", {{"application/json", {{"schema", reference("schemas", "Error")}}}}}};
    if (code == "429") {
      errors[code]["headers"]["Retry-After"] = {{"description", "seconds"},
                                                {"schema", {{"type", "integer"}}}};
    }
  }
  return errors;
}

}  // namespace

Json openapi_document(const Router& router, std::string_view version) {
  const Json table = Json::parse(routes_json());
  Json document = {
      {"openapi", "3.1.0"},
      {"info", {{"title", "perceiver serve"}, {"version", version}}},
      {"security", {Json::object(), {{"bearer", Json::array()}}, {{"key", Json::array()}}}},
      {"paths", Json::object()}};
  for (const Route& route : router.routes()) {
    const auto about = table.at("routes").find(route.method + " " + route.pattern);
    if (about == table.at("routes").end()) continue;  // a test says which
    Json& operation = document["paths"][route.pattern][lower_case(route.method)];
    operation = operation_of(route, *about, table);
  }
  document["components"] = {
      {"securitySchemes",
       {{"bearer", {{"type", "http"}, {"scheme", "bearer"}}},
        {"key", {{"type", "apiKey"}, {"in", "header"}, {"name", "X-Api-Key"}}}}},
      {"responses", errors_of(table)},
      {"schemas", table.at("schemas")}};
  return document;
}

}  // namespace perceiver
