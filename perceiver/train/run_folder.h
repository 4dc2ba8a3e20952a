// The folder of a training run: config.toml, run.json, metrics.jsonl, TensorBoard's events, and the
// checkpoints (train/checkpoint.h).
#pragma once

#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

namespace perceiver {

// What a line of metrics.jsonl holds, by name.
using Metrics = std::map<std::string, double>;

class RunFolder {
 public:
  // A new run; fails where there is one already. `about` is JSON: command, versions, seed, device.
  static RunFolder create(const std::filesystem::path& path, const std::string& config,
                          const std::string& about);

  // The run as it was after `step` steps: what was written after that is forgotten.
  static RunFolder resume(const std::filesystem::path& path, int64_t step);

  // Nothing is written to it: another process does that.
  static RunFolder of_another(const std::filesystem::path& path) { return RunFolder(path); }

  const std::filesystem::path& path() const { return path_; }

  // A line of metrics.jsonl, and an event for each figure, named "train/loss" with kind "train".
  void log(int64_t step, const std::string& kind, const Metrics& figures);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using Stream = std::unique_ptr<std::FILE, Close>;

  explicit RunFolder(const std::filesystem::path& path) : path_(path) {}
  void open();
  void write_event(double time, int64_t step, const std::string& kind, const Metrics& figures);
  void append(const Stream& stream, const std::filesystem::path& file, const std::string& bytes);

  std::filesystem::path path_, events_path_;
  Stream metrics_, events_;
};

}  // namespace perceiver
