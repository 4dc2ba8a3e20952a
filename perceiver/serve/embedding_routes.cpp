// GET /v1/models and POST /v1/embeddings, as OpenAI's clients ask.
#include <ATen/ATen.h>

#include "perceiver/core/base64.h"
#include "perceiver/serve/parts.h"
#include "perceiver/serve/reading.h"
#include "perceiver/serve/refused.h"
#include "perceiver/serve/small_json.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostTexts = 64;

struct EmbeddingsAsked {
  std::vector<std::string> texts;
  std::string model = {};
  bool base64 = false;
};

std::string string_of(const nlohmann::json& value, const std::string& name) {
  if (!value.is_string()) refuse(400, "{}: expected a text, got {}", name, value.type_name());
  return value.get<std::string>();
}

EmbeddingsAsked read_asked(const HttpRequest& request) {
  if (request.content_type() != "application/json") {
    refuse(415, "the body is of type '{}', expected application/json", request.content_type());
  }
  const nlohmann::json body = small_json(request.body);
  if (!body.is_object()) refuse(400, "the body: expected an object, got {}", body.type_name());
  EmbeddingsAsked asked;
  for (const auto& [name, value] : body.items()) {
    if (name == "input") {
      const nlohmann::json list = value.is_array() ? value : nlohmann::json::array({value});
      for (const nlohmann::json& one : list) asked.texts.push_back(string_of(one, "input"));
    } else if (name == "model") {
      asked.model = string_of(value, name);
    } else if (name == "encoding_format") {
      const std::string format = string_of(value, name);
      if (format != "float" && format != "base64") {
        refuse(400, "encoding_format: expected float or base64, got '{}'", format);
      }
      asked.base64 = format == "base64";
    } else if (name == "user") {
      string_of(value, name);
    } else {
      refuse(400, "unknown option '{}'; there are input, model, encoding_format and user", name);
    }
  }
  if (asked.texts.empty() || asked.texts.size() > kMostTexts) {
    refuse(400, "input: expected 1 to {} texts, got {}", kMostTexts, asked.texts.size());
  }
  for (const std::string& text : asked.texts) {
    if (text.empty()) refuse(400, "input: a text is empty");
  }
  return asked;
}

Json json_of(const Tensor& embedding, bool base64) {
  const Tensor values = embedding.to(at::kCPU, at::kFloat).contiguous();
  const float* data = values.const_data_ptr<float>();
  if (base64) {
    return base64_text({reinterpret_cast<const char*>(data), values.nbytes()});
  }
  return std::vector<float>(data, data + values.numel());
}

HttpResponse embeddings(ServerParts& parts, const HttpRequest& request) {
  accepted(request, {"application/json"});
  const EmbeddingsAsked asked = read_asked(request);
  ServedModel& served = model_for(parts, "/v1/embeddings", asked.model, {});
  std::vector<Work> works;
  int64_t tokens = 0;
  for (const std::string& text : asked.texts) {
    const File file{"the text", text};
    works.push_back(work_of_files(served, std::span(&file, 1), "encode", [](Application& task) {
      return
          [&task](const Example& inputs) { return task.encode(inputs).to(at::kCPU, at::kFloat); };
    }));
    tokens += num_tokens(works.back().inputs);
  }
  parts.engine.run(works);
  Json data = Json::array();
  Spent spent;
  for (size_t i = 0; i < works.size(); ++i) {
    const Tensor mean = works[i].outputs.at(kOutput).mean(at::IntArrayRef{0, 1});
    data.push_back(
        {{"object", "embedding"}, {"index", i}, {"embedding", json_of(mean, asked.base64)}});
    spent.queue = std::max(spent.queue, works[i].spent.queue);
    spent.model = std::max(spent.model, works[i].spent.model);
  }
  return json_response({{"object", "list"},
                        {"data", std::move(data)},
                        {"model", served.name},
                        {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}},
                       spent);
}

HttpResponse models(ServerParts& parts) {
  Json data = Json::array();
  if (parts.engine.state() == Engine::State::kReady) {
    for (const ServedModel& served : parts.engine.models()) data.push_back(to_json(served, false));
  }
  return json_response({{"object", "list"}, {"data", std::move(data)}});
}

}  // namespace

void add_embedding_routes(Router& router, ServerParts& parts) {
  add_route(router, parts, "GET", "/v1/models", Effort::kNone,
            [&parts](const HttpRequest&) { return models(parts); });
  add_route(router, parts, "POST", "/v1/embeddings", Effort::kModel,
            [&parts](const HttpRequest& request) { return embeddings(parts, request); });
}

}  // namespace perceiver
