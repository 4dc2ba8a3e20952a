#include "perceiver/serve/oip.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "perceiver/core/error_test.h"
#include "perceiver/serve/oip_json.h"

namespace perceiver {
namespace {

using nlohmann::json;

HttpRequest request_of(std::string body, int64_t json_size = -1) {
  HttpRequest request{.method = "POST", .body = std::move(body)};
  if (json_size >= 0) {
    request.headers.emplace_back("inference-header-content-length", std::to_string(json_size));
  }
  return request;
}

OipRequest parse(const std::string& body) { return parse_oip(request_of(body)); }

// The JSON of one input, and bytes behind it.
OipRequest parse_binary(const std::string& text, const std::string& bytes) {
  return parse_oip(request_of(text + bytes, static_cast<int64_t>(text.size())));
}

std::string one_input(const std::string& rest) {
  return R"({"inputs":[{"name":"x",)" + rest + "}]}";
}

template <typename T>
std::string bytes_of(std::initializer_list<T> values) {
  std::string bytes;
  for (const T value : values) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    bytes.append(raw, sizeof(T));
  }
  return bytes;
}

std::string text_bytes(const std::string& text) {
  return bytes_of({static_cast<uint32_t>(text.size())}) + text;
}

std::string data_of(const std::string& datatype, const std::string& data, int64_t size) {
  return parse(one_input(R"("shape":[)" + std::to_string(size) + R"(],"datatype":")" + datatype +
                         R"(","data":)" + data))
      .inputs.at(0)
      .bytes;
}

TEST(Oip, NumbersInJsonBecomeBytes) {
  EXPECT_EQ(data_of("FP32", "[1, -2.5, 1e-3]", 3), bytes_of({1.0f, -2.5f, 1e-3f}));
  EXPECT_EQ(data_of("FP64", "[0.1]", 1), bytes_of({0.1}));
  EXPECT_EQ(data_of("INT64", "[9007199254740993, -9223372036854775808]", 2),
            bytes_of<int64_t>({9007199254740993, std::numeric_limits<int64_t>::min()}));
  EXPECT_EQ(data_of("UINT64", "[18446744073709551615]", 1), bytes_of({~uint64_t{0}}));
  EXPECT_EQ(data_of("INT8", "[-128, 127]", 2), bytes_of<int8_t>({-128, 127}));
  EXPECT_EQ(data_of("UINT16", "[65535]", 1), bytes_of<uint16_t>({65535}));
  EXPECT_EQ(data_of("BOOL", "[true, false]", 2), bytes_of<uint8_t>({1, 0}));
  EXPECT_EQ(data_of("BYTES", R"(["ab", "", "é"])", 3),
            text_bytes("ab") + text_bytes("") + text_bytes("é"));
}

TEST(Oip, IntegersMayBeWrittenWithAPoint) {  // as open-inference-openapi does
  EXPECT_EQ(data_of("INT64", "[5.0, -2.0]", 2), bytes_of<int64_t>({5, -2}));
  EXPECT_EQ(data_of("BOOL", "[1.0, 0.0]", 2), bytes_of<uint8_t>({1, 0}));
}

TEST(Oip, DataMayStandBeforeItsDatatypeAndInListsOfLists) {
  const OipRequest request = parse(
      R"({"inputs":[{"data":[[1,2,3],[4,5,6]],"shape":[2,3],"name":"a","datatype":"INT32"},
          {"name":"b","datatype":"UINT8","shape":[1],"data":[7]}],"id":"me"})");
  EXPECT_EQ(request.id, "me");
  ASSERT_EQ(request.inputs.size(), 2u);
  EXPECT_EQ(request.inputs[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(request.inputs[0].bytes, bytes_of<int32_t>({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(request.inputs[1].bytes, bytes_of<uint8_t>({7}));
}

TEST(Oip, BytesBehindTheJsonAreDealtOutInOrder) {
  const std::string text =
      R"({"inputs":[{"name":"a","shape":[2],"datatype":"BF16","parameters":{"binary_data_size":4}},
          {"name":"b","shape":[1],"datatype":"UINT8","data":[7]},
          {"name":"c","shape":[1,2],"datatype":"BYTES","parameters":{"binary_data_size":11}}],
          "outputs":[{"name":"y","parameters":{"binary_data":true}},{"name":"z"}]})";
  const OipRequest request =
      parse_binary(text, std::string("\x80\x3f\x00\x40", 4) + text_bytes("abc") + text_bytes(""));
  EXPECT_EQ(request.inputs[0].bytes, std::string("\x80\x3f\x00\x40", 4));
  EXPECT_EQ(request.inputs[1].bytes, "\x07");
  EXPECT_EQ(request.inputs[2].bytes, text_bytes("abc") + text_bytes(""));
  EXPECT_TRUE(request.outputs[0].binary);
  EXPECT_FALSE(request.outputs[1].binary);
}

TEST(Oip, KeysThatAreNullAreNotThere) {
  const OipRequest request = parse(
      R"({"id":null,"parameters":null,"outputs":null,"inputs":[{"name":"x","shape":[1],
          "datatype":"FP32","parameters":null,"data":[1]}]})");
  EXPECT_TRUE(request.outputs.empty());
  EXPECT_EQ(request.inputs[0].bytes, bytes_of({1.0f}));
}

