#include "perceiver/train/checkpoint.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "perceiver/core/crc32c.h"
#include "perceiver/core/number.h"
#include "perceiver/tasks/training.h"
#include "perceiver/weights/safetensors.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char *kManifest = "manifest.json", *kState = "state.safetensors";
constexpr const char* kOldBest = ".best.old";

uint32_t checksum(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string chunk(1 << 20, '\0');
  uint32_t crc = 0;
  while (stream) {
    stream.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    crc = crc32c(std::string_view(chunk).substr(0, stream.gcount()), crc);
  }
  return crc;
}

// Down to the disk: a rename must not survive a power cut that the content does not.
void sync(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  const bool synced = file >= 0 && fsync(file) == 0;
  const int error = errno;
  if (file >= 0) close(file);
  if (!synced) fail("{}: cannot write: {}", path.string(), std::strerror(error));
}

void write_manifest(const fs::path& folder) {
  Json files;
  for (const fs::path& path : sorted_entries(folder)) {
    sync(path);
    files[path.filename()] = {{"bytes", fs::file_size(path)}, {"crc32c", checksum(path)}};
  }
  write_file(folder / kManifest, Json{{"files", files}}.dump(2) + "\n");
  sync(folder / kManifest);
  sync(folder);
}

// A new folder with the model in it, beside the checkpoints.
fs::path write_beside(const fs::path& run, const Model& model, const TrainState* state) {
  const fs::path beside = run / ".new";
  fs::remove_all(beside);
  try {
    save_model(model, beside, at::kFloat);
    if (const Training* training = model.task->training()) {
      for (const File& file : training->companions()) write_file(beside / file.name, file.bytes);
    }
    if (state != nullptr) {
      Metadata metadata = {{"step", std::to_string(state->step)}};
      if (state->unevaluated) metadata["unevaluated"] = "true";
      if (state->best) metadata["best"] = fmt::format("{}", *state->best);
      write_safetensors(beside / kState, state->tensors, metadata);
    }
    write_manifest(beside);
  } catch (const Error& e) {
    std::error_code ignored;
    fs::remove_all(beside, ignored);
    fail("{}; the checkpoint could not be saved, those before it are untouched", e.what());
  }
  return beside;
}

// `made` takes the name `name`; what had it is called `aside`.
void rename_into_place(const fs::path& run, const fs::path& made, const char* name,
                       const char* aside) {
  try {
    fs::remove_all(run / aside);
    if (fs::exists(run / name)) fs::rename(run / name, run / aside);
    fs::rename(made, run / name);
  } catch (const fs::filesystem_error& e) {
    fail("{}: cannot rename: {}", (run / name).string(), e.code().message());
  }
  sync(run);
}

// The number that the metadata of `path` has under `name`.
template <typename T>
T number_of(const Metadata& metadata, const char* name, const fs::path& path) {
  const auto found = metadata.find(name);
  if (found == metadata.end()) fail("{}: has no '{}'", path.string(), name);
  const std::string& text = found->second;
  const auto value = number_in<T>(text);
  if (!value) fail("{}: '{}' must be a number, got '{}'", path.string(), name, text);
  return *value;
}

Checkpoint read_state(const fs::path& folder) {
  const fs::path path = folder / kState;
  Safetensors state = read_safetensors(path);
  Checkpoint checkpoint{.folder = folder, .step = number_of<int64_t>(state.metadata, "step", path)};
  if (checkpoint.step < 0) {
    fail("{}: 'step' must be at least 0, got {}", path.string(), checkpoint.step);
  }
  if (state.metadata.contains("best")) {
    checkpoint.best = number_of<double>(state.metadata, "best", path);
  }
  checkpoint.unevaluated = state.metadata.contains("unevaluated");
  checkpoint.tensors = std::move(state.tensors);
  return checkpoint;
}

}  // namespace

void save_last(const fs::path& run, const Model& model, const TrainState& state) {
  rename_into_place(run, write_beside(run, model, &state), "last", "previous");
}

void save_best(const fs::path& run, const Model& model) {
  rename_into_place(run, write_beside(run, model, nullptr), "best", kOldBest);
  fs::remove_all(run / kOldBest);
}

std::string damage(const fs::path& folder) {
  const fs::path manifest = folder / kManifest;
  if (!fs::exists(manifest)) return fmt::format("{}: is missing", manifest.string());
  const Json json = Json::parse(read_file(manifest).bytes, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("files") || !json["files"].is_object()) {
    return fmt::format("{}: is damaged", manifest.string());
  }
  for (const auto& [name, expected] : json["files"].items()) {
    const fs::path path = folder / name;
    if (!expected.is_object() || !expected.contains("bytes") || !expected.contains("crc32c")) {
      return fmt::format("{}: is damaged", manifest.string());
    }
    if (!fs::exists(path)) return fmt::format("{}: is missing", path.string());
    const auto bytes = fs::file_size(path);
    if (expected["bytes"] != bytes) {
      return fmt::format("{}: has {} bytes, {} were written", path.string(), bytes,
                         expected["bytes"].dump());
    }
    if (expected["crc32c"] != checksum(path)) {
      return fmt::format("{}: its checksum is not what was written", path.string());
    }
  }
  return "";
}

std::optional<Checkpoint> find_checkpoint(const fs::path& run) {
  // An end between the two renames of save_best().
  if (fs::exists(run / kOldBest) && !fs::exists(run / "best")) {
    fs::rename(run / kOldBest, run / "best");
  }
  std::string note;
  for (const char* name : {"last", "previous"}) {
    const fs::path folder = run / name;
    if (!fs::exists(folder)) continue;
    const std::string damaged = damage(folder);
    if (damaged.empty()) {
      Checkpoint checkpoint = read_state(folder);
      checkpoint.note = note;
      return checkpoint;
    }
    note += (note.empty() ? "" : "; ") + damaged;
  }
  if (!note.empty()) fail("{}; the run has no other checkpoint", note);
  return {};
}

}  // namespace perceiver
