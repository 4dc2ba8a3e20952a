#include "perceiver/serve/small_json.h"

#include "perceiver/serve/refused.h"

namespace perceiver {

nlohmann::json small_json(std::string_view text) {
  using Json = nlohmann::json;
  constexpr int kDeepest = 16, kMostValues = 100'000;
  int values = 0;
  const auto check = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > kDeepest) refuse(400, "the body: JSON that is nested deeper than {}", kDeepest);
    if (++values > kMostValues) {
      refuse(400, "the body: JSON of more than {} values", kMostValues);
    }
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::parse_error& e) {
    refuse(400, "the body is no JSON: byte {} is not what is expected there", e.byte);
  } catch (const Json::exception&) {  // a number beyond all bounds
    refuse(400, "the body has a number that cannot be read");
  }
}

}  // namespace perceiver
