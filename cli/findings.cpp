#include "cli/findings.h"

#include <ATen/ATen.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <dlfcn.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "cli/build_facts.h"
#include "cli/format.h"
#include "perceiver/core/error.h"
#include "perceiver/core/memory.h"
#include "perceiver/core/processors.h"
#include "perceiver/kernels/cpu/instruction_sets.h"
#include "perceiver/kernels/cpu/tiles.h"
#include "perceiver/media/ffmpeg_libraries.h"
#include "perceiver/zoo/catalogue.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

// The value of the first line "key  : value" of a file of /proc.
std::string value_in(const fs::path& file, const std::string& key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    const size_t colon = line.find(':');
    if (!line.starts_with(key) || colon == line.npos) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == line.npos ? "" : line.substr(begin);
  }
  return "";
}

Finding processors() {
  const std::string model = value_in("/proc/cpuinfo", "model name");
  return {"processors",
          fmt::format("{} of {}{}{}", available_processors(), std::thread::hardware_concurrency(),
                      model.empty() ? "" : ", ", model)};
}

Finding sets() {
  std::vector<std::string_view> here, missing;
  for (const InstructionSet& set : instruction_sets()) {
    (set.is_here ? here : missing).push_back(set.name);
  }
  std::string text = fmt::format("{}", fmt::join(here, ", "));
  if (!missing.empty()) text += fmt::format("; not {}", fmt::join(missing, ", "));
  try {
    text += fmt::format("; in use: {}", float_tiles().name);
    if (bf16_tiles()) text += fmt::format(", for bfloat16 {}", bf16_tiles()->name);
  } catch (const Error& error) {  // PERCEIVER_ISA names none
    return {"instruction sets", text, error.what(), true};
  }
  return {"instruction sets", text};
}

// What the driver calls the GPU, whether or not LibTorch can use it.
std::optional<std::string> gpu_of_the_driver() {
  std::error_code error;
  for (fs::directory_iterator gpu("/proc/driver/nvidia/gpus", error), end; !error && gpu != end;
       gpu.increment(error)) {
    return value_in(gpu->path() / "information", "Model");
  }
  return {};
}

Finding gpus() {
  const bool built_for = at::hasCUDA();
  const int64_t count = built_for ? at::detail::getCUDAHooks().deviceCount() : 0;
  const std::optional<std::string> name = gpu_of_the_driver();
  if (count > 0) {
    std::string text = fmt::format("{}", count);
    if (name) text += ", " + *name;
    for (int64_t i = 0; i < count; ++i) {
      const at::Device device(at::kCUDA, static_cast<c10::DeviceIndex>(i));
      text += fmt::format("; {}: {} free", device.str(), bytes(free_memory(device)));
    }
    return {"GPUs", text};
  }
  if (name && !built_for) {
    return {"GPUs", fmt::format("{}, which this LibTorch cannot use", *name),
            "the GPU lies idle: install a PyTorch with CUDA (pip install torch) and nvcc, remove "
            ".deps and build again"};
  }
  return {"GPUs", built_for ? "none that LibTorch can use" : "none; this LibTorch is for CPUs"};
}

std::string folder_of_libtorch() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<void*>(&at::globalContext), &info) == 0) return "?";
  return fs::path(info.dli_fname).parent_path().lexically_normal().string();
}

Finding place(const std::string& name, const fs::path& folder, const ModelPlaces& only,
              const std::string& not_set) {
  if (folder.empty()) return {name, not_set};
  std::error_code error;
  if (!fs::is_directory(folder, error)) return {name, folder.string() + ": no such folder"};
  std::vector<std::string> names;
  for (const CatalogueEntry& model : models_in(only)) names.push_back(model.name);
  return {name,
          fmt::format("{}: {}", folder.string(),
                      names.empty() ? "no models" : fmt::format("{}", fmt::join(names, ", ")))};
}

}  // namespace

std::vector<Finding> machine_findings() {
  const std::string program = fs::read_symlink("/proc/self/exe").string();
  return {{"program", program},
          processors(),
          sets(),
          {"memory", bytes(free_memory(at::kCPU)) + " free"},
          gpus()};
}

std::vector<Finding> library_findings() {
  std::vector<Finding> findings;
  for (const Fact& fact : build_facts()) {
    Finding finding{fact.name, fact.value};
    if (fact.name == "LibTorch") finding.value += ", " + folder_of_libtorch();
    if (fact.name == "FFmpeg") {
      const FfmpegLibraries& found = ffmpeg_libraries();
      finding.value = found.version.empty() ? "not here" : found.version + ", " + found.folder;
      if (found.version.empty()) {
        finding.advice = fmt::format(
            "no video, no sound but WAV, no pictures but PNG, JPEG and PPM: {}", found.missing);
      }
    }
    if (fact.name == "SentencePiece" && fact.value == "left out") {
      finding.advice =
          "models on SentencePiece's tokens cannot be used: install "
          "libsentencepiece-dev and build again";
    }
    if (fact.name == "server" && fact.value == "left out") {
      finding.advice =
          "there is no 'perceiver serve': install libboost-dev and libssl-dev and "
          "build again";
    }
    if (fact.name != "instruction sets") findings.push_back(finding);  // the machine's say more
  }
  return findings;
}

std::vector<Finding> model_findings() {
  const ModelPlaces places = model_places();
  Finding shipped_models =
      place("shipped models", places.shipped, {.shipped = places.shipped}, "not here");
  if (places.shipped.empty()) {
    shipped_models.advice =
        "the folder 'models' of this program is missing, and no verb has a model to begin with: "
        "install again, or name a model with -m";
    shipped_models.is_needed = true;
  }
  Finding configs{"configs", places.configs.empty() ? "not here" : places.configs.string()};
  if (places.configs.empty()) {
    configs.advice = "the folder 'configs' of this program is missing: install again";
    configs.is_needed = true;
  }
  Finding own = place("PERCEIVER_MODELS", places.models, {.models = places.models},
                      "not set; it can name a folder of models of your own");
  if (own.value.ends_with(": no such folder")) {
    own.advice = "PERCEIVER_MODELS names a folder that is not there";
  }
  return {shipped_models, own,
          place("cache of Hugging Face", places.hub_cache, {.hub_cache = places.hub_cache}, ""),
          configs};
}

}  // namespace perceiver
