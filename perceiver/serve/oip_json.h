// The JSON of a request of the Open Inference Protocol, in little memory.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace perceiver {

// The "data" of one input.
struct OipData {
  std::string datatype = {}, bytes = {};  // bytes as in OipTensor
  int64_t count = 0;
  bool given = false;
  int depth = 0;                    // of its values; 0: there are none
  std::vector<int64_t> lists = {};  // how long those of each depth are
};

struct OipJson {
  nlohmann::json content = {};       // without what was in lists of "data"
  std::vector<OipData> inputs = {};  // one for each object in "inputs"
};

// The numbers of "data" become bytes as they come: as JSON values they would take many times the
// memory of the request. Everything else is small, or refused, as are keys that come twice.
OipJson read_oip_json(std::string_view text);

constexpr size_t kMostOipTensors = 64;

}  // namespace perceiver
