#include "perceiver/tasks/starcraft/states.h"

#include <algorithm>
#include <functional>

#include "perceiver/core/error.h"
#include "perceiver/core/folder_tree.h"
#include "perceiver/data/line_reader.h"
#include "perceiver/data/text_files.h"
#include "perceiver/tasks/starcraft/state_reader.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

bool is_arrays(const fs::path& file) { return file.extension() == ".npz"; }

// The file itself, or those of a folder that are states by their names.
std::vector<fs::path> state_files(const fs::path& path) {
  if (!fs::exists(path)) fail("{}: no such file or folder", path.string());
  if (!fs::is_directory(path)) {
    if (!is_json_lines(path) && !is_arrays(path)) {
      fail("{}: expected JSON lines, .jsonl or .jsonl.gz, or arrays, .npz", path.string());
    }
    return {path};
  }
  std::vector<fs::path> files = files_below(path);
  std::erase_if(files,
                [](const fs::path& file) { return !is_json_lines(file) && !is_arrays(file); });
  if (files.empty()) fail("{}: no .jsonl, .jsonl.gz or .npz files in this folder", path.string());
  return files;
}

int64_t bytes_of(const GameState& state) {
  return static_cast<int64_t>(sizeof(GameState) + sizeof(int32_t) * 2 * state.types.size() +
                              sizeof(float) * state.features.size() +
                              sizeof(Player) * state.players.size());
}

// All states of some files, as long as there is memory for them.
class States {
 public:
  States(const StateFormat& format, double memory_gib) : format_(format), memory_gib_(memory_gib) {}

  void read(const fs::path& file) {
    if (is_arrays(file)) {
      const StateArrays arrays(file, format_);
      for (int64_t i = 0; i < arrays.size(); ++i) {
        add(arrays.place(i), [&] { return arrays.read(i, types_); });
      }
      return;
    }
    for (LineReader lines(file); lines.line() != nullptr; lines.advance()) {
      const std::string_view line = lines.line()->text;
      if (line_document(line).empty()) continue;
      add(lines.place(), [&] { return state_of_json(line, format_, types_); });
    }
  }

  EntityStates all() && { return {std::move(types_).names(), std::move(states_)}; }

 private:
  void add(const std::string& place, const std::function<GameState()>& read) {
    GameState state = read_or_keep(place, read);
    state.place = place;
    bytes_ += static_cast<double>(bytes_of(state));
    if (bytes_ > memory_gib_ * 0x1p30) {
      fail("{}: the states take more than {} GiB; raise data.memory_gib, or give fewer files",
           place, memory_gib_);
    }
    states_.push_back(std::move(state));
  }

  // A type's number in an unreadable state is nobody's: it may stand among the types all the same.
  GameState read_or_keep(const std::string& place, const std::function<GameState()>& read) const {
    try {
      return read();
    } catch (const Error& e) {
      std::string error = fmt::format("{}: {}", place, e.what());
      if (format_.unreadable == Unreadable::kStop) throw Error(error);
      GameState broken;
      broken.error = std::move(error);
      return broken;
    }
  }

  const StateFormat& format_;
  double memory_gib_, bytes_ = 0.0;
  TypeNumbers types_;
  std::vector<GameState> states_;
};

}  // namespace

int32_t TypeNumbers::of(const std::string& name) {
  const auto [found, is_new] = numbers_.emplace(name, static_cast<int32_t>(names_.size()));
  if (is_new) names_.push_back(name);
  return found->second;
}

bool is_left_out(const std::string& type, const std::vector<std::string>& patterns) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    if (!pattern.ends_with('*')) return type == pattern;
    return type.starts_with(pattern.substr(0, pattern.size() - 1));
  });
}

EntityStates read_states(const std::vector<std::string>& paths, const StateFormat& format,
                         double memory_gib) {
  States states(format, memory_gib);
  for (const std::string& path : paths) {
    for (const fs::path& file : state_files(path)) states.read(file);
  }
  EntityStates all = std::move(states).all();
  if (std::ranges::all_of(all.states, [](const GameState& s) { return !s.error.empty(); })) {
    fail("{}: there are no states in it that can be read", paths.empty() ? "" : paths[0]);
  }
  return all;
}

}  // namespace perceiver
