#include "python/library/loaded_model.h"

#include <ATen/ATen.h>

#include <nlohmann/json.hpp>

#include "perceiver/core/json_text.h"
#include "perceiver/core/names.h"
#include "perceiver/nn/layers.h"
#include "perceiver/perceiver.h"
#include "perceiver/tasks/arrays/run.h"
#include "perceiver/zoo/reference_io.h"
#include "python/library/clips.h"
#include "python/library/plain_errors.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

template <typename Named>
TensorDict dict_of(const Named& tensors) {
  TensorDict dict;
  for (const auto& [name, tensor] : tensors) dict.insert(name, tensor);
  return dict;
}

std::optional<Reference> reference_of(const std::string& word) {
  if (word.empty()) return {};
  for (const Reference reference : {Reference::kDeepMind, Reference::kHuggingFace}) {
    if (word == to_word(reference)) return reference;
  }
  fail("semantics: expected \"deepmind\" or \"huggingface\", got \"{}\"", word);
}

at::ScalarType dtype_of(const std::string& word) {
  if (word == "float32") return at::kFloat;
  if (word == "bfloat16") return at::kBFloat16;
  if (word == "float16") return at::kHalf;
  fail("dtype: expected \"float32\", \"bfloat16\" or \"float16\", got \"{}\"", word);
}

Json json_of(const ClipReconstruction& result, const std::vector<std::string>& labels,
             int64_t top) {
  const auto decibels = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json();
  };
  return {
      {"psnr", {{"video", decibels(result.video_psnr)}, {"audio", decibels(result.audio_psnr)}}},
      {"top", to_json(likeliest_classes(result.probabilities, labels, top))}};
}

MultimodalImpl& clips_of(Model& model, std::string_view verb) {
  return model_as<MultimodalImpl>(model, verb, "multimodal");
}

JsonAndArrays autoencoded(Model& model, const ArrayClip& clip,
                          const std::vector<std::string>& masked, int64_t top) {
  const ClipReconstruction result = autoencode_arrays(clips_of(model, "autoencode"), clip, masked);
  TensorDict arrays;
  arrays.insert("video", result.clip.video);
  arrays.insert("audio", result.clip.audio);
  return {json_text(json_of(result, model.labels, top)), arrays};
}

}  // namespace

PythonLatents::PythonLatents(const std::string& path)
    : file(plainly([&] { return read_latents(path); })) {}

TensorDict PythonLatents::arrays() const { return dict_of(file.arrays); }

std::string PythonLatents::facts() const {
  Json geometry = Json::object();
  for (const auto& [name, numbers] : file.geometry) geometry[name] = numbers;
  return json_text(Json{{"task", file.task},
                        {"model", file.model},
                        {"fingerprint", file.fingerprint},
                        {"input", file.input},
                        {"geometry", geometry}});
}

PythonModel::PythonModel(const std::string& name, const std::string& semantics)
    : model_(plainly([&] { return load_model(find_model(name), reference_of(semantics)); })) {
  model_.fingerprint = fingerprint(model_);
}

std::string PythonModel::facts() const {
  const Settings& settings = *model_.settings;
  return json_text(Json{{"source", model_.source},
                        {"task", task_name(model_)},
                        {"origin", to_string(model_.origin)},
                        {"labels", model_.labels},
                        {"parameters", num_parameters(model_.task->model())},
                        {"settings", settings.model_text()},
                        {"random", model_.origin.is_random()}});
}

void PythonModel::to(const std::string& device, const std::string& dtype) {
  plainly([&] { model_.task->model().to(at::Device(device), dtype_of(dtype)); });
}

std::string PythonModel::fill(const std::string& text, int64_t top,
                              std::optional<int64_t> num_bytes) {
  return plainly([&] {
    const FilledText filled = perceiver::fill(model_, text, {.top = top, .num_bytes = num_bytes});
    return json_text(filled_json(text, filled));
  });
}

std::string PythonModel::classify(const std::vector<Source>& sources,
                                  const std::optional<Source>& pair, int64_t top, int64_t batch) {
  return plainly([&] {
    std::vector<ClassifySource> files;
    for (const File& file : files_of(sources, model_)) files.push_back({file.name, file.bytes});
    ClassifyOptions options{.top = top, .batch = batch};
    if (pair) options.pair = file_of(*pair, model_);
    Json all = Json::array();
    for (const Classified& one : perceiver::classify(model_, files, options)) {
      if (!one.error.empty()) fail("{}", one.error);
      all.push_back(to_json(one.top));
    }
    return json_text(all);
  });
}