std::string refusal(const std::string& body) {
  return error_of([&] { parse(body); });
}

std::string refusal_of_data(const std::string& datatype, const std::string& data) {
  return error_of([&] { data_of(datatype, data, 1); });
}

TEST(Oip, BrokenRequestsAreRefusedWithTheirPlace) {
  EXPECT_EQ(refusal("{"), "the request is broken JSON at byte 2");
  EXPECT_EQ(refusal("[1e999]"), "the request has a number that is too large");
  EXPECT_EQ(refusal("[]"), "the request is no object");
  EXPECT_EQ(refusal("{}"), "the request has no 'inputs'");
  EXPECT_EQ(refusal(R"({"inputs":5})"), "'inputs' is no list");
  EXPECT_EQ(refusal(R"({"inputs":[5]})"), "input 0 is no object");
  EXPECT_EQ(refusal(R"({"input":[]})"), "the request has an unknown key 'input'");
  EXPECT_EQ(refusal(R"({"inputs":[],"inputs":[]})"), "the request has 'inputs' twice");
  EXPECT_EQ(refusal(R"({"inputs":[{"name":"x","name":"y"}]})"), "the request has 'name' twice");
  EXPECT_EQ(refusal(R"({"inputs":[{}]})"), "input 0 has no 'name'");
  EXPECT_EQ(refusal(R"({"inputs":[{"name":5}]})"), "input 0: 'name' is no text");
  EXPECT_EQ(refusal(R"({"id":5})"), "the request: 'id' is no text");
  EXPECT_EQ(refusal(R"({"parameters":5})"), "the request: 'parameters' is no object");
  EXPECT_EQ(refusal(R"({"parameters":{"binary_data_output":1}})"),
            "the request: 'binary_data_output' is neither true nor false");
  const std::string x = R"({"name":"x","shape":[1],"datatype":"INT8","data":[1]})";
  EXPECT_EQ(refusal("{\"inputs\":[" + x + "," + x + "]}"), "two inputs are called 'x'");
  EXPECT_EQ(refusal("{\"inputs\":[" + x +
                    R"(],"outputs":[{"name":"y","parameters":{"classification":3}}]})"),
            "output 0: 'classification' is not known here; POST /classify names classes");
}

