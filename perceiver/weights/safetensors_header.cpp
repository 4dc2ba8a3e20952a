#include "perceiver/weights/safetensors_header.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "perceiver/core/error.h"
#include "perceiver/weights/bytes.h"

namespace perceiver {

namespace {

using nlohmann::json;

// Takes the header as it is parsed, so that nothing is stored which the format does not have:
// neither deep nesting nor long lists can take memory.
class HeaderSax : public nlohmann::json_sax<json> {
 public:
  HeaderSax(SafetensorsHeader& header, const std::string& file_name)
      : header_(header), file_name_(file_name) {}

  bool start_object(size_t) override {
    if (depth_ == 2 || in_list_) unexpected("an object");
    if (++depth_ == 1) return true;
    in_metadata_ = name_ == "__metadata__";
    has_dtype_ = has_shape_ = has_offsets_ = false;
    if (!in_metadata_) entry_ = &header_.entries[name_];
    return true;
  }

  bool key(std::string& key) override {
    if (depth_ == 1) {
      const bool seen = key == "__metadata__" ? has_metadata_ : header_.entries.contains(key);
      if (seen) fail("{}: header names '{}' twice", file_name_, printable(key));
      if (key == "__metadata__") has_metadata_ = true;
      name_ = std::move(key);
      return true;
    }
    field_ = std::move(key);
    if (in_metadata_) {
      if (header_.metadata.contains(field_)) twice();
      return true;
    }
    bool* seen = field_ == "dtype"          ? &has_dtype_
                 : field_ == "shape"        ? &has_shape_
                 : field_ == "data_offsets" ? &has_offsets_
                                            : nullptr;
    if (!seen) fail("{}: tensor '{}' has unknown key '{}'", file_name_, name(), printable(field_));
    if (*seen) twice();
    *seen = true;
    return true;
  }

  bool end_object() override {
    if (--depth_ == 0 || in_metadata_) return true;
    const char* missing = !has_dtype_     ? "dtype"
                          : !has_shape_   ? "shape"
                          : !has_offsets_ ? "data_offsets"
                                          : nullptr;
    if (missing) fail("{}: tensor '{}' has no {}", file_name_, name(), missing);
    if (entry_->offsets.size() != 2) {
      fail("{}: tensor '{}' has {} data_offsets, expected 2", file_name_, name(),
           entry_->offsets.size());
    }
    return true;
  }

  bool string(std::string& value) override {
    if (depth_ != 2 || in_list_) unexpected("a string");
    if (in_metadata_) {
      header_.metadata[field_] = std::move(value);
    } else if (field_ == "dtype") {
      entry_->dtype = std::move(value);
    } else {
      unexpected("a string");
    }
    return true;
  }

  bool start_array(size_t) override {
    if (depth_ != 2 || in_list_ || in_metadata_ || field_ == "dtype") unexpected("a list");
    return in_list_ = true;
  }

  bool end_array() override {
    in_list_ = false;
    return true;
  }

  bool number_unsigned(uint64_t value) override {
    if (!in_list_) unexpected("a number");
    if (field_ == "shape") {
      if (entry_->shape.size() == kMaxDimensions) {
        fail("{}: tensor '{}' has more than {} dimensions", file_name_, name(), kMaxDimensions);
      }
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) too_large(value);
      entry_->shape.push_back(static_cast<int64_t>(value));
    } else {
      if (entry_->offsets.size() == 2) {
        fail("{}: tensor '{}' has more than 2 data_offsets", file_name_, name());
      }
      entry_->offsets.push_back(value);
    }
    return true;
  }

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a boolean"); }
  bool number_integer(int64_t value) override { unexpected(fmt::format("{}", value)); }
  bool number_float(double, const std::string& text) override { unexpected(printable(text)); }
  bool binary(json::binary_t&) override { unexpected("binary"); }
  bool parse_error(size_t position, const std::string&, const json::exception&) override {
    fail("{}: header is not JSON at byte {}", file_name_, position);
  }

 private:
  std::string name() const { return printable(name_); }
  [[noreturn]] void twice() const {
    fail("{}: '{}' has '{}' twice", file_name_, name(), printable(field_));
  }
  [[noreturn]] void too_large(uint64_t value) const {
    fail("{}: tensor '{}' has a dimension of {}", file_name_, name(), value);
  }
  [[noreturn]] void unexpected(std::string_view what) const {
    if (depth_ == 0) fail("{}: header is {}, expected an object", file_name_, what);
    if (depth_ == 1) fail("{}: '{}' is {}, expected an object", file_name_, name(), what);
    const std::string_view expected = in_metadata_ || field_ == "dtype" ? "a string"
                                      : in_list_                        ? "integers of at least 0"
                                                                        : "a list";
    fail("{}: '{}' has {} as {}, expected {}", file_name_, name(), what, printable(field_),
         expected);
  }

  SafetensorsHeader& header_;
  const std::string& file_name_;
  int depth_ = 0;
  bool in_list_ = false, in_metadata_ = false, has_metadata_ = false;
  bool has_dtype_ = false, has_shape_ = false, has_offsets_ = false;
  std::string name_, field_;  // the keys we are under
  SafetensorsEntry* entry_ = nullptr;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& file_name) {
  if (text.empty() || text[0] != '{') {
    fail("{}: header begins with '{}', expected '{{'", file_name, printable(text.substr(0, 1)));
  }
  // The parser would take a NUL for the end of the text.
  const size_t nul = text.find('\0');
  if (nul != std::string_view::npos) fail("{}: header is not JSON at byte {}", file_name, nul + 1);

  SafetensorsHeader header;
  HeaderSax sax(header, file_name);
  json::sax_parse(text, &sax);
  return header;
}

}  // namespace perceiver
