#include "perceiver/http/message.h"

#include <algorithm>

#include "perceiver/core/json_text.h"

namespace perceiver {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// "%20" as a space and, in a query, '+' too. In a path, "%2F" stays: it parts nothing.
std::optional<std::string> unescaped(std::string_view text, bool is_query) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return {};
      const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0 || high + low == 0) return {};
      const auto byte = static_cast<char>(high * 16 + low);
      plain += byte == '/' && !is_query ? "%2F" : std::string(1, byte);
      i += 2;
    } else {
      plain += is_query && text[i] == '+' ? ' ' : text[i];
    }
  }
  return plain;
}

}  // namespace

const std::string& HttpRequest::header(std::string_view name) const {
  static const std::string none;
  const auto found = std::ranges::find(headers, name, &Headers::value_type::first);
  return found == headers.end() ? none : found->second;
}

std::string HttpRequest::content_type() const {
  const std::string_view value = header("content-type");
  return lower_case(trimmed(value.substr(0, value.find(';'))));
}

HttpResponse error_response(int status, std::string_view message) {
  return {.status = status, .body = json_text(nlohmann::json{{"error", message}}) + "\n"};
}

std::string event_text(std::string_view name, std::string_view data) {
  std::string text = "event: ";
  text.append(name).append("\ndata: ").append(data).append("\n\n");
  return text;
}

std::optional<Target> parse_target(std::string_view target) {
  if (!target.starts_with('/') || target.find('\0') != target.npos) return {};
  target = target.substr(0, target.find('#'));
  const size_t question = target.find('?');
  const std::optional<std::string> path = unescaped(target.substr(0, question), false);
  if (!path) return {};
  Target parsed{*path, {}};
  std::string_view rest = question == target.npos ? "" : target.substr(question + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const size_t equals = pair.find('=');
    const auto name = unescaped(pair.substr(0, equals), true);
    const auto value = unescaped(equals == pair.npos ? "" : pair.substr(equals + 1), true);
    if (!name || !value) return {};
    if (!name->empty()) parsed.query[*name] = *value;
  }
  return parsed;
}

std::optional<std::string> header_parameter(std::string_view header, std::string_view name) {
  size_t at = header.find(';');
  while (at < header.size()) {
    header.remove_prefix(at + 1);
    const size_t equals = header.find_first_of("=;");
    const std::string key = lower_case(trimmed(header.substr(0, equals)));
    std::string value;
    if (equals == header.npos || header[equals] == ';') {
      at = equals;
    } else if (equals + 1 < header.size() && header[equals + 1] == '"') {
      at = equals + 2;
      for (; at < header.size() && header[at] != '"'; ++at) {
        // Of a backslash, browsers and curl escape a quotation mark alone; a path keeps its own.
        if (header[at] == '\\' && at + 1 < header.size() && header[at + 1] == '"') ++at;
        value += header[at];
      }
      if (at >= header.size()) return {};
      at = header.find(';', at);
    } else {
      at = header.find(';', equals);
      value = trimmed(header.substr(equals + 1, at == header.npos ? at : at - equals - 1));
    }
    if (key == name) return value;
  }
  return {};
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace perceiver
