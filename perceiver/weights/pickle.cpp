#include "perceiver/weights/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>

#include "perceiver/core/error.h"
#include "perceiver/weights/pickle_build.h"

namespace perceiver {

namespace {

// Bounds the memory a small file can ask for, at about 100 bytes an instruction. An array takes
// some 30 instructions, the largest released model about 20,000.
constexpr int64_t kMaxInstructions = 1 << 20;

// The pickle's stack machine. Instructions have the names of Python's pickletools.
class Machine {
 public:
  explicit Machine(PickleHeap& heap) : heap_(heap), data_(heap.file().data) {}

  PickleValue* run();

 private:
  struct Instruction {
    uint8_t code;
    std::string_view name;
    void (Machine::*run)();  // null: known, and not read
  };
  static const Instruction kInstructions[];

  template <typename... Args>
  [[noreturn]] void fail_here(fmt::format_string<Args...> message, Args&&... args) const {
    fail("{}: pickle at byte {}: {}", heap_.file().name, start_,
         fmt::format(message, std::forward<Args>(args)...));
  }

  // The file.
  std::string_view take(uint64_t size) {
    const uint64_t left = data_.size() - position_;
    if (size > left) fail_here("wants {} bytes, {} are left", size, left);
    position_ += size;
    return data_.substr(position_ - size, size);
  }
  template <typename T>
  T read() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string_view read_line() {
    const size_t end = data_.find('\n', position_);
    if (end == std::string_view::npos) fail_here("a line does not end");
    const std::string_view line = take(end - position_);
    take(1);
    return line;
  }

  // The stack. Marks split it: nothing below the last one can be reached.
  template <typename T>
  void push(T data) {
    stack_.push_back(heap_.add(std::move(data)));
  }
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  PickleValue* top() const {
    if (stack_.size() <= floor()) fail_here("the stack is empty");
    return stack_.back();
  }
  PickleValue* pop() {
    PickleValue* value = top();
    stack_.pop_back();
    return value;
  }
  PickleArgs pop_to_mark() {
    if (marks_.empty()) fail_here("there is no mark");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    PickleArgs items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }
  template <typename T>
  T& expect(PickleValue* value, std::string_view expected) const {
    T* data = std::get_if<T>(&value->data);
    if (!data) fail_here("expected {}, got {}", expected, describe(*value));
    return *data;
  }

  void proto() {
    const int version = read<uint8_t>();
    if (version < 2 || version > 5) fail_here("protocol {}, expected 2 to 5", version);
  }
  void frame() {
    const uint64_t size = read<uint64_t>(), left = data_.size() - position_;
    if (size > left) fail_here("frame of {} bytes, {} are left", size, left);
  }
  void stop() { stopped_ = true; }

  // Values.
  void none() { push(PickleNone{}); }
  template <bool kValue>
  void boolean() {
    push(kValue);
  }
  template <typename T>
  void integer() {
    push(static_cast<int64_t>(read<T>()));
  }
  template <typename Size>
  void long_integer() {
    const Size size = read<Size>();
    if (size > 8) fail_here("an integer of {} bytes, expected at most 8", size);
    const std::string_view bytes = take(size);
    uint64_t value = 0;
    std::memcpy(&value, bytes.data(), bytes.size());
    const int unused = 64 - 8 * static_cast<int>(size);
    push(size == 0 ? int64_t{0} : static_cast<int64_t>(value << unused) >> unused);
  }
  void binfloat() {
    std::string bytes(take(8));
    std::reverse(bytes.begin(), bytes.end());  // the one big-endian number of the format
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data(), 8);
    push(std::bit_cast<double>(bits));
  }
  template <typename Size>
  void text() {
    push(PickleText{take(read<Size>())});
  }
  template <typename Size>
  void bytes() {
    push(PickleBytes{take(read<Size>())});
  }

