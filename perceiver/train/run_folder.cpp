#include "perceiver/train/run_folder.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <sstream>

#include "perceiver/core/error.h"
#include "perceiver/core/file.h"
#include "perceiver/core/json_text.h"
#include "perceiver/train/events.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kMetrics = "metrics.jsonl";

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Whether log() writes such lines: numbers by name, null for one that is not finite, and the kind.
bool is_logged(const Json& line) {
  if (!line.is_object() || !line.contains("step") || !line["step"].is_number_integer())
    return false;
  for (const auto& [name, value] : line.items()) {
    if (name == "kind" ? !value.is_string() : !value.is_number() && !value.is_null()) return false;
  }
  return !line.contains("time") || line["time"].is_number();
}

// Lines of metrics.jsonl up to `step`. A line that was being written when the run was killed is
// dropped with what comes after the checkpoint, and so is one that is not of a run.
std::vector<Json> lines_until(const fs::path& path, int64_t step) {
  std::vector<Json> lines;
  if (!fs::exists(path)) return lines;
  std::istringstream text(read_file(path).bytes);
  for (std::string line; std::getline(text, line);) {
    Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (is_logged(json) && json["step"] >= 0 && json["step"] <= step) {
      lines.push_back(std::move(json));
    }
  }
  return lines;
}

}  // namespace

RunFolder RunFolder::create(const fs::path& path, const std::string& config,
                            const std::string& about) {
  if (fs::exists(path / "config.toml")) {
    fail(
        "{}: there is a run in it already; go on with 'perceiver train --resume {}' or name "
        "another with -o",
        path.string(), path.string());
  }
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail("{}: cannot create: {}", path.string(), error.message());
  RunFolder run(path);
  write_file(path / "run.json", about);
  write_file(path / "config.toml", config);
  run.open();
  return run;
}

RunFolder RunFolder::resume(const fs::path& path, int64_t step) {
  RunFolder run(path);
  std::string kept;
  const std::vector<Json> lines = lines_until(path / kMetrics, step);
  for (const Json& line : lines) kept += json_text(line) + "\n";
  write_file(path / kMetrics, kept);
  // Events are written anew from the metrics, so that both say the same.
  for (const fs::path& file : sorted_entries(path)) {
    if (file.filename().string().starts_with("events.out.tfevents.")) fs::remove(file);
  }
  run.open();
  for (const Json& line : lines) {
    Metrics figures;
    for (const auto& [name, value] : line.items()) {
      if (value.is_number() && name != "step" && name != "time") figures[name] = value;
    }
    run.write_event(line.value("time", 0.0), line["step"], line.value("kind", ""), figures);
  }
  return run;
}

void RunFolder::open() {
  std::array<char, 256> host = {};
  gethostname(host.data(), host.size() - 1);
  events_path_ = path_ / fmt::format("events.out.tfevents.{:010}.{}",  // TensorBoard sorts by it
                                     static_cast<int64_t>(unix_seconds()), host.data());
  const auto open_file = [](const fs::path& path, const char* mode) {
    Stream stream(std::fopen(path.c_str(), mode));
    if (!stream) fail("{}: cannot write: {}", path.string(), std::strerror(errno));
    return stream;
  };
  metrics_ = open_file(path_ / kMetrics, "ab");
  events_ = open_file(events_path_, "wb");
  append(events_, events_path_, event_record(first_event(unix_seconds())));
}

void RunFolder::log(int64_t step, const std::string& kind, const Metrics& figures) {
  if (!metrics_) return;
  const double time = unix_seconds();
  Json line = {{"step", step}, {"kind", kind}, {"time", time}};
  for (const auto& [name, value] : figures) line[name] = value;
  append(metrics_, path_ / kMetrics, json_text(line) + "\n");
  write_event(time, step, kind, figures);
}

void RunFolder::write_event(double time, int64_t step, const std::string& kind,
                            const Metrics& figures) {
  Metrics named;
  for (const auto& [name, value] : figures) named[kind + "/" + name] = value;
  append(events_, events_path_, event_record(scalars_event(time, step, named)));
}

void RunFolder::append(const Stream& stream, const fs::path& file, const std::string& bytes) {
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), stream.get()) == bytes.size();
  if (!written || std::fflush(stream.get()) != 0) {
    fail("{}: cannot write: {}", file.string(), std::strerror(errno));
  }
}

}  // namespace perceiver
