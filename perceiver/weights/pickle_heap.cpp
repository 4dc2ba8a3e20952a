#include "perceiver/core/error.h"
#include "perceiver/weights/pickle_build.h"

namespace perceiver {

PickleHeap::PickleHeap(Bytes file, LoadStorage load_storage)
    : file_(std::move(file)),
      load_storage_(std::move(load_storage)),
      bytes_left_(2 * file_.data.size()) {}

void PickleHeap::spend(size_t num_bytes) {
  if (num_bytes > bytes_left_) fail("{}: arrays use the same bytes over and over", file_.name);
  bytes_left_ -= num_bytes;
}

std::string describe(const PickleValue& value) {
  struct Describe {
    std::string operator()(PickleNone) { return "None"; }
    std::string operator()(bool b) { return b ? "True" : "False"; }
    std::string operator()(int64_t i) { return fmt::format("{}", i); }
    std::string operator()(double d) { return fmt::format("{}", d); }
    std::string operator()(const PickleText& t) { return fmt::format("'{}'", printable(t.text)); }
    std::string operator()(const PickleBytes& b) { return fmt::format("{} bytes", b.bytes.size()); }
    std::string operator()(const PickleTuple& t) {
      return fmt::format("a tuple of {}", t.items.size());
    }
    std::string operator()(const PickleList& l) {
      return fmt::format("a list of {}", l.items.size());
    }
    std::string operator()(const PickleDict& d) {
      return fmt::format("a mapping of {}", d.items.size());
    }
    std::string operator()(const PickleGlobal& g) { return fmt::format("'{}'", g.name->name); }
    std::string operator()(PickleDtype) { return "a dtype"; }
    std::string operator()(const PickleTensor& t) {
      return t.tensor.defined() ? "an array" : "an array that was never filled";
    }
    std::string operator()(const PickleStorage&) { return "a torch storage"; }
  };
  return std::visit(Describe{}, value.data);
}

}  // namespace perceiver
