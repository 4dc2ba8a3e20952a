// What a request asks of a task, in whichever form it came: a form with files, JSON, or a file as
// the body. routes.json says which options a route takes, and of what kind they are.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "perceiver/core/file.h"
#include "perceiver/http/message.h"
#include "perceiver/serve/samples.h"

namespace perceiver {

class Asked {
 public:
  // `route` is "POST /fill", a key of routes.json. Refuses what cannot be read, with 400 or 415.
  Asked(const HttpRequest& request, const std::string& route, const Samples& samples);

  // As they came; a text is a file too, and its pair the second.
  const std::vector<File>& files() const { return files_; }
  bool has_text() const { return has_text_; }

  bool has(const std::string& name) const { return options_.contains(name); }
  std::string text(const std::string& name) const;  // "" where it is not given
  int64_t number(const std::string& name, int64_t otherwise) const;
  double real(const std::string& name, double otherwise) const;
  bool flag(const std::string& name) const;
  std::vector<std::string> list(const std::string& name) const;

 private:
  // From JSON, or from a form or a query, where everything is text.
  void take(const std::string& name, const nlohmann::json& value);
  void take_text(const std::string& name, const std::string& value);
  void take_json(const HttpRequest& request);
  void take_form(const HttpRequest& request);
  void take_file(const HttpRequest& request, const std::string& type);
  void add_file(std::string name, std::string bytes);
  void collect(const Samples& samples);
  bool takes_files() const;

  const nlohmann::json& schema_of(const std::string& name) const;

  std::string route_;
  std::map<std::string, nlohmann::json> options_;  // of the kinds that the schemas say
  std::vector<File> files_;
  bool has_text_ = false;
};

}  // namespace perceiver
