// POST /fill and /classify.
#include <ATen/ATen.h>

#include "perceiver/modalities/text_file.h"
#include "perceiver/serve/parts.h"
#include "perceiver/serve/reading.h"
#include "perceiver/serve/refused.h"
#include "perceiver/tasks/classes.h"
#include "perceiver/tasks/json.h"
#include "perceiver/tasks/language/fill_texts.h"
#include "perceiver/tasks/text_tasks.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

HttpResponse fill_text(ServerParts& parts, const HttpRequest& request) {
  accepted(request, {"application/json"});
  const Asked asked(request, "POST /fill", parts.samples);
  ServedModel& served = model_for(parts, "/fill", asked.text("model"), asked.files());
  if (asked.files().size() != 1) refuse(400, "give one text");
  const std::string text =
      asked.has_text() ? asked.text("text") : std::string(text_in(asked.files()[0]));
  FillOptions options{.top = asked.number("top", 5)};
  if (asked.has("bytes")) options.num_bytes = asked.number("bytes", 0);
  Json json;
  const Spent spent = parts.engine.run(served, [&](Model& model) {
    json = with_origin(filled_json(text, fill(model, text, options)), model);
  });
  return json_response(json, spent);
}

// Of a model of GLUE, the answers to its tasks.
HttpResponse answer_of_tasks(ServerParts& parts, const Asked& asked, ServedModel& served) {
  const std::vector<File>& texts = asked.files();
  Json json = {{"text", text_in(texts[0])}};
  if (texts.size() > 1) json["pair"] = text_in(texts[1]);
  const Spent spent = parts.engine.run(served, [&](Model& model) {
    json["tasks"] = to_json(answer_tasks(model, texts, asked.list("task")));
  });
  return json_response(with_origin(json, served.model), spent);
}

HttpResponse classify_file(ServerParts& parts, const HttpRequest& request) {
  accepted(request, {"application/json"});
  const Asked asked(request, "POST /classify", parts.samples);
  ServedModel& served = model_for(parts, "/classify", asked.text("model"), asked.files());
  if (asked.has("task")) return answer_of_tasks(parts, asked, served);
  Work work = work_of_files(served, asked.files(), "classify", [](Application& task) {
    return [&task](const Example& inputs) { return task.classify(inputs).cpu(); };
  });
  parts.engine.run(std::span(&work, 1));
  // The views of a file are averaged.
  const Tensor probabilities = work.outputs.at(kOutput).mean(0);
  const Model& model = served.model;
  const Json top = to_json(likeliest_classes(probabilities, model.labels, asked.number("top", 5)));
  return json_response(with_origin({{"top", top}}, model), work.spent);
}

}  // namespace

void add_text_routes(Router& router, ServerParts& parts) {
  add_route(router, parts, "POST", "/fill", Effort::kModel,
            [&parts](const HttpRequest& request) { return fill_text(parts, request); });
  add_route(router, parts, "POST", "/classify", Effort::kModel,
            [&parts](const HttpRequest& request) { return classify_file(parts, request); });
}

}  // namespace perceiver
