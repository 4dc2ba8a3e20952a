#include "perceiver/weights/torch_file.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/weights/weights_test.h"
#include "perceiver/weights/zip.h"

namespace perceiver {
namespace {

using namespace std::string_literals;

std::string error_in(const std::string& name) {
  return error_of([&] { decode_torch_file(fixture_as_x(name)); });
}

std::string error_in_bytes(const std::string& bytes) {
  return error_of([&] { decode_torch_file({"x", bytes}); });
}

TEST(TorchFile, StateDictIsReadWithItsViews) {
  const TensorMap tensors = read_torch_file(fixture("state_dict.bin"));
  const Tensor shared = at::arange(6, at::kFloat).view({2, 3});
  EXPECT_EQ(tensors.size(), 15);
  EXPECT_TRUE(at::equal(tensors.at("shared"), shared));
  EXPECT_TRUE(at::equal(tensors.at("transposed"), shared.t()));
  EXPECT_TRUE(at::equal(tensors.at("row"), shared[1]));
  EXPECT_TRUE(tensors.at("row").is_alias_of(tensors.at("shared")));
  EXPECT_TRUE(at::equal(tensors.at("scalar"), at::scalar_tensor(5.0)));
  EXPECT_EQ(tensors.at("empty").sizes(), at::IntArrayRef({0, 3}));
  EXPECT_TRUE(at::equal(tensors.at("parameter"), at::full({1}, 0.5)));
  EXPECT_TRUE(at::equal(tensors.at("a_bool"), at::tensor({1, 0}).to(at::kBool)));
  for (const auto& [name, dtype] : {std::pair{"a_float64", at::kDouble},
                                    {"a_float16", at::kHalf},
                                    {"a_bfloat16", at::kBFloat16},
                                    {"a_int64", at::kLong},
                                    {"a_int32", at::kInt},
                                    {"a_int16", at::kShort},
                                    {"a_int8", at::kChar},
                                    {"a_uint8", at::kByte}}) {
    EXPECT_EQ(tensors.at(name).scalar_type(), dtype);
    EXPECT_TRUE(at::equal(tensors.at(name), at::tensor({1, 2, 3}).to(dtype))) << name;
  }
}

TEST(TorchFile, StoredDeflatedZip64AndUncheckedEntriesAreRead) {
  for (const char* name : {"small.bin", "deflated.bin", "zip64.bin", "no_checksums.bin"}) {
    const TensorMap tensors = read_torch_file(fixture(name));
    EXPECT_TRUE(at::equal(tensors.at("a"), at::tensor({1.0f, 2.0f}))) << name;
  }
}

TEST(TorchFile, WhatItIsNotIsNamed) {
  EXPECT_EQ(error_in("old_format.bin"),
            "x: old torch format (not a zip): load and save it again with torch >= 1.6");
  EXPECT_EQ(error_in("make_fixtures.py"), "x: not a torch file (not a zip)");
  EXPECT_EQ(error_in("eval.bin"),
            "x: pickle names '__builtin__.eval', which is not on the list of what may be built");
  EXPECT_EQ(error_in("expanded.bin"),
            "x: tensor of shape [1000], strides [0] and offset 0 in a storage of 1 elements");
}

// small.bin without checksums, so that its pickle can be changed in place.
std::string changed(const std::string& from, const std::string& to) {
  std::string bytes = read_file(fixture("no_checksums.bin")).bytes;
  const size_t at = bytes.find(from);
  TORCH_INTERNAL_ASSERT(at != std::string::npos && from.size() == to.size());
  return bytes.replace(at, from.size(), to);
}

TEST(TorchFile, ViewsMustLieInTheirStorage) {
  // offset, sizes, strides
  const std::string good = "K\0K\2\x85q\bK\1\x85"s;
  EXPECT_EQ(error_in_bytes(changed(good, good)), "no error");
  EXPECT_EQ(error_in_bytes(changed(good, "K\1K\2\x85q\bK\1\x85"s)),
            "x: tensor of shape [2], strides [1] and offset 1 in a storage of 2 elements");
  EXPECT_EQ(error_in_bytes(changed(good, "K\0K\2\x85q\bK\2\x85"s)),
            "x: tensor of shape [2], strides [2] and offset 0 in a storage of 2 elements");
  EXPECT_EQ(error_in_bytes(changed(good, "K\0K\2\x85q\bK\1\x86"s)).substr(0, 2), "x:");
  EXPECT_EQ(error_in_bytes(changed("cpuq\6K\2"s, "cpuq\6K\3"s)),
            "x: storage '0' has 8 bytes, expected 3 elements of Float");
  EXPECT_EQ(error_in_bytes(changed("FloatStorage"s, "FloatStorbge"s)),
            "x: pickle names 'torch.FloatStorbge', which is not on the list of what may be built");
  EXPECT_EQ(error_in_bytes(changed("X\1\0\0\0000q\5"s, "X\1\0\0\0009q\5"s)),
            "x: zip has no 'no_checksums/data/9'");
}

TEST(TorchFile, BrokenBytesFailTheirChecksum) {
  std::string bytes = read_file(fixture("small.bin")).bytes;
  const size_t at = bytes.find(std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  bytes[at] ^= 1;
  const std::string error = error_in_bytes(bytes);
  EXPECT_EQ(error.substr(0, error.find("checksum")), "x: zip entry 'small/data/0' has ");
}

TEST(TorchFile, EveryTruncationIsAnErrorAndEveryFlippedBitAnErrorOrAnAnswer) {
  for (const char* name : {"small.bin", "deflated.bin", "zip64.bin", "no_checksums.bin"}) {
    const std::string bytes = fixture_as_x(name).bytes;
    for (size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_THROW(decode_torch_file({"x", bytes.substr(0, length)}), Error) << name << length;
    }
    flip_every_bit(bytes, 0, bytes.size(), [](std::string flipped) {
      decode_torch_file({"x", std::move(flipped)});
    });
  }
}

}  // namespace
}  // namespace perceiver