std::string PythonModel::answer_tasks(const std::vector<Source>& texts,
                                      const std::vector<std::string>& tasks) {
  return plainly([&] {
    return json_text(to_json(perceiver::answer_tasks(model_, files_of(texts, model_), tasks)));
  });
}

Tensor PythonModel::flow(const Source& first, const Source& second) {
  return plainly([&] {
    const Tensor a = decode_image(file_of(first, model_));
    return estimate_flow(model_, a, decode_image(file_of(second, model_))).flow;
  });
}

c10::intrusive_ptr<PythonLatents> PythonModel::encode(const std::vector<Source>& sources) {
  return plainly([&] {
    return c10::make_intrusive<PythonLatents>(perceiver::encode(model_, files_of(sources, model_)));
  });
}

c10::intrusive_ptr<PythonLatents> PythonModel::encode_clip(const std::optional<Tensor>& video,
                                                           const std::optional<Tensor>& audio) {
  return plainly([&] {
    LatentsFile file{.task = task_name(model_),
                     .model = model_.source,
                     .fingerprint = model_.fingerprint,
                     .input = "arrays"};
    encode_arrays(clips_of(model_, "encode"), {video.value_or(Tensor()), audio.value_or(Tensor())},
                  file);
    return c10::make_intrusive<PythonLatents>(std::move(file));
  });
}

JsonAndArrays PythonModel::query(const c10::intrusive_ptr<PythonLatents>& latents,
                                 const c10::intrusive_ptr<PythonQuestion>& q) {
  return plainly([&]() -> JsonAndArrays {
    const Answer answer = perceiver::query(model_, latents->file,
                                           {.pixels = q->pixels,
                                            .box = q->box,
                                            .frames = q->frames,
                                            .seconds = q->seconds,
                                            .words = q->words,
                                            .tasks = q->tasks,
                                            .label = q->label,
                                            .top = q->top});
    TensorDict arrays = dict_of(answer.arrays);
    if (answer.picture.defined()) arrays.insert("picture", answer.picture);
    if (answer.flow.defined()) arrays.insert("flow", answer.flow);
    if (answer.sound) arrays.insert("sound", answer.sound->samples);
    return {json_text(answer.json), arrays};
  });
}

JsonAndArrays PythonModel::attend(const std::vector<Source>& sources, bool query,
                                  const std::vector<int64_t>& latents, int64_t clusters,
                                  int64_t seed, std::optional<int64_t> head) {
  return plainly([&]() -> JsonAndArrays {
    const AttendMaps maps = perceiver::attend(model_, files_of(sources, model_),
                                              {.query = query,
                                               .latents = latents,
                                               .clusters = clusters,
                                               .seed = static_cast<uint64_t>(seed),
                                               .head = head});
    Json views = Json::array();
    TensorDict arrays;
    arrays.insert("weights", maps.weights);
    for (const InputView& view : maps.views) {
      views.push_back({{"modality", view.modality}, {"first", view.first}, {"grid", view.grid}});
      if (!view.texts.empty()) views.back()["texts"] = view.texts;
      if (view.pictures.defined()) arrays.insert("pictures." + view.modality, view.pictures);
    }
    return {json_text(Json{{"views", views}, {"maps", to_json(maps)}}), arrays};
  });
}

JsonAndArrays PythonModel::autoencode(const std::optional<Tensor>& video,
                                      const std::optional<Tensor>& audio,
                                      const std::vector<std::string>& masked, int64_t top) {
  return plainly([&] {
    return autoencoded(model_, {video.value_or(Tensor()), audio.value_or(Tensor())}, masked, top);
  });
}

JsonAndArrays PythonModel::autoencode_file(const std::string& path,
                                           const std::vector<std::string>& masked, int64_t top) {
  return plainly([&] {
    const MultimodalConfig& config = clips_of(model_, "autoencode").config();
    return autoencoded(model_, read_array_clip(read_file(path), config), masked, top);
  });
}

TensorDict PythonModel::run(const TensorDict& inputs, const std::vector<std::string>& wanted) {
  return plainly([&] {
    TensorMap named;
    for (const auto& item : inputs) named[item.key()] = item.value();
    return dict_of(run_reference(model_, named, wanted));
  });
}

TensorDict PythonModel::run_file(const std::string& path) {
  return plainly([&] { return dict_of(run_arrays(model_, path)); });
}

}  // namespace perceiver
