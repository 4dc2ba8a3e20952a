// A line of a file of JSON lines: one object.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace perceiver {

class JsonLine {
 public:
  // Fails for anything but an object; `expected` shows one.
  JsonLine(std::string_view line, std::string_view expected);

  bool has(const std::string& key) const { return values_.contains(key); }

  // A string, or any value as JSON writes it. Both fail where there is no such key, text() also for
  // another kind of value, word() for null, lists and objects.
  std::string text(const std::string& key) const;
  std::string word(const std::string& key) const;

 private:
  struct Value {
    enum class Kind { kString, kWord, kOther } kind;
    std::string text;
  };
  const Value& value(const std::string& key) const;

  std::map<std::string, Value> values_;
};

}  // namespace perceiver
