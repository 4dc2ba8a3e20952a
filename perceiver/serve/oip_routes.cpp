// /v2: the Open Inference Protocol over the models that are served.
#include <fmt/ranges.h>

#include <algorithm>

#include "perceiver/core/json_text.h"
#include "perceiver/serve/oip_model.h"
#include "perceiver/serve/parts.h"
#include "perceiver/serve/refused.h"
#include "perceiver/tasks/arrays/run.h"
#include "perceiver/tasks/language/classifier.h"
#include "perceiver/tasks/language/model.h"
#include "perceiver/zoo/reference_io.h"

namespace perceiver {
namespace {

HttpResponse json_of(const nlohmann::json& json) { return {.body = json_text(json) + "\n"}; }

OipModel described(const ServedModel& served) {
  const std::optional<OipModel> model = oip_model(served);
  if (!model) {
    refuse(422, "{}: models of the task {} have no arrays that the protocol could name",
           served.name, task_name(served.model));
  }
  return *model;
}

// Inputs of one number of examples can be computed with those of others.
std::optional<int64_t> rows_of(const TensorMap& inputs) {
  const int64_t rows = inputs.begin()->second.size(0);
  for (const auto& [name, tensor] : inputs) {
    if (tensor.size(0) != rows || name.ends_with("_points")) return {};
  }
  return rows;
}

int64_t longest_text(const Model& model) {
  if (const auto* config = model.settings->model<LanguageConfig>()) return config->num_inputs;
  const auto* config = model.settings->model<TextClassifierConfig>();
  return config == nullptr ? 0 : config->num_inputs;
}

void check_sizes(ServerParts& parts, const ServedModel& served, const TensorMap& inputs) {
  for (const auto& [name, tensor] : inputs) {
    if (name.ends_with("_points")) continue;
    const int64_t rows = tensor.size(0), first = inputs.begin()->second.size(0);
    if (rows != first) refuse(400, "input '{}' has {} examples, others have {}", name, rows, first);
    if (rows > parts.options.engine.most_rows) {
      refuse(422, "{} examples at once, expected at most {}", rows, parts.options.engine.most_rows);
    }
  }
  const auto ids = inputs.find("ids"), mask = inputs.find("mask");
  if (ids == inputs.end()) return;
  if (mask != inputs.end() && mask->second.sizes() != ids->second.sizes()) {
    refuse(400, "ids and mask differ in shape");
  }
  const int64_t most = longest_text(served.model);
  if (ids->second.size(1) > most) {
    refuse(422, "ids of {} elements, the model reads {} at most", ids->second.size(1), most);
  }
}

OipRequest parsed(const HttpRequest& request) {
  try {
    return parse_oip(request);
  } catch (const Error& e) {
    refuse(400, "{}", e.what());
  }
}

std::vector<std::string> wanted_outputs(const OipRequest& asked, const OipModel& model) {
  std::vector<std::string> names, wanted;
  for (const OipModel::Array& array : model.outputs) names.push_back(array.name);
  for (const OipRequest::Output& output : asked.outputs) {
    if (std::ranges::find(names, output.name) == names.end()) {
      refuse(400, "unknown output '{}'; the model gives {}", output.name, fmt::join(names, ", "));
    }
    wanted.push_back(output.name);
  }
  return wanted;
}

// Of arrays of one's own: as `run` has them, by the names of the config.
Example run_own(Model& model, const Example& inputs, const std::vector<std::string>& wanted) {
  const ArraysConfig& config = *model.settings->model<ArraysConfig>();
  const ArrayTables request(
      {table_of("the request", inputs, needed_arrays(config, /*targets=*/false))});
  Example outputs;
  for (auto& [name, tensor] : run_arrays(model, request)) {
    const bool asked = wanted.empty() || std::ranges::find(wanted, name) != wanted.end();
    if (asked) outputs.emplace(name, tensor);
  }
  return outputs;
}

HttpResponse infer(ServerParts& parts, const HttpRequest& request) {
  ServedModel& served = model_named(parts, request.parts.at("model"));
  const OipModel model = described(served);
  const OipRequest asked = parsed(request);
  const std::vector<std::string> wanted = wanted_outputs(asked, model);
  const bool own = task_name(served.model) == "arrays";
  Work work{.model = served,
            .pass =
                [wanted, own](Model& loaded, const Example& inputs) {
                  return own ? run_own(loaded, inputs, wanted)
                             : run_reference(loaded, inputs, wanted);
                },
            .inputs = tensors_of(model, asked.inputs)};
  check_sizes(parts, served, work.inputs);
  if (!own && rows_of(work.inputs)) work.kind = fmt::format("infer {}", fmt::join(wanted, " "));
  parts.engine.run(std::span(&work, 1));
  std::vector<OipTensor> outputs;
  for (const auto& [name, tensor] : work.outputs) outputs.push_back(oip_tensor(name, tensor));
  HttpResponse response = oip_response(asked, served.name, outputs);
  add_timing(response, work.spent);
  return response;
}

HttpResponse ready(const ServerParts& parts) {
  const bool is = parts.engine.state() == Engine::State::kReady && !parts.stopping;
  HttpResponse response = json_of({{"ready", is}});
  if (!is) response.status = 503;
  return response;
}

}  // namespace

void add_oip_routes(Router& router, ServerParts& parts) {
  const auto get = [&](const std::string& pattern, const Answers& answers) {
    add_route(router, parts, "GET", pattern, Effort::kNone, answers);
  };
  get("/v2", [&parts](const HttpRequest&) { return json_of(oip_server(parts.options.version)); });
  get("/v2/health/live", [](const HttpRequest&) { return json_of({{"live", true}}); });
  get("/v2/health/ready", [&parts](const HttpRequest&) { return ready(parts); });
  get("/v2/models/{model}", [&parts](const HttpRequest& request) {
    return json_of(oip_metadata(described(model_named(parts, request.parts.at("model")))));
  });
  get("/v2/models/{model}/ready", [&parts](const HttpRequest& request) {
    return json_of({{"name", model_named(parts, request.parts.at("model")).name}, {"ready", true}});
  });
  add_route(router, parts, "POST", "/v2/models/{model}/infer", Effort::kModel,
            [&parts](const HttpRequest& request) { return infer(parts, request); });
}

}  // namespace perceiver
