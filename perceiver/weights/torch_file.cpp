#include "perceiver/weights/torch_file.h"

#include "perceiver/core/error.h"
#include "perceiver/weights/pickle.h"
#include "perceiver/weights/zip.h"

namespace perceiver {

namespace {

// The folder all entries are in, with its slash: "archive/".
std::string find_root(const Zip& zip, const std::string& file_name) {
  constexpr std::string_view kPickle = "data.pkl";
  for (const auto& [name, entry] : zip.entries()) {
    const size_t root_size = name.find('/') + 1;  // 0 when there is no folder
    if (std::string_view(name).substr(root_size) == kPickle) return name.substr(0, root_size);
  }
  fail("{}: zip without a data.pkl, not a torch file", file_name);
}

// Reads storages as the pickle asks for them, each once.
class Storages {
 public:
  Storages(const Zip& zip, std::string root, std::string file_name)
      : zip_(zip), root_(std::move(root)), file_name_(std::move(file_name)) {}

  Tensor load(const StorageId& id) {
    const std::string what = fmt::format("{}: storage '{}'", file_name_, printable(id.key));
    const auto found = loaded_.find(id.key);
    if (found == loaded_.end()) return loaded_[id.key] = read(id, what);
    const Tensor& storage = found->second;
    if (storage.scalar_type() != id.dtype || storage.numel() != id.num_elements) {
      fail("{} is {} elements of {} and again {} of {}", what, storage.numel(),
           at::toString(storage.scalar_type()), id.num_elements, at::toString(id.dtype));
    }
    return storage;
  }

 private:
  Tensor read(const StorageId& id, const std::string& what) const {
    const Bytes bytes = zip_.read(root_ + "data/" + id.key);
    const std::optional<int64_t> expected = num_bytes({id.num_elements}, id.dtype);
    if (!expected || static_cast<uint64_t>(*expected) != bytes.data.size()) {
      fail("{} has {} bytes, expected {} elements of {}", what, bytes.data.size(), id.num_elements,
           at::toString(id.dtype));
    }
    return view_tensor(bytes, {id.num_elements}, id.dtype, what);
  }

  const Zip& zip_;
  std::string root_, file_name_;
  std::map<std::string, Tensor> loaded_;
};

void check_byte_order(const Zip& zip, const std::string& root, const std::string& file_name) {
  const std::string entry = root + "byteorder";
  if (!zip.entries().contains(entry)) return;  // before torch 2.1
  const Bytes order = zip.read(entry);
  if (order.data != "little") {
    fail("{}: torch file is {}-endian, expected little-endian", file_name, printable(order.data));
  }
}

}  // namespace

TensorMap read_torch_file(const std::filesystem::path& path) {
  return decode_torch_file(map_file(path));
}

TensorMap decode_torch_file(File file) { return decode_torch_file(own_bytes(std::move(file))); }

TensorMap decode_torch_file(const Bytes& file) {
  if (file.data.starts_with('\x80')) {
    fail("{}: old torch format (not a zip): load and save it again with torch >= 1.6", file.name);
  }
  if (!file.data.starts_with("PK")) fail("{}: not a torch file (not a zip)", file.name);
  const Zip zip(file);
  const std::string root = find_root(zip, file.name);
  check_byte_order(zip, root, file.name);

  Storages storages(zip, root, file.name);
  PickleHeap heap(zip.read(root + "data.pkl"),
                  [&storages](const StorageId& id) { return storages.load(id); });
  const PickleValue* state_dict = run_pickle(heap);
  const auto* dict = std::get_if<PickleDict>(&state_dict->data);
  if (!dict) fail("{}: holds {}, expected a state_dict", file.name, describe(*state_dict));

  TensorMap tensors;
  for (const auto& [key, value] : dict->items) {
    const auto* name = std::get_if<PickleText>(&key->data);
    if (!name) fail("{}: has {} as a name, expected a text", file.name, describe(*key));
    const auto* tensor = std::get_if<PickleTensor>(&value->data);
    if (!tensor || !tensor->tensor.defined()) {
      fail("{}: '{}' is {}, expected a tensor", file.name, printable(name->text), describe(*value));
    }
    if (!tensors.emplace(name->text, tensor->tensor).second) {
      fail("{}: has '{}' twice", file.name, printable(name->text));
    }
  }
  return tensors;
}

}  // namespace perceiver
