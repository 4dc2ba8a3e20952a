// Reads Python pickles of protocols 2 to 5 without running anything: the pickle's own instructions
// are interpreted, and the only things they may build are those listed in pickle_build.cpp (numpy
// arrays, haiku's mappings, torch tensors, plain containers). Any other name is refused with it.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "perceiver/core/tensor.h"
#include "perceiver/weights/bytes.h"

namespace perceiver {

struct PickleValue;
struct PickleName;  // an entry of the list of what may be built

struct PickleNone {};
struct PickleText {
  std::string_view text;
};
struct PickleBytes {
  std::string_view bytes;
};
struct PickleTuple {
  std::vector<PickleValue*> items;
};
struct PickleList {
  std::vector<PickleValue*> items;
};
struct PickleDict {
  std::vector<std::pair<PickleValue*, PickleValue*>> items;
};
struct PickleGlobal {
  const PickleName* name;
};
struct PickleDtype {
  at::ScalarType type;
};
struct PickleTensor {
  Tensor tensor;  // undefined between numpy's _reconstruct and the state that fills it
};
struct PickleStorage {
  Tensor elements;  // all of a torch storage, flat
};

struct PickleValue {
  std::variant<PickleNone, bool, int64_t, double, PickleText, PickleBytes, PickleTuple, PickleList,
               PickleDict, PickleGlobal, PickleDtype, PickleTensor, PickleStorage>
      data;
};

// What torch's pickles say of the bytes they keep elsewhere.
struct StorageId {
  std::string key;
  at::ScalarType dtype;
  int64_t num_elements;
};
using LoadStorage = std::function<Tensor(const StorageId&)>;

// Owns every value of one pickle. Values point to each other freely, also in circles; none owns
// another, so that no nesting is too deep to take down.
class PickleHeap {
 public:
  // Without load_storage, a pickle that asks for a storage is refused.
  explicit PickleHeap(Bytes file, LoadStorage load_storage = {});

  template <typename T>
  PickleValue* add(T data) {
    return &values_.emplace_back(PickleValue{std::move(data)});
  }

  // For bytes that are not in the file as such.
  std::string_view keep(std::string bytes) { return kept_.emplace_back(std::move(bytes)); }

  // Counts bytes copied out of the file. A file that has the same bytes copied again and again is
  // refused: an array, and a string that becomes an array, is there once.
  void spend(size_t num_bytes);

  const Bytes& file() const { return file_; }
  const LoadStorage& load_storage() const { return load_storage_; }

 private:
  Bytes file_;
  LoadStorage load_storage_;
  size_t bytes_left_;
  std::deque<PickleValue> values_;
  std::deque<std::string> kept_;
};

// Interprets the heap's file to its end; what it leaves belongs to the heap.
PickleValue* run_pickle(PickleHeap& heap);

// Whether a file begins as a pickle does; nothing more is looked at.
bool begins_as_pickle(std::string_view data);

// "a list of 3": a value as it stands in a message.
std::string describe(const PickleValue& value);

}  // namespace perceiver
