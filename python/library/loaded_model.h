// A model as Python holds it: what perceiver.h can do, in the few types that TorchScript's border
// lets through. Records are JSON, arrays are tensors; python/perceiver makes objects of them.
#pragma once

#include <ATen/core/Dict.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "perceiver/tasks/latents_file.h"
#include "perceiver/tasks/model.h"
#include "python/library/sources.h"

namespace perceiver {

using TensorDict = c10::Dict<std::string, Tensor>;
using JsonAndArrays = std::tuple<std::string, TensorDict>;

struct PythonLatents : torch::CustomClassHolder {
  explicit PythonLatents(const std::string& path);
  explicit PythonLatents(LatentsFile latents) : file(std::move(latents)) {}

  TensorDict arrays() const;
  std::string facts() const;  // {task, model, fingerprint, input, geometry}

  LatentsFile file;
};

// What is asked of latents, as tasks/query.h has it.
struct PythonQuestion : torch::CustomClassHolder {
  std::vector<std::string> pixels = {}, tasks = {};
  std::string box = {}, frames = {}, seconds = {}, words = {};
  bool label = false;
  int64_t top = 5;
};

class PythonModel : public torch::CustomClassHolder {
 public:
  // `name` is whatever -m takes; `semantics` "", "deepmind" or "huggingface".
  PythonModel(const std::string& name, const std::string& semantics);

  std::string facts() const;  // {source, task, origin, labels, parameters, settings, random}

  // `dtype` "float32", "bfloat16" or "float16"
  void to(const std::string& device, const std::string& dtype);

  std::string fill(const std::string& text, int64_t top, std::optional<int64_t> num_bytes);

  // -> of each source its classes
  std::string classify(const std::vector<Source>& sources, const std::optional<Source>& pair,
                       int64_t top, int64_t batch);
  std::string answer_tasks(const std::vector<Source>& texts, const std::vector<std::string>& tasks);

  // frames uint8 [3, H, W], or files -> float [2, H, W]
  Tensor flow(const Source& first, const Source& second);

  c10::intrusive_ptr<PythonLatents> encode(const std::vector<Source>& sources);
  // A clip as autoencode() takes it.
  c10::intrusive_ptr<PythonLatents> encode_clip(const std::optional<Tensor>& video,
                                                const std::optional<Tensor>& audio);
  JsonAndArrays query(const c10::intrusive_ptr<PythonLatents>& latents,
                      const c10::intrusive_ptr<PythonQuestion>& question);

  // `latents` of these, counted from 0, or empty: in so many clusters -> {views, maps}, "weights"
  // [K, M] and of each view the pictures that it shows
  JsonAndArrays attend(const std::vector<Source>& sources, bool query,
                       const std::vector<int64_t>& latents, int64_t clusters, int64_t seed,
                       std::optional<int64_t> head);

  // video uint8 [T, 3, H, W], audio [S]; what is hidden need not be there -> {psnr, top}, "video"
  // uint8 [T, 3, h, w], "audio" [S]
  JsonAndArrays autoencode(const std::optional<Tensor>& video, const std::optional<Tensor>& audio,
                           const std::vector<std::string>& masked, int64_t top);
  JsonAndArrays autoencode_file(const std::string& path, const std::vector<std::string>& masked,
                                int64_t top);

  // As `perceiver run`; of models of the task arrays a file of examples.
  TensorDict run(const TensorDict& inputs, const std::vector<std::string>& wanted);
  TensorDict run_file(const std::string& path);

 private:
  Model model_;
};

}  // namespace perceiver
