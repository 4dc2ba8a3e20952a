#include "perceiver/serve/answers.h"

#include <ATen/ATen.h>

#include <cmath>

#include "perceiver/media/flow.h"
#include "perceiver/media/image.h"
#include "perceiver/serve/parts.h"
#include "perceiver/weights/safetensors.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

Json lists_of(const Tensor& weights) {
  Json list = Json::array();
  if (weights.dim() > 1) {
    for (const Tensor& part : weights.unbind(0)) list.push_back(lists_of(part));
    return list;
  }
  const Tensor row = weights.to(at::kCPU, at::kFloat).contiguous();
  const float* values = row.const_data_ptr<float>();
  for (int64_t i = 0; i < row.numel(); ++i) {
    list.push_back(std::round(static_cast<double>(values[i]) * 1e4) / 1e4);
  }
  return list;
}

}  // namespace

Json weights_json(const Tensor& weights) {
  return lists_of(weights / weights.max().clamp_min(1e-30));
}

HttpResponse bytes_response(std::string type, std::string bytes) {
  return {.content_type = std::move(type), .body = std::move(bytes)};
}

HttpResponse answer_response(const Answer& answer, const HttpRequest& request, Json more) {
  std::vector<std::string> offered = {"application/json"};
  if (answer.picture.defined()) offered.emplace_back("image/png");
  if (answer.sound) offered.emplace_back("audio/wav");
  offered.emplace_back("application/octet-stream");
  const std::string type = accepted(request, offered);
  if (type == "image/png") return bytes_response(type, encode_png(answer.picture));
  if (type == "audio/wav") return bytes_response(type, encode_wav(*answer.sound));
  if (type == "application/octet-stream") {
    return bytes_response(
        type, answer.flow.defined() ? encode_flo(answer.flow) : encode_safetensors(answer.arrays));
  }
  Json json = full_json(answer);
  json.update(more);
  return json_response(json);
}

}  // namespace perceiver
