#include "perceiver/tasks/query.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "perceiver/core/error.h"
#include "perceiver/core/text.h"
#include "perceiver/media/flow.h"
#include "perceiver/media/image.h"
#include "perceiver/tasks/classes.h"
#include "perceiver/weights/arrays.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

void check_questions(const Query& query, const Application& task, const std::string& name) {
  const std::vector<std::string> takes = task.questions();
  for (const auto& [given, option] : {std::pair{!query.pixels.empty(), "--pixels"},
                                      {!query.box.empty(), "--box"},
                                      {!query.frames.empty(), "--frames"},
                                      {!query.seconds.empty(), "--seconds"},
                                      {!query.words.empty(), "--words"},
                                      {!query.tasks.empty(), "--tasks"},
                                      {query.label, "--label"},
                                      {!query.at.empty(), "--at"}}) {
    if (given && std::find(takes.begin(), takes.end(), option) == takes.end()) {
      fail("{}: cannot be asked of latents of the task {}, which takes {}", option, name,
           fmt::join(takes, ", "));
    }
  }
}

void check_model(const LatentsFile& file, const Model& model) {
  if (!model.fingerprint.empty() && file.fingerprint != model.fingerprint) {
    fail(
        "{}: the latents are of {} (fingerprint {}), which is not {} (fingerprint {}); query them "
        "with the model that made them",
        file.name, file.model, file.fingerprint, model.source, model.fingerprint);
  }
  if (file.task != task_name(model)) {
    fail("{}: latents of the task {}, the model is of the task {}", file.name, file.task,
         task_name(model));
  }
  const std::optional<ArraySize> size = model.task->summary(Split::kEval).latents;
  const Tensor& latents = file.latents();
  if (size && (latents.size(1) != size->index || latents.size(2) != size->channels)) {
    fail("{}: latents of {}, the model's are {}", file.name,
         array(latents.size(1), latents.size(2)), array(size->index, size->channels));
  }
}

// The name by which the model is found again: its folder, or its file where that is all.
std::string name_of(const Model& model) {
  const bool is_folder = std::filesystem::exists(model.folder / "config.json");
  return is_folder ? model.folder.string() : model.source;
}

// flow [2, h, w] as rows of pixels.
Json rows_of(const Tensor& flow) {
  const Tensor pixels = flow.permute({1, 2, 0}).contiguous();
  const auto value = pixels.accessor<float, 3>();
  Json rows = Json::array();
  for (int64_t y = 0; y < value.size(0); ++y) {
    Json row = Json::array();
    for (int64_t x = 0; x < value.size(1); ++x) row.push_back({value[y][x][0], value[y][x][1]});
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

LatentsFile encode(Model& model, std::span<const File> files, const Hooks& hooks) {
  const at::NoGradGuard no_grad;
  std::vector<std::string> names;
  for (const File& file : files) names.push_back(file.name);
  LatentsFile encoded{.task = task_name(model),
                      .model = name_of(model),
                      .fingerprint = model.fingerprint,
                      .input = fmt::format("{}", fmt::join(names, ", "))};
  application_of(model).encode_files(files, encoded, hooks);
  return encoded;
}

Answer query(Model& model, const LatentsFile& file, const Query& query) {
  const at::NoGradGuard no_grad;
  check_model(file, model);
  Application& task = application_of(model);
  check_questions(query, task, file.task);
  return task.answer(file, query, model.labels);
}

Json full_json(const Answer& answer) {
  Json json = answer.json;
  if (answer.flow.defined()) json["flow"] = rows_of(answer.flow);
  return json;
}

void write_answer(const Answer& answer, const std::string& path) {
  const auto required = [&](bool there, const char* what, const char* ask) {
    if (!there) fail("-o {}: the answer is no {}; {}, or take .safetensors", path, what, ask);
  };
  if (path.ends_with(".safetensors") || path.ends_with(".npz")) {
    write_arrays(path, answer.arrays);
  } else if (path.ends_with(".png")) {
    required(answer.picture.defined(), "picture", "ask for --box or --frames");
    write_file(path, encode_png(answer.picture));
  } else if (path.ends_with(".flo")) {
    required(answer.flow.defined(), "flow of a box", "ask optical flow for --box");
    write_file(path, encode_flo(answer.flow));
  } else if (path.ends_with(".wav")) {
    required(answer.sound.has_value(), "sound", "ask for --seconds");
    write_file(path, encode_wav(*answer.sound));
  } else {
    fail("-o {}: expected a name that ends in .png, .flo, .wav, .npz or .safetensors", path);
  }
}

Answer answer_classes(const Tensor& probabilities, const Query& query,
                      const std::vector<std::string>& labels) {
  const Tensor mean = probabilities.to(at::kCPU, at::kFloat).mean(0);
  const std::vector<RankedClass> top = likeliest_classes(mean, labels, query.top);
  Answer answer{.json = {{"top", to_json(top)}}, .arrays = {{"probabilities", mean}}};
  std::vector<std::vector<std::string>> rows = {{"class", "probability"}};
  for (const RankedClass& one : top) {
    rows.push_back({one.name, fmt::format("{:.3f}", one.probability)});
  }
  answer.text = table(rows);
  return answer;
}

}  // namespace perceiver