  // The stack itself, and the memo.
  void mark() { marks_.push_back(stack_.size()); }
  void pop_one() {
    if (!marks_.empty() && marks_.back() == stack_.size()) {
      marks_.pop_back();
    } else {
      pop();
    }
  }
  void pop_mark() { pop_to_mark(); }
  void dup() { stack_.push_back(top()); }
  template <typename Index>
  void put() {
    memo_[read<Index>()] = top();
  }
  void memoize() { memo_[static_cast<uint32_t>(memo_.size())] = top(); }
  template <typename Index>
  void get() {
    const uint32_t index = read<Index>();
    const auto found = memo_.find(index);
    if (found == memo_.end()) fail_here("the memo has no entry {}", index);
    stack_.push_back(found->second);
  }

  // Containers.
  void empty_tuple() { push(PickleTuple{}); }
  void empty_list() { push(PickleList{}); }
  void empty_dict() { push(PickleDict{}); }
  void tuple() { push(PickleTuple{pop_to_mark()}); }
  void list() { push(PickleList{pop_to_mark()}); }
  void dict() {
    PickleArgs items = pop_to_mark();
    push(PickleDict{});
    add_items(items);
  }
  template <size_t kSize>
  void short_tuple() {
    PickleArgs items(kSize);
    for (size_t i = kSize; i-- > 0;) items[i] = pop();
    push(PickleTuple{std::move(items)});
  }
  void append() { add_elements({pop()}); }
  void appends() { add_elements(pop_to_mark()); }
  void set_item() {
    PickleValue* value = pop();
    PickleValue* key = pop();
    add_items({key, value});
  }
  void set_items() { add_items(pop_to_mark()); }

  void add_elements(const PickleArgs& items) {
    auto& list = expect<PickleList>(top(), "a list").items;
    list.insert(list.end(), items.begin(), items.end());
  }
  void add_items(const PickleArgs& items) {
    auto& dict = expect<PickleDict>(top(), "a dict").items;
    if (items.size() % 2 != 0) fail_here("a key without a value");
    for (size_t i = 0; i < items.size(); i += 2) dict.emplace_back(items[i], items[i + 1]);
  }

  // Names and calls.
  void global() {
    const std::string_view module = read_line();
    push(PickleGlobal{find_pickle_name(heap_, module, read_line())});
  }
  void stack_global() {
    const std::string_view name = expect<PickleText>(pop(), "a name").text;
    const std::string_view module = expect<PickleText>(pop(), "a module").text;
    push(PickleGlobal{find_pickle_name(heap_, module, name)});
  }
  void reduce() {
    const PickleArgs& args = expect<PickleTuple>(pop(), "arguments").items;
    const PickleName& name = *expect<PickleGlobal>(pop(), "something to call").name;
    if (!name.call) fail_here("'{}' is not something to call", name.name);
    stack_.push_back(name.call(heap_, args));
  }
  void build() {
    const PickleValue* state = pop();
    set_pickle_state(heap_, *top(), *state);
  }
  void persistent_id() { stack_.push_back(torch_storage(heap_, *pop())); }

