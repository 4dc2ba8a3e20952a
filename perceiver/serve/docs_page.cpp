#include <fmt/format.h>

#include "perceiver/core/markup.h"
#include "perceiver/serve/openapi.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>The routes of perceiver serve</title>
<style>
body { max-width: 50rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
h2 { margin-top: 2.5rem; font-size: 1.1rem; }
code { overflow-wrap: anywhere; }
details { margin: .4rem 0; }
summary span { opacity: .75; }
table { border-collapse: collapse; margin: .3rem 0 1rem 1rem; }
td { padding: .1rem 1rem .1rem 0; vertical-align: top; }
</style>
<h1>The routes of this server</h1>
<p>For programs: <a href="/docs/openapi.json">openapi.json</a>. Every answer may also be an error,
<code>{"error": "what was wrong"}</code>. A file is a part of <code>multipart/form-data</code>, base64 in JSON, or
the body itself with options in the query string. <a href="/">The page</a> asks the same routes.</p>
)";

std::string row(const std::string& name, const std::string& about) {
  return fmt::format("<tr><td><code>{}</code><td>{}\n", escaped(name), escaped(about));
}

// The options of the body's first form; the query's are the same.
std::string options_of(const Json& operation) {
  const auto body = operation.find("requestBody");
  if (body == operation.end()) return "";
  const Json& schema = body->at("content").at("application/json").at("schema");
  const Json options = schema.value("properties", Json::object());
  std::string rows;
  for (const auto& [name, option] : options.items()) {
    std::string about = option.value("description", "");
    if (option.contains("enum")) {
      for (const std::string word : option.at("enum")) about += ", " + word;
    }
    if (option.contains("default")) about += "; " + option.at("default").dump();
    rows += row(name, about);
  }
  return rows.empty() ? "" : "<p>Options\n<table>" + rows + "</table>\n";
}

std::string answers_of(const Json& operation) {
  std::string rows;
  for (const auto& [code, answer] : operation.at("responses").items()) {
    if (!answer.contains("description")) continue;  // what any route may say
    std::string about = answer.at("description");
    const Json content = answer.value("content", Json::object());
    std::string separator = ": ";
    for (const auto& [type, schema] : content.items()) {
      about += separator + type;
      separator = ", ";
    }
    rows += row(code, about);
  }
  return "<p>Answers\n<table>" + rows + "</table>\n";
}

}  // namespace

HttpResponse docs_page(const Json& document) {
  std::string html(kHead), last_tag;
  for (const auto& [path, methods] : document.at("paths").items()) {
    for (const auto& [method, operation] : methods.items()) {
      const std::string tag = operation.at("tags").at(0);
      if (tag != last_tag) html += fmt::format("<h2>{}</h2>\n", escaped(tag));
      last_tag = tag;
      html += fmt::format("<details><summary><code>{} {}</code> <span>{}</span></summary>\n",
                          method == "get"    ? "GET"
                          : method == "post" ? "POST"
                                             : "DELETE",
                          escaped(path), escaped(operation.at("summary").get<std::string>()));
      html += options_of(operation) + answers_of(operation) + "</details>\n";
    }
  }
  // The style is the page's own; nothing of a request stands in it.
  return {.content_type = "text/html; charset=utf-8",
          .body = html + "</html>\n",
          .headers = {{"Content-Security-Policy",
                       "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
                       "form-action 'none'; frame-ancestors 'none'"},
                      {"Referrer-Policy", "no-referrer"}}};
}

}  // namespace perceiver