TEST(Oip, BrokenTensorsAreRefusedWithTheirPlace) {
  EXPECT_EQ(refusal(one_input(R"("shape":[1],"datatype":"FLOAT","data":[1])")),
            "datatype 'FLOAT' is none; there are BOOL, UINT8, UINT16, UINT32, UINT64, INT8, INT16, "
            "INT32, INT64, FP16, FP32, FP64, BF16, BYTES");
  EXPECT_EQ(refusal(one_input(R"("datatype":"FP32","data":[1])")),
            "input 'x' has no 'shape', a list of sizes");
  EXPECT_EQ(refusal(one_input(R"("shape":[0],"datatype":"FP32","data":[])")),
            "input 'x': 'shape' has a size of 0, or too many elements");
  EXPECT_EQ(refusal(one_input(R"("shape":[1099511627776,1099511627776],"datatype":"FP32",
                                 "data":[])")),
            "input 'x': 'shape' has a size of 1099511627776, or too many elements");
  EXPECT_EQ(refusal(one_input(R"("shape":[1],"datatype":"FP32")")),
            "input 'x': expected either 'data' or the parameter 'binary_data_size'");
  EXPECT_EQ(refusal(one_input(R"("shape":[3],"datatype":"FP32","data":[1,2])")),
            "input 'x': its shape has 3 elements, 'data' has 2");
  EXPECT_EQ(refusal(one_input(R"("shape":[2,3],"datatype":"FP32","data":[[1,2],[3,4],[5,6]])")),
            "input 'x': the lists of 'data' are of shape [3, 2], not [2, 3]");
  EXPECT_EQ(refusal(one_input(R"("shape":[3],"datatype":"FP32","data":[[1,2],[3]])")),
            "input 0: the lists of 'data' are not equally long");
  EXPECT_EQ(refusal(one_input(R"("shape":[2],"datatype":"FP32","data":[1,[2]])")),
            "input 0: the lists of 'data' are not equally long");
  EXPECT_EQ(refusal(one_input(R"("shape":[1],"datatype":"FP32","data":5)")),
            "input 0: 'data' is no list");
  EXPECT_EQ(refusal(one_input(R"("shape":[1],"datatype":"FP32","data":{})")),
            "input 0: 'data' is no list");
  EXPECT_EQ(refusal(one_input(R"("shape":[1],"datatype":"FP32","data":[{}])")),
            "input 0: 'data' has an object");
}

TEST(Oip, NullIsAMissingNumber) {
  const std::string bytes = data_of("FP32", "[1.5, null]", 2);
  EXPECT_EQ(bytes.substr(0, sizeof(float)), bytes_of({1.5f}));
  float missing = 0.0f;
  std::memcpy(&missing, bytes.data() + sizeof(float), sizeof(float));
  EXPECT_TRUE(std::isnan(missing));
  EXPECT_EQ(refusal_of_data("INT8", "[null]"), "input 0: 'data' of INT8: null is no such number");
}

TEST(Oip, NumbersThatDoNotFitAreRefused) {
  EXPECT_EQ(refusal_of_data("INT8", "[128]"), "input 0: 'data' of INT8: 128 is no such number");
  EXPECT_EQ(refusal_of_data("UINT8", "[-1]"), "input 0: 'data' of UINT8: -1 is no such number");
  EXPECT_EQ(refusal_of_data("INT64", "[1.5]"), "input 0: 'data' of INT64: 1.5 is no such number");
  EXPECT_EQ(refusal_of_data("FP32", "[1e39]"), "input 0: 'data' of FP32: 1e+39 is too large");
  EXPECT_EQ(refusal_of_data("FP64", "[\"1\"]"), "input 0: 'data' of FP64: \"1\" is no number");
  EXPECT_EQ(refusal_of_data("BOOL", "[2]"), "input 0: 'data' of BOOL: 2 is neither true nor false");
  EXPECT_EQ(refusal_of_data("BYTES", "[2]"), "input 0: 'data' of BYTES: 2 is no text");
  EXPECT_EQ(refusal_of_data("BF16", "[2]"),
            "input 0: 'data' of BF16: JSON cannot hold BF16; send it with binary_data_size");
}

std::string refusal_of_bytes(const std::string& rest, const std::string& bytes) {
  return error_of([&] { parse_binary(one_input(rest), bytes); });
}

TEST(Oip, BytesThatDoNotFitAreRefused) {
  EXPECT_EQ(refusal_of_bytes(R"("shape":[2],"datatype":"FP32","parameters":{"binary_data_size":8})",
                             "1234"),
            "input 'x': 'binary_data_size' is 8, behind the JSON there are 4 bytes more");
  EXPECT_EQ(refusal_of_bytes(R"("shape":[2],"datatype":"FP32","parameters":{"binary_data_size":4})",
                             "1234"),
            "input 'x': its shape has 2 elements of 4 bytes, it has 4 bytes");
  EXPECT_EQ(refusal_of_bytes(R"("shape":[1],"datatype":"FP32","parameters":{"binary_data_size":4})",
                             "12345"),
            "behind the last input's bytes there are 1 more");
  EXPECT_EQ(refusal_of_bytes(
                R"("shape":[1],"datatype":"INT8","parameters":{"binary_data_size":-1})", "1"),
            "input 'x': 'binary_data_size' is no number of bytes");
  EXPECT_EQ(refusal_of_bytes(R"("shape":[1],"datatype":"INT8","data":[1],
                                "parameters":{"binary_data_size":1})",
                             "1"),
            "input 'x': expected either 'data' or the parameter 'binary_data_size'");
  const std::string texts = R"("datatype":"BYTES","parameters":{"binary_data_size":7})";
  EXPECT_EQ(refusal_of_bytes("\"shape\":[2]," + texts, text_bytes("abc")),
            "input 'x': its shape has 2 elements, it has 1");
  EXPECT_EQ(refusal_of_bytes("\"shape\":[1]," + texts, bytes_of<uint32_t>({4}) + "abc"),
            "input 'x': BYTES are cut short");
  EXPECT_EQ(error_of([] { parse_oip(request_of("{}", 3)); }),
            "Inference-Header-Content-Length is '3', the body has 2 bytes");
}

TEST(Oip, EveryTruncationOfARequestIsRefused) {
  const std::string text =
      R"({"inputs":[{"name":"a","shape":[2],"datatype":"FP16","parameters":{"binary_data_size":4}},
          {"name":"b","shape":[2,1],"datatype":"BYTES","data":[["x"],["y"]]}]})";
  const std::string whole = text + "1234";
  parse_binary(text, "1234");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(error_of([&] {
                parse_oip(request_of(whole.substr(0, size), static_cast<int64_t>(text.size())));
              }),
              "no error");
    if (size < text.size()) {
      EXPECT_NE(refusal(whole.substr(0, size)), "no error");
    }
  }
}

