#include "perceiver/serve/oip_json.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "perceiver/core/error.h"
#include "perceiver/core/json_text.h"
#include "perceiver/serve/oip.h"

namespace perceiver {
namespace {

using nlohmann::json;

constexpr int kDeepest = 20;
constexpr size_t kMostValues = 4096;

template <typename T>
void append(std::string& bytes, T value) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  bytes.append(raw, sizeof(T));
}

// Some clients write every number with a point, "5.0", and truths as 1.0.
template <typename T>
void append_integer(std::string& bytes, const json& value) {
  if (value.is_number_unsigned() &&
      value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<T>::max())) {
    return append(bytes, static_cast<T>(value.get<uint64_t>()));
  }
  if (value.is_number_integer() && !value.is_number_unsigned()) {
    const auto number = value.get<int64_t>();
    if (std::is_signed_v<T> && number >= int64_t{std::numeric_limits<T>::min()}) {
      return append(bytes, static_cast<T>(number));
    }
  }
  constexpr double kExact = 9007199254740992.0;  // beyond 2^53 a double skips integers
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    if (number == std::trunc(number) && std::abs(number) <= kExact &&
        number >= static_cast<double>(std::numeric_limits<T>::min()) &&
        number <= static_cast<double>(std::numeric_limits<T>::max())) {
      return append(bytes, static_cast<T>(number));
    }
  }
  fail("{} is no such number", json_text(value));
}

// JSON has no NaN, which is a missing number: null stands for it, as it does in answers.
template <typename T>
void append_real(std::string& bytes, const json& value) {
  if (value.is_null()) return append(bytes, std::numeric_limits<T>::quiet_NaN());
  if (!value.is_number()) fail("{} is no number", json_text(value));
  const auto number = static_cast<T>(value.get<double>());
  if (!std::isfinite(number)) fail("{} is too large", json_text(value));
  append(bytes, number);
}

void append_truth(std::string& bytes, const json& value) {
  if (value.is_boolean()) return append(bytes, value.get<bool>());
  if (value == 0 || value == 1) return append(bytes, value == 1);
  fail("{} is neither true nor false", json_text(value));
}

void append_text(std::string& bytes, const json& value) {
  if (!value.is_string()) fail("{} is no text", json_text(value));
  const auto& text = value.get_ref<const std::string&>();
  append(bytes, static_cast<uint32_t>(text.size()));
  bytes += text;
}

