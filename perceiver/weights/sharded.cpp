#include "perceiver/weights/sharded.h"

#include <nlohmann/json.hpp>
#include <set>

#include "perceiver/core/error.h"
#include "perceiver/core/file.h"
#include "perceiver/weights/torch_file.h"

namespace perceiver {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// Refuses what the format does not have while it is parsed: deep nesting, and keys twice.
json parse_index(const Bytes& file) {
  constexpr int kMaxDepth = 8;
  std::vector<std::set<std::string>> keys;  // of the objects we are in
  const auto check = [&](int depth, json::parse_event_t event, json& value) {
    if (depth > kMaxDepth) fail("{}: nested more than {} deep", file.name, kMaxDepth);
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (!keys.back().insert(key).second) fail("{}: has '{}' twice", file.name, printable(key));
    }
    return true;
  };
  try {
    return json::parse(file.data, check);
  } catch (const json::parse_error& error) {
    fail("{}: not JSON at byte {}", file.name, error.byte);
  }
}

bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string("/\\\0", 3)) == std::string::npos;
}

// File name -> the tensors in it.
std::map<std::string, std::set<std::string>> read_weight_map(const fs::path& path) {
  const Bytes file = map_file(path);
  const json index = parse_index(file);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    fail("{}: has no weight_map", file.name);
  }
  std::map<std::string, std::set<std::string>> shards;
  for (const auto& [tensor, shard] : index["weight_map"].items()) {
    if (!shard.is_string()) {
      fail("{}: tensor '{}' is not in a file but in {}", file.name, printable(tensor),
           shard.type_name());
    }
    const auto& name = shard.get_ref<const std::string&>();
    if (!is_plain_name(name)) {
      fail("{}: tensor '{}' is in '{}', expected the name of a file in the same folder", file.name,
           printable(tensor), printable(name));
    }
    shards[name].insert(tensor);
  }
  return shards;
}

std::vector<NamedTensors> split(const NamedTensors& tensors, int64_t max_shard_bytes) {
  std::vector<NamedTensors> shards(1);
  int64_t bytes = 0;
  for (const auto& named : tensors) {
    const int64_t more = static_cast<int64_t>(named.second.nbytes());
    if (bytes > 0 && bytes + more > max_shard_bytes) {
      shards.emplace_back();
      bytes = 0;
    }
    bytes += more;
    shards.back().push_back(named);
  }
  return shards;
}

void remove_stale(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) fail("{}: cannot remove: {}", path.string(), error.message());
}

}  // namespace

TensorMap read_sharded(const fs::path& index) {
  TensorMap tensors;
  for (const auto& [name, expected] : read_weight_map(index)) {
    const fs::path path = index.parent_path() / name;
    TensorMap shard =
        path.extension() == ".bin" ? read_torch_file(path) : read_safetensors(path).tensors;
    for (const std::string& tensor : expected) {
      if (!shard.contains(tensor)) {
        fail("{}: has no tensor '{}', which {} says is there", path.string(), printable(tensor),
             index.filename().string());
      }
    }
    for (const auto& [tensor, value] : shard) {
      if (!expected.contains(tensor)) {
        fail("{}: tensor '{}' is not in {}", path.string(), printable(tensor),
             index.filename().string());
      }
    }
    tensors.merge(shard);
  }
  return tensors;
}

void write_sharded(const fs::path& folder, const NamedTensors& tensors, const Metadata& metadata,
                   int64_t max_shard_bytes) {
  const fs::path single = folder / "model.safetensors";
  const fs::path index_path = folder / "model.safetensors.index.json";
  const std::vector<NamedTensors> shards = split(tensors, max_shard_bytes);
  if (shards.size() == 1) {
    write_safetensors(single, tensors, metadata);
    remove_stale(index_path);
    return;
  }
  json index;
  int64_t total_bytes = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    write_safetensors(folder / name, shards[i], metadata);
    for (const auto& [tensor, value] : shards[i]) {
      index["weight_map"][tensor] = name;
      total_bytes += static_cast<int64_t>(value.nbytes());
    }
  }
  index["metadata"]["total_size"] = total_bytes;
  write_file(index_path, index.dump(2) + "\n");
  remove_stale(single);
}

}  // namespace perceiver
