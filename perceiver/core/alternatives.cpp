#include "perceiver/core/alternatives.h"

namespace perceiver {
namespace {

// Where commas separate; nothing where a bracket, brace or quote is not closed.
class Commas {
 public:
  explicit Commas(std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (quote_ == '"' && text[i] == '\\') {
        ++i;  // what follows is no end of the quote
      } else {
        take(text[i], i);
      }
    }
    if (quote_ != 0 || depth_ != 0) places_.clear();
  }

  const std::vector<size_t>& places() const { return places_; }

 private:
  void take(char c, size_t place) {
    if (quote_ != 0) {
      if (c == quote_) quote_ = 0;
      return;
    }
    if (c == '"' || c == '\'') quote_ = c;
    if (c == '[' || c == '{') ++depth_;
    if (c == ']' || c == '}') --depth_;
    if (c == ',' && depth_ == 0) places_.push_back(place);
  }

  std::vector<size_t> places_;
  char quote_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t") + 1 - begin));
}

std::vector<std::string> alternatives_of(std::string_view value) {
  std::vector<std::string> all;
  size_t begin = 0;
  const Commas commas(value);
  for (const size_t comma : commas.places()) {
    all.push_back(trimmed(value.substr(begin, comma - begin)));
    begin = comma + 1;
  }
  all.push_back(trimmed(value.substr(begin)));
  return all;
}

}  // namespace perceiver