void append_value(std::string& bytes, OipType type, const json& value) {
  switch (type) {
    case OipType::kBool:
      return append_truth(bytes, value);
    case OipType::kUint8:
      return append_integer<uint8_t>(bytes, value);
    case OipType::kUint16:
      return append_integer<uint16_t>(bytes, value);
    case OipType::kUint32:
      return append_integer<uint32_t>(bytes, value);
    case OipType::kUint64:
      return append_integer<uint64_t>(bytes, value);
    case OipType::kInt8:
      return append_integer<int8_t>(bytes, value);
    case OipType::kInt16:
      return append_integer<int16_t>(bytes, value);
    case OipType::kInt32:
      return append_integer<int32_t>(bytes, value);
    case OipType::kInt64:
      return append_integer<int64_t>(bytes, value);
    case OipType::kFp32:
      return append_real<float>(bytes, value);
    case OipType::kFp64:
      return append_real<double>(bytes, value);
    case OipType::kBytes:
      return append_text(bytes, value);
    case OipType::kFp16:
    case OipType::kBf16:
      fail("JSON cannot hold {}; send it with binary_data_size", oip_name(type));
  }
}

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  OipJson read() {
    json content = parse();
    // Where "data" stood before "datatype", it is read a second time.
    if (again_) content = parse();
    return {std::move(content), std::move(inputs_)};
  }

 private:
  using Event = json::parse_event_t;

  json parse() {
    again_ = in_inputs_ = in_data_ = false;
    for (OipData& input : inputs_) input = {.datatype = std::move(input.datatype)};
    next_ = values_ = 0;
    try {
      return json::parse(
          text_, [this](int depth, Event event, json& value) { return take(depth, event, value); });
    } catch (const json::parse_error& e) {
      fail("the request is broken JSON at byte {}", e.byte);
    } catch (const json::out_of_range&) {
      fail("the request has a number that is too large");
    }
  }

  // -> whether the value is kept. Depths: 1 the request's keys, 3 those of its inputs.
  bool take(int depth, Event event, json& value) {
    if (depth > kDeepest) fail("the request is nested deeper than {}", kDeepest);
    if (in_data_ && depth > 3) return take_data(depth, event, value);
    if (event == Event::key) take_key(depth, value.get_ref<const std::string&>());
    if (event == Event::object_start && depth == 0) keys_[0].clear();
    if (event == Event::object_start && depth == 2) begin_tensor();
    if (in_data_ && depth == 3) take_ends_of_data(event, value);
    if (event == Event::value && depth == 3 && in_inputs_ && key_ == "datatype") {
      if (value.is_string()) current().datatype = value.get<std::string>();
    }
    if (++values_ > kMostValues) fail("the request has more than {} values", kMostValues);
    return true;
  }

  void take_key(int depth, const std::string& key) {
    if (depth != 1 && depth != 3) return;
    if (!keys_[depth == 3].insert(key).second) fail("the request has '{}' twice", key);
    if (depth == 1) in_inputs_ = key == "inputs";
    in_data_ = depth == 3 && in_inputs_ && key == "data";
    key_ = key;
  }

  void begin_tensor() {
    keys_[1].clear();
    if (!in_inputs_) return;
    if (++next_ > kMostOipTensors) fail("the request has more than {} inputs", kMostOipTensors);
    if (next_ > inputs_.size()) inputs_.emplace_back();
  }

  void take_ends_of_data(Event event, const json& value) {
    if (event == Event::key) return;
    if (event == Event::array_start) {
      OipData& data = current();
      data.given = true;
      open_ = {0};
      known_ = !data.datatype.empty();
      again_ = again_ || !known_;
      if (known_) type_ = oip_type(data.datatype);
      return;
    }
    if (event == Event::array_end) close_list(0);
    in_data_ = false;
    if (event != Event::array_end && !value.is_null()) {
      fail("input {}: 'data' is no list", next_ - 1);
    }
  }

  bool take_data(int depth, Event event, const json& value) {
    if (event == Event::value) return take_value(depth, value);
    if (event == Event::array_start) {
      ++open_.back();
      open_.push_back(0);
      return true;  // else nothing in it would be told
    }
    if (event != Event::array_end) fail("input {}: 'data' has an object", next_ - 1);
    close_list(static_cast<size_t>(depth - 3));
    return false;
  }

  bool take_value(int depth, const json& value) {
    OipData& data = current();
    if (data.depth == 0) data.depth = depth;
    if (data.depth != depth) fail_unequal();
    ++open_.back();
    ++data.count;
    if (!known_) return false;
    try {
      append_value(data.bytes, type_, value);
    } catch (const Error& e) {
      fail("input {}: 'data' of {}: {}", next_ - 1, oip_name(type_), e.what());
    }
    return false;
  }

  void close_list(size_t level) {
    std::vector<int64_t>& lists = current().lists;
    if (lists.size() <= level) lists.resize(level + 1, -1);
    if (lists[level] >= 0 && lists[level] != open_.back()) fail_unequal();
    lists[level] = open_.back();
    open_.pop_back();
  }

  [[noreturn]] void fail_unequal() const {
    fail("input {}: the lists of 'data' are not equally long", next_ - 1);
  }

  OipData& current() { return inputs_.at(next_ - 1); }

  std::string_view text_;
  std::vector<OipData> inputs_;
  size_t next_ = 0, values_ = 0;  // inputs begun; values kept
  bool again_ = false, in_inputs_ = false, in_data_ = false, known_ = false;
  OipType type_ = OipType::kFp32;
  std::string key_;
  std::set<std::string> keys_[2];  // of the request, of the tensor
  std::vector<int64_t> open_;      // how long the lists that are open are so far
};

}  // namespace

OipJson read_oip_json(std::string_view text) { return JsonReader(text).read(); }

}  // namespace perceiver