TEST(Oip, JsonThatIsOnlyLargeTakesNoMemory) {
  std::string many = "[", deep, lists = "[";
  for (int i = 0; i < 100000; ++i) many += "0,", lists += "[],", deep += "[";
  EXPECT_EQ(refusal("{\"id\":" + many + "0]}"), "the request has more than 4096 values");
  EXPECT_EQ(refusal("{\"id\":" + deep), "the request is nested deeper than 20");
  EXPECT_EQ(refusal(one_input(R"("shape":[1],"datatype":"INT8","data":)" + lists + "[]]")),
            "input 'x': its shape has 1 elements, 'data' has 0");
  // Numbers are not kept as JSON.
  const OipJson read =
      read_oip_json(one_input(R"("shape":[100001],"datatype":"INT8","data":)" + many + "0]"));
  EXPECT_TRUE(read.content.at("inputs").at(0).at("data").empty());
  EXPECT_EQ(read.inputs.at(0).bytes, std::string(100001, '\0'));
}

OipTensor reals() { return {.name = "y", .shape = {1, 2}, .bytes = bytes_of({0.1f, -2.0f})}; }

TEST(Oip, AnAnswerInJsonHasTheShortestNumbers) {
  OipRequest request{.id = "7\""};
  const HttpResponse response = oip_response(request, "m", std::vector{reals()});
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_EQ(response.body,
            R"({"model_name":"m","model_version":"1","id":"7\"","outputs":[{"name":"y",)"
            R"("datatype":"FP32","shape":[1,2],"data":[0.1,-2]}]})"
            "\n");
}

TEST(Oip, AnAnswerInBytesReadsAsARequestWould) {
  const OipRequest request{.outputs = {{"y", true}, {"t", false}, {"z", true}}};
  const std::vector<OipTensor> outputs = {
      reals(),
      {.name = "t", .type = OipType::kBytes, .shape = {1}, .bytes = text_bytes("a\"b")},
      {.name = "z", .type = OipType::kFp16, .shape = {1}, .bytes = "hi"}};
  const HttpResponse response = oip_response(request, "m", outputs);
  ASSERT_EQ(response.headers.size(), 1u);
  EXPECT_EQ(response.headers[0].first, "Inference-Header-Content-Length");
  const size_t size = std::stoul(response.headers[0].second);
  const json text = json::parse(response.body.substr(0, size));
  EXPECT_EQ(response.body.substr(size), outputs[0].bytes + "hi");
  EXPECT_EQ(text.at("outputs").at(0).at("parameters").at("binary_data_size"), 8);
  EXPECT_EQ(text.at("outputs").at(1).at("data"), json({"a\"b"}));
  EXPECT_EQ(text.at("outputs").at(2).at("datatype"), "FP16");
}

TEST(Oip, OutputsThatNobodyNamedAreAsTheRequestSays) {
  const OipRequest request{.binary_output = true};
  EXPECT_EQ(oip_response(request, "m", std::vector{reals()}).headers.size(), 1u);
}

TEST(Oip, WhatJsonCannotHoldIsRefused) {
  const OipTensor half{.name = "y", .type = OipType::kFp16, .shape = {1}, .bytes = "hi"};
  EXPECT_EQ(error_of([&] { oip_response({}, "m", std::vector{half}); }),
            "output 'y' is FP16, which JSON cannot hold; ask for it with binary_data");
  OipTensor infinite = reals();
  infinite.bytes = bytes_of({0.0f, std::numeric_limits<float>::infinity()});
  EXPECT_EQ(error_of([&] { oip_response({}, "m", std::vector{infinite}); }),
            "output 'y' has numbers that are none or infinite, which JSON cannot hold; ask for it "
            "with binary_data");
}

TEST(Oip, MetadataIsAsTheProtocolSays) {
  const OipModel model{
      .name = "m",
      .inputs = {{.name = "ids", .type = OipType::kInt64, .shape = {-1, 2048}},
                 {.name = "mask", .type = OipType::kBool, .shape = {-1, 2048}, .optional = true}},
      .outputs = {{.name = "logits", .shape = {-1, 2048, 262}}}};
  EXPECT_EQ(oip_metadata(model), json::parse(R"({"name":"m","versions":["1"],
      "platform":"perceiver","inputs":[{"name":"ids","datatype":"INT64","shape":[-1,2048]},
      {"name":"mask","datatype":"BOOL","shape":[-1,2048],"parameters":{"optional":true}}],
      "outputs":[{"name":"logits","datatype":"FP32","shape":[-1,2048,262]}]})"));
  EXPECT_EQ(oip_server("0.1.0"), json::parse(R"({"name":"perceiver","version":"0.1.0",
      "extensions":["binary_tensor_data"]})"));
}

}  // namespace
}  // namespace perceiver
