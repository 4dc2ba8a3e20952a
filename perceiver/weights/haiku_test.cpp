#include "perceiver/weights/haiku.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/weights/weights_test.h"

namespace perceiver {
namespace {

using namespace std::string_literals;

std::string error_in(const std::string& name) {
  return error_of([&] { decode_haiku(fixture_as_x(name)); });
}

std::string error_in_bytes(const std::string& bytes) {
  return error_of([&] { decode_haiku({"x", bytes}); });
}

void expect_params(const HaikuModules& params) {
  ASSERT_EQ(params.size(), 2);
  const Tensor w = at::arange(6, at::kFloat).view({2, 3});
  EXPECT_TRUE(at::equal(params.at("net/linear").at("w"), w));
  EXPECT_TRUE(at::equal(params.at("net/linear").at("b"), at::tensor({1, -2}).to(at::kHalf)));
  EXPECT_TRUE(at::equal(params.at("net/fortran").at("w"), w));
  EXPECT_TRUE(params.at("net/fortran").at("w").is_contiguous());
  EXPECT_EQ(params.at("net/fortran").at("none").sizes(), at::IntArrayRef({0, 2}));
}

TEST(Haiku, ProtocolsTwoToFiveAndBothNumpysAreRead) {
  for (const char* name : {"protocol2.pystate", "protocol3.pystate", "protocol4.pystate",
                           "protocol5.pystate", "numpy1.pystate"}) {
    SCOPED_TRACE(name);
    const HaikuCheckpoint checkpoint = read_haiku(fixture(name));
    expect_params(checkpoint.params);
    EXPECT_TRUE(checkpoint.state.empty());
  }
}

TEST(Haiku, StateIsKeptApart) {
  const HaikuCheckpoint checkpoint = read_haiku(fixture("params_and_state.pystate"));
  expect_params(checkpoint.params);
  const TensorMap& norm = checkpoint.state.at("net/norm");
  EXPECT_TRUE(at::equal(norm.at("counter"), at::scalar_tensor(7, at::kInt)));
  EXPECT_TRUE(at::equal(norm.at("average"), at::ones({1, 2}, at::kDouble)));
}

TEST(Haiku, PlainAndOrderedMappingsAreRead) {
  EXPECT_TRUE(at::equal(read_haiku(fixture("ordered.pystate")).params.at("net").at("w"),
                        at::tensor({1, 0}).to(at::kBool)));
}

TEST(Haiku, ArraysItCannotHoldAreNamed) {
  EXPECT_EQ(error_in("big_endian.pystate"),
            "x: array is big-endian, expected little-endian; save array.astype('<f4')");
  EXPECT_EQ(error_in("objects.pystate"),
            "x: array of numpy dtype 'O8', expected one of f8, f4, f2, i8, i4, i2, i1, u1, b1");
  EXPECT_EQ(error_in("records.pystate"),
            "x: array of numpy dtype 'V4', expected one of f8, f4, f2, i8, i4, i2, i1, u1, b1");
  EXPECT_EQ(error_in("eval.pickle"),
            "x: pickle names 'builtins.eval', which is not on the list of what may be built");
}

TEST(Haiku, OtherStructuresAreNamed) {
  EXPECT_EQ(error_in_bytes("\x80\x04K\x05."), "x: 'the file' is 5, expected a mapping");
  EXPECT_EQ(error_in_bytes("\x80\x04}\x8c\1aK\5s."), "x: 'a' is 5, expected a mapping");
  EXPECT_EQ(error_in_bytes("\x80\x04}K\5}s."), "x: 'the file' has 5 as a name, expected a text");
  EXPECT_EQ(error_in_bytes("\x80\x04}\x8c\1a}\x8c\1wK\5ss."),
            "x: 'w' of module 'a' is 5, expected an array");
  EXPECT_EQ(error_in_bytes("\x80\x04}(\x8c\1a}\x8c\1a}u."), "x: has module 'a' twice");
  EXPECT_EQ(error_in_bytes("\x80\x04}(\x8c\6params}\x8c\1a}s\x8c\3optK\5u."),
            "x: has 'opt', expected 'params' and 'state'");
  const std::string unfilled =
      "\x80\x02}\x8c\1a}\x8c\1wcnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n\x85Rss."s;
  EXPECT_EQ(error_in_bytes(unfilled),
            "x: 'w' of module 'a' is an array that was never filled, expected an array");
}

TEST(Haiku, SharedMappingsDoNotMultiplyWithoutLimit) {
  std::string pickle = "\x80\x02}q\0("s;
  const std::string array =
      "cnumpy.core.numeric\n_frombuffer\n(C\0cnumpy\ndtype\n\x8c\2f4\x85RK\0\x85\x8c\1CtRq\1"s;
  pickle.append("\x8c\5first").append(array);
  for (int i = 0; i < 2000; ++i) pickle += fmt::format("\x8c\4{:04}h\1", i);
  pickle += "u0}("s;
  for (int i = 0; i < 2000; ++i) pickle += fmt::format("\x8c\4{:04}h", i) + "\0"s;
  EXPECT_EQ(error_in_bytes(pickle + "u."), "x: more than 262144 arrays");
}

TEST(Haiku, EveryTruncationIsAnErrorAndEveryFlippedBitAnErrorOrAnAnswer) {
  for (const char* name : {"protocol2.pystate", "protocol4.pystate", "protocol5.pystate",
                           "params_and_state.pystate"}) {
    const std::string bytes = fixture_as_x(name).bytes;
    for (size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_THROW(decode_haiku({"x", bytes.substr(0, length)}), Error) << name << length;
    }
    flip_every_bit(bytes, 0, bytes.size(), [](std::string flipped) {
      decode_haiku({"x", std::move(flipped)});
    });
  }
}

TEST(Haiku, GoldensLoadAndTheirTruncationsFail) {
  if (goldens().empty()) GTEST_SKIP() << "PERCEIVER_GOLDENS is not set";
  for (const char* model :
       {"language", "image-conv", "image-fourier", "image-learned", "optical-flow", "multimodal"}) {
    const Bytes file = map_file(goldens() / "deepmind" / model / "checkpoint.pystate");
    const HaikuCheckpoint checkpoint = decode_haiku(file);
    EXPECT_GT(checkpoint.params.size(), 10);
    EXPECT_EQ(checkpoint.state.empty(), model != "image-conv"s) << model;
    // A thousand lengths of the smallest; the others' bytes are much the same.
    const size_t num_lengths = model == "language"s ? 1000 : 20;
    for (size_t i = 0; i < num_lengths; ++i) {
      EXPECT_THROW(decode_haiku(slice(file, 0, file.data.size() * i / num_lengths)), Error);
    }
  }
}

}  // namespace
}  // namespace perceiver
