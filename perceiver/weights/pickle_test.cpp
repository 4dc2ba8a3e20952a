#include "perceiver/weights/pickle.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/weights/haiku.h"
#include "perceiver/weights/weights_test.h"

namespace perceiver {
namespace {

using namespace std::string_literals;

std::string error_in(const std::string& pickle) {
  return error_of([&] {
    PickleHeap heap(own_bytes({"x", pickle}));
    run_pickle(heap);
  });
}

// A name, as protocol 2 writes it.
std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}

std::string text(const std::string& t) { return "\x8c"s + static_cast<char>(t.size()) + t; }

TEST(Pickle, PlainValuesAreRead) {
  const std::string pickle =
      "\x80\x04(NK\x07J\xff\xff\xff\xffM\x00\x01\x8a\x02\x00\x80\x8a\x00"s
      "G\x3f\xf8\x00\x00\x00\x00\x00\x00\x88\x89\x8c\x02hiC\x01\x00t."s;
  PickleHeap heap(own_bytes({"x", pickle}));
  const auto& items = std::get<PickleTuple>(run_pickle(heap)->data).items;
  std::string all;
  for (const PickleValue* item : items) all += describe(*item) + "; ";
  EXPECT_EQ(all, "None; 7; -1; 256; -32768; 0; 1.5; True; False; 'hi'; 1 bytes; ");
}

TEST(Pickle, NamesNotOnTheListAreRefusedByName) {
  EXPECT_EQ(error_in("\x80\x02"s + global("os", "system") + "\x8c\x04true\x85R."),
            "x: pickle names 'os.system', which is not on the list of what may be built");
  for (const char* file : {"system0.pickle", "system2.pickle", "system4.pickle"}) {
    EXPECT_EQ(error_in(fixture_as_x(file).bytes),
              "x: pickle names 'posix.system', which is not on the list of what may be built");
  }
  EXPECT_EQ(error_in(fixture_as_x("eval.pickle").bytes),
            "x: pickle names 'builtins.eval', which is not on the list of what may be built");
  EXPECT_EQ(error_in(fixture_as_x("jax.pystate").bytes),
            "x: pickle names 'jax._src.array.ArrayImpl', which is not on the list of what may be "
            "built; save jax.device_get(params), which are numpy arrays");
}

TEST(Pickle, NamesAreWholeAndTakenLiterally) {
  for (const auto& [module, name] : {std::pair{"numpy", "ndarray.__class__"},
                                     {"numpy.dtype", "__reduce__"},
                                     {"numpy.core", "multiarray._reconstruct.__globals__"},
                                     {"builtins", "getattr"},
                                     {"builtins", "__import__"},
                                     {"torch", "load"},
                                     {"torch.storage", "_load_from_bytes"},
                                     {"numpy", "load"},
                                     {"copyreg", "_reconstructor"},
                                     {"functools", "partial"}}) {
    EXPECT_EQ(error_in("\x80\x04"s + text(module) + text(name) + "\x93."s),
              fmt::format("x: pickle names '{}.{}', which is not on the list of what may be built",
                          module, name));
  }
}

TEST(Pickle, HostileNamesDoNotReachTheTerminal) {
  EXPECT_EQ(error_in("\x80\x02"s + global("\x1b[2J\xff", "a")),
            "x: pickle names '\\x1b[2J\\xff.a', which is not on the list of what may be built");
  EXPECT_LT(error_in("\x80\x02"s + global(std::string(100'000, 'a'), "a")).size(), 250);
}

TEST(Pickle, OnlyListedNamesAreCalled) {
  EXPECT_EQ(error_in("\x80\x02K\x01)R."), "x: pickle at byte 5: expected something to call, got 1");
  EXPECT_EQ(error_in("\x80\x02"s + global("numpy", "ndarray") + ")R."),
            "x: pickle at byte 18: 'numpy.ndarray' is not something to call");
  EXPECT_EQ(error_in("\x80\x02"s + global("torch", "FloatStorage") + ")\x81."),
            "x: pickle at byte 23: 'torch.FloatStorage' is not something to call");
  // The result of a call is a value, never something to call.
  EXPECT_EQ(error_in("\x80\x02"s + global("builtins", "dict") + ")R)R."),
            "x: pickle at byte 20: expected something to call, got a mapping of 0");
  EXPECT_EQ(error_in("\x80\x02K\x01}b."), "x: pickle sets the state of 1");
  EXPECT_EQ(error_in("\x80\x02K\x01Q."), "x: pickle refers to something outside it, 1");
}

TEST(Pickle, ConstructorsCheckTheirArguments) {
  const std::string reconstruct = "\x80\x02"s + global("numpy.core.multiarray", "_reconstruct");
  EXPECT_EQ(error_in(reconstruct + ")R."), "x: pickle gives _reconstruct only 0 arguments");
  EXPECT_EQ(error_in(reconstruct + global("numpy", "dtype") + "\x85R."),
            "x: pickle gives _reconstruct 'numpy.dtype' as argument 1");
  const std::string dtype = global("numpy", "dtype");
  EXPECT_EQ(error_in("\x80\x02"s + dtype + text("O8") + "\x85R."),
            "x: array of numpy dtype 'O8', expected one of f8, f4, f2, i8, i4, i2, i1, u1, b1");
  const std::string encode = "\x80\x02"s + global("_codecs", "encode");
  EXPECT_EQ(error_in(encode + text("a") + text("rot13") + "\x86R."),
            "x: pickle encodes as 'rot13', expected latin1");
  for (const char* bad : {"\xe2\x82\xac", "\xc3", "\xc3(", "\x80"}) {
    EXPECT_EQ(error_in(encode + text(bad) + text("latin1") + "\x86R."),
              "x: pickle encodes a text that is not Latin-1");
  }
}

TEST(Pickle, SizesAreCheckedBeforeAnythingIsAllocated) {
  EXPECT_EQ(error_in("\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\xff."s),
            "x: pickle at byte 2: wants 18446744073709551615 bytes, 1 are left");
  EXPECT_EQ(error_in("\x80\x04X\xff\xff\xff\xff"s),
            "x: pickle at byte 2: wants 4294967295 bytes, 0 are left");
  EXPECT_EQ(error_in("\x80\x04\x95\x10\0\0\0\0\0\0\0."s),
            "x: pickle at byte 2: frame of 16 bytes, 1 are left");
  EXPECT_EQ(error_in("\x80\x04\x8b\xff\xff\xff\x7f."s),
            "x: pickle at byte 2: an integer of 2147483647 bytes, expected at most 8");
}

TEST(Pickle, StackMarksAndMemoAreChecked) {
  EXPECT_EQ(error_in("\x80\x04h\x05."s), "x: pickle at byte 2: the memo has no entry 5");
  EXPECT_EQ(error_in("\x80\x04Nr\xff\xff\xff\xff."s), "no error");
  EXPECT_EQ(error_in("\x80\x04j\xff\xff\xff\xff."s),
            "x: pickle at byte 2: the memo has no entry 4294967295");
  EXPECT_EQ(error_in("\x80\x04\x85."s), "x: pickle at byte 2: the stack is empty");
  EXPECT_EQ(error_in("\x80\x04N(0\x30."s), "x: pickle at byte 6: ends with 0 values, expected 1");
  EXPECT_EQ(error_in("\x80\x04N(a."s), "x: pickle at byte 4: the stack is empty");
  EXPECT_EQ(error_in("\x80\x04t."s), "x: pickle at byte 2: there is no mark");
  EXPECT_EQ(error_in("\x80\x04NN."s), "x: pickle at byte 4: ends with 2 values, expected 1");
  EXPECT_EQ(error_in("\x80\x04}(Nu."s), "x: pickle at byte 5: a key without a value");
  EXPECT_EQ(error_in("\x80\x04NNa."s), "x: pickle at byte 4: expected a list, got None");
  EXPECT_EQ(error_in("\x80\x04N.N"s), "x: pickle at byte 3: 1 bytes after the end");
  EXPECT_EQ(error_in("\x80\x02"s + "cos"), "x: pickle at byte 2: a line does not end");
}

TEST(Pickle, OtherInstructionsAreRefusedByName) {
  EXPECT_EQ(error_in("\x80\x05\x97."s),
            "x: pickle at byte 2: NEXT_BUFFER (out-of-band data) is not read");
  EXPECT_EQ(error_in("\x80\x02\x82\x01."s), "x: pickle at byte 2: EXT1 is not read");
  EXPECT_EQ(error_in("\x80\x02U\x01a."s),
            "x: pickle at byte 2: SHORT_BINSTRING (Python 2) is not read");
  EXPECT_EQ(error_in("\x80\x02I1\n."s),
            "x: pickle at byte 2: 0x49 is not an instruction of protocols 2 to 5");
  EXPECT_EQ(error_in("\x80\x06."s), "x: pickle at byte 0: protocol 6, expected 2 to 5");
  EXPECT_EQ(error_in("hello"), "x: not a pickle of protocols 2 to 5");
  EXPECT_EQ(error_in(""), "x: not a pickle of protocols 2 to 5");
}

TEST(Pickle, DeepNestingIsAllowedAndTakenDown) {
  std::string lists = "\x80\x04"s, tuples = "\x80\x04)"s;
  for (int i = 0; i < 300'000; ++i) lists += "]";
  for (int i = 0; i < 299'999; ++i) lists += "a";
  for (int i = 0; i < 1'000'000; ++i) tuples += "\x85";
  EXPECT_EQ(error_in(lists + "."), "no error");
  EXPECT_EQ(error_in(tuples + "."), "no error");
  EXPECT_EQ(error_in("\x80\x04]\x94h\x00h\x00"s + "aa."), "no error");  // a list in itself
}

TEST(Pickle, InstructionsAreLimited) {
  EXPECT_EQ(error_in("\x80\x04"s + std::string(2'000'000, ']')),
            "x: pickle at byte 1048577: more than 1048576 instructions");
}

// The dtype, and one megabyte, in the memo; then an array of it a thousand times.
TEST(Pickle, TheSameBytesAreNotCopiedOverAndOver) {
  std::string pickle = "\x80\x04"s + text("numpy.core.numeric") + text("_frombuffer") + "\x93q\0"s +
                       text("numpy") + text("dtype") + "\x93"s + text("f4") +
                       "\x85Rq\1B\0\0\x10\0"s + std::string(1 << 20, 'a') + "q\2J\0\0\4\0\x85q\3]"s;
  for (int i = 0; i < 1000; ++i) pickle += "h\0(h\2h\1h\3\x8c\1CtRa"s;
  EXPECT_EQ(error_in(pickle + "."), "x: arrays use the same bytes over and over");
}

TEST(Pickle, ArrayBytesMustFitTheShape) {
  const std::string start = "\x80\x04"s + text("numpy.core.numeric") + text("_frombuffer") +
                            "\x93(C\4abcd"s + text("numpy") + text("dtype") + "\x93"s;
  EXPECT_EQ(error_in(start + text("f4") + "\x85RK\2\x85" + text("C") + "tR."),
            "x: array has 4 bytes, its shape [2] of Float needs 8");
  EXPECT_EQ(error_in(start + text("f4") + "\x85RJ\xff\xff\xff\xff\x85" + text("C") + "tR."),
            "x: pickle gives _frombuffer a tuple of 1 as argument 3");
  const std::string huge = "\x8a\x08\0\0\0\0\0\0\0\x40"s;
  EXPECT_EQ(error_in(start + text("f4") + "\x85R" + huge + "\x85" + text("C") + "tR."),
            "x: array has the impossible shape [4611686018427387904]");
  EXPECT_EQ(error_in(start + text("f4") + "\x85RK\1\x85" + text("A") + "tR."),
            "x: pickle gives _frombuffer 'A' as argument 4");
  EXPECT_EQ(error_in(start + text("b1") + "\x85RK\4\x85" + text("C") + "tR."),
            "x: array: element 0 is 97, expected a boolean: 0 or 1");
}

}  // namespace
}  // namespace perceiver
