// The Open Inference Protocol, version 2, as KServe, Triton and MLServer speak it: tensors by name,
// in JSON, or with the extension for binary tensors, where a header says how long the JSON is and
// the tensors' bytes follow it. No LibTorch header here: this part is fuzzed alone.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "perceiver/http/message.h"

namespace perceiver {

enum class OipType {
  kBool,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFp16,
  kFp32,
  kFp64,
  kBf16,
  kBytes
};

std::string_view oip_name(OipType type);  // "FP32"
OipType oip_type(std::string_view name);  // fails for what the protocol does not have
int64_t oip_element_bytes(OipType type);  // 0 for kBytes, whose elements differ

struct OipTensor {
  std::string name = {};
  OipType type = OipType::kFp32;
  std::vector<int64_t> shape = {};  // each at least 1
  // Row by row, little-endian, a byte for a kBool; before each element of kBytes stands its length,
  // in four bytes.
  std::string bytes = {};
};

struct OipRequest {
  std::string id = {};
  std::vector<OipTensor> inputs = {};

  struct Output {
    std::string name = {};
    bool binary = false;
  };
  std::vector<Output> outputs = {};  // empty: all there are
  bool binary_output = false;        // of those that say nothing else
};

// The body of POST /v2/models/M/infer. Fails where a tensor is not as long as its shape says, or
// the bytes behind the JSON are not those it names.
OipRequest parse_oip(const HttpRequest& request);

// The answer to it, each output in the form that was asked for. Fails for numbers that JSON cannot
// hold, where JSON was asked for.
HttpResponse oip_response(const OipRequest& request, std::string_view model,
                          std::span<const OipTensor> outputs);

struct OipModel {
  struct Array {
    std::string name = {};
    OipType type = OipType::kFp32;
    std::vector<int64_t> shape = {};  // -1: any size
    bool optional = false;
  };
  std::string name = {};
  std::vector<Array> inputs = {}, outputs = {};
};

nlohmann::json oip_metadata(const OipModel& model);   // GET /v2/models/M
nlohmann::json oip_server(std::string_view version);  // GET /v2

}  // namespace perceiver