  PickleHeap& heap_;
  std::string_view data_;
  size_t position_ = 0, start_ = 0;  // start_: of the instruction we are in
  std::vector<PickleValue*> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint32_t, PickleValue*> memo_;
  bool stopped_ = false;
};

const Machine::Instruction Machine::kInstructions[] = {
    {0x80, "PROTO", &Machine::proto},
    {0x95, "FRAME", &Machine::frame},
    {'.', "STOP", &Machine::stop},
    {'N', "NONE", &Machine::none},
    {0x88, "NEWTRUE", &Machine::boolean<true>},
    {0x89, "NEWFALSE", &Machine::boolean<false>},
    {'J', "BININT", &Machine::integer<int32_t>},
    {'K', "BININT1", &Machine::integer<uint8_t>},
    {'M', "BININT2", &Machine::integer<uint16_t>},
    {0x8a, "LONG1", &Machine::long_integer<uint8_t>},
    {0x8b, "LONG4", &Machine::long_integer<uint32_t>},
    {'G', "BINFLOAT", &Machine::binfloat},
    {0x8c, "SHORT_BINUNICODE", &Machine::text<uint8_t>},
    {'X', "BINUNICODE", &Machine::text<uint32_t>},
    {0x8d, "BINUNICODE8", &Machine::text<uint64_t>},
    {'C', "SHORT_BINBYTES", &Machine::bytes<uint8_t>},
    {'B', "BINBYTES", &Machine::bytes<uint32_t>},
    {0x8e, "BINBYTES8", &Machine::bytes<uint64_t>},
    {0x96, "BYTEARRAY8", &Machine::bytes<uint64_t>},
    {'(', "MARK", &Machine::mark},
    {'0', "POP", &Machine::pop_one},
    {'1', "POP_MARK", &Machine::pop_mark},
    {'2', "DUP", &Machine::dup},
    {'q', "BINPUT", &Machine::put<uint8_t>},
    {'r', "LONG_BINPUT", &Machine::put<uint32_t>},
    {0x94, "MEMOIZE", &Machine::memoize},
    {'h', "BINGET", &Machine::get<uint8_t>},
    {'j', "LONG_BINGET", &Machine::get<uint32_t>},
    {')', "EMPTY_TUPLE", &Machine::empty_tuple},
    {0x85, "TUPLE1", &Machine::short_tuple<1>},
    {0x86, "TUPLE2", &Machine::short_tuple<2>},
    {0x87, "TUPLE3", &Machine::short_tuple<3>},
    {'t', "TUPLE", &Machine::tuple},
    {']', "EMPTY_LIST", &Machine::empty_list},
    {'a', "APPEND", &Machine::append},
    {'e', "APPENDS", &Machine::appends},
    {'l', "LIST", &Machine::list},
    {'}', "EMPTY_DICT", &Machine::empty_dict},
    {'s', "SETITEM", &Machine::set_item},
    {'u', "SETITEMS", &Machine::set_items},
    {'d', "DICT", &Machine::dict},
    {'c', "GLOBAL", &Machine::global},
    {0x93, "STACK_GLOBAL", &Machine::stack_global},
    {'R', "REDUCE", &Machine::reduce},
    {0x81, "NEWOBJ", &Machine::reduce},
    {'b', "BUILD", &Machine::build},
    {'Q', "BINPERSID", &Machine::persistent_id},
    {0x92, "NEWOBJ_EX", nullptr},
    {0x82, "EXT1", nullptr},
    {0x83, "EXT2", nullptr},
    {0x84, "EXT4", nullptr},
    {0x8f, "EMPTY_SET", nullptr},
    {0x90, "ADDITEMS", nullptr},
    {0x91, "FROZENSET", nullptr},
    {0x97, "NEXT_BUFFER (out-of-band data)", nullptr},
    {0x98, "READONLY_BUFFER (out-of-band data)", nullptr},
    {'T', "BINSTRING (Python 2)", nullptr},
    {'U', "SHORT_BINSTRING (Python 2)", nullptr},
};

PickleValue* Machine::run() {
  for (int64_t count = 0; !stopped_; ++count) {
    start_ = position_;
    if (count == kMaxInstructions) fail_here("more than {} instructions", kMaxInstructions);
    const uint8_t code = read<uint8_t>();
    const auto* found = std::find_if(std::begin(kInstructions), std::end(kInstructions),
                                     [code](const Instruction& i) { return i.code == code; });
    if (found == std::end(kInstructions)) {
      fail_here("0x{:02x} is not an instruction of protocols 2 to 5", code);
    }
    if (!found->run) fail_here("{} is not read", found->name);
    (this->*found->run)();
  }
  if (stack_.size() != 1 || !marks_.empty()) {
    fail_here("ends with {} values, expected 1", stack_.size());
  }
  if (position_ != data_.size()) fail_here("{} bytes after the end", data_.size() - position_);
  return stack_[0];
}

}  // namespace

bool begins_as_pickle(std::string_view data) {
  // Protocols 0 and 1 have no first byte of their own. What commonly begins them is let through,
  // so that a name they hold is refused as such.
  return !data.empty() && (data[0] == '\x80' || data[0] == 'c' || data[0] == '(');
}

PickleValue* run_pickle(PickleHeap& heap) {
  if (!begins_as_pickle(heap.file().data)) {
    fail("{}: not a pickle of protocols 2 to 5", heap.file().name);
  }
  return Machine(heap).run();
}

}  // namespace perceiver
