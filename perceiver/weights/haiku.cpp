#include "perceiver/weights/haiku.h"

#include "perceiver/core/error.h"
#include "perceiver/weights/pickle.h"

namespace perceiver {

namespace {

// Mappings may be shared, so a small pickle can name more arrays than fit in memory.
constexpr size_t kMaxArrays = 1 << 18;

class Reader {
 public:
  explicit Reader(std::string file_name) : file_name_(std::move(file_name)) {}

  HaikuCheckpoint checkpoint(const PickleValue& root) {
    const PickleDict& dict = mapping(root, "the file");
    HaikuCheckpoint result;
    if (!has_params(dict)) {
      result.params = modules(root, "the file");
      return result;
    }
    for (const auto& [key, value] : dict.items) {
      const std::string part = name(*key, "the file");
      if (part != "params" && part != "state") {
        fail("{}: has '{}', expected 'params' and 'state'", file_name_, printable(part));
      }
      HaikuModules& place = part == "params" ? result.params : result.state;
      if (!place.empty()) fail("{}: has '{}' twice", file_name_, part);
      place = modules(*value, part);
    }
    return result;
  }

 private:
  // A module may be called "params" too; what is in it are arrays, not modules.
  static bool has_params(const PickleDict& dict) {
    for (const auto& [key, value] : dict.items) {
      const auto* text = std::get_if<PickleText>(&key->data);
      const auto* inner = std::get_if<PickleDict>(&value->data);
      if (!text || text->text != "params" || !inner || inner->items.empty()) continue;
      return std::holds_alternative<PickleDict>(inner->items[0].second->data);
    }
    return false;
  }

  HaikuModules modules(const PickleValue& value, const std::string& where) {
    HaikuModules result;
    for (const auto& [key, module] : mapping(value, where).items) {
      const std::string path = name(*key, where);
      const auto [place, is_new] = result.try_emplace(path);
      if (!is_new) fail("{}: has module '{}' twice", file_name_, printable(path));
      place->second = arrays(*module, path);
    }
    return result;
  }

  TensorMap arrays(const PickleValue& value, const std::string& module) {
    TensorMap result;
    const PickleDict& dict = mapping(value, module);
    num_arrays_ += dict.items.size();
    if (num_arrays_ > kMaxArrays) fail("{}: more than {} arrays", file_name_, kMaxArrays);
    for (const auto& [key, array] : dict.items) {
      const std::string parameter = name(*key, module);
      const auto* tensor = std::get_if<PickleTensor>(&array->data);
      if (!tensor || !tensor->tensor.defined()) {
        fail("{}: '{}' of module '{}' is {}, expected an array", file_name_, printable(parameter),
             printable(module), describe(*array));
      }
      if (!result.emplace(parameter, tensor->tensor).second) {
        fail("{}: module '{}' has '{}' twice", file_name_, printable(module), printable(parameter));
      }
    }
    return result;
  }

  const PickleDict& mapping(const PickleValue& value, const std::string& where) const {
    const auto* dict = std::get_if<PickleDict>(&value.data);
    if (!dict) {
      fail("{}: '{}' is {}, expected a mapping", file_name_, printable(where), describe(value));
    }
    return *dict;
  }

  std::string name(const PickleValue& key, const std::string& where) const {
    const auto* text = std::get_if<PickleText>(&key.data);
    if (!text) {
      fail("{}: '{}' has {} as a name, expected a text", file_name_, printable(where),
           describe(key));
    }
    return std::string(text->text);
  }

  std::string file_name_;
  size_t num_arrays_ = 0;
};

}  // namespace

HaikuCheckpoint read_haiku(const std::filesystem::path& path) {
  return decode_haiku(map_file(path));
}

HaikuCheckpoint decode_haiku(File file) { return decode_haiku(own_bytes(std::move(file))); }

HaikuCheckpoint decode_haiku(const Bytes& file) {
  if (!begins_as_pickle(file.data)) {
    fail(
        "{}: not a model: expected a folder, a checkpoint of DeepMind's (a pickle) or a config "
        "(.toml)",
        file.name);
  }
  PickleHeap heap(file);
  const PickleValue* root = run_pickle(heap);
  return Reader(file.name).checkpoint(*root);
}

}  // namespace perceiver
