#include "perceiver/weights/safetensors.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>

#include "perceiver/weights/weights_test.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

File file_of(const std::string& header, size_t data_size) {
  const uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return {"x", bytes + header + std::string(data_size, '\0')};
}

std::string error_in(const std::string& header, size_t data_size) {
  return error_of([&] { decode_safetensors(file_of(header, data_size)); });
}

NamedTensors every_dtype() {
  NamedTensors tensors;
  for (const auto dtype : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong, at::kInt,
                           at::kShort, at::kChar, at::kByte, at::kBool}) {
    tensors.emplace_back(at::toString(dtype), at::arange(6).remainder(2).to(dtype).view({2, 3}));
  }
  tensors.emplace_back("scalar", at::scalar_tensor(2.5));
  tensors.emplace_back("empty", at::empty({0, 4}));
  return tensors;
}

void expect_equal(const TensorMap& got, const NamedTensors& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    ASSERT_TRUE(got.contains(name)) << name;
    EXPECT_EQ(got.at(name).scalar_type(), tensor.scalar_type()) << name;
    EXPECT_TRUE(at::equal(got.at(name), tensor)) << name;
  }
}

TEST(Safetensors, WhatIsWrittenIsRead) {
  const fs::path folder = empty_folder("safetensors");
  const Metadata metadata = {{"format", "pt"}, {"quotes", "\"\n\u00e9"}};
  write_safetensors(folder / "a.safetensors", every_dtype(), metadata);
  const Safetensors file = read_safetensors(folder / "a.safetensors");
  expect_equal(file.tensors, every_dtype());
  EXPECT_EQ(file.metadata, metadata);
  EXPECT_EQ(sorted_entries(folder).size(), 1);
  EXPECT_EQ(read_file(folder / "a.safetensors").bytes, encode_safetensors(every_dtype(), metadata));
}

TEST(Safetensors, HeaderIsPaddedAndInTheOrderGiven) {
  const std::string bytes = encode_safetensors({{"b", at::ones({1})}, {"a", at::ones({2, 1})}});
  const std::string header = R"({"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                             R"("a":{"dtype":"F32","shape":[2,1],"data_offsets":[4,12]}})";
  const size_t padded = (header.size() + 7) / 8 * 8;
  EXPECT_EQ(bytes.substr(8, padded), header + std::string(padded - header.size(), ' '));
  EXPECT_EQ(bytes.size(), 8 + padded + 12);
}

TEST(Safetensors, ViewsAndSlicesAreWrittenAsTheyRead) {
  const Tensor x = at::arange(6).view({2, 3});
  expect_equal(
      decode_safetensors({"x", encode_safetensors({{"t", x.t()}, {"c", x.slice(1, 1)}})}).tensors,
      {{"t", x.t()}, {"c", x.slice(1, 1)}});
}

TEST(Safetensors, MappedTensorsOutliveTheFileAndNeverChangeIt) {
  const fs::path path = empty_folder("mapped") / "a.safetensors";
  write_safetensors(path, {{"a", at::ones({4})}});
  const std::string before = read_file(path).bytes;
  Tensor a = read_safetensors(path).tensors.at("a");
  a.add_(1);
  EXPECT_EQ(read_file(path).bytes, before);
  fs::remove(path);
  EXPECT_TRUE(at::equal(a, at::full({4}, 2.0)));
}

TEST(Safetensors, MisalignedTensorsAreCopied) {
  const std::string bytes =
      encode_safetensors({{"a", at::ones({3}, at::kByte)}, {"b", at::ones({2}, at::kDouble)}});
  const Tensor b = decode_safetensors({"x", bytes}).tensors.at("b");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b.const_data_ptr()) % 8, 0);
  EXPECT_TRUE(at::equal(b, at::ones({2}, at::kDouble)));
}

TEST(Safetensors, WhatCannotBeWrittenIsNamedAndLeavesNothing) {
  const fs::path folder = empty_folder("unwritable");
  EXPECT_EQ(error_of([&] {
              write_safetensors(folder / "a", {{"a", at::ones({1}, at::kComplexFloat)}});
            }),
            "a tensor of ComplexFloat cannot be written as safetensors, only F64, F32, F16, BF16, "
            "I64, I32, I16, I8, U8, BOOL");
  EXPECT_EQ(error_of([&] {
              write_safetensors(folder / "a", {{"\xff", at::ones({1})}});
            }),
            "a name or value for a safetensors header is not UTF-8");
  EXPECT_TRUE(sorted_entries(folder).empty());
  EXPECT_EQ(error_of([] { write_safetensors("/nope/a", {}); }),
            "/nope/a: cannot write: No such file or directory");
}

TEST(Safetensors, AFullDiskIsAnErrorAndLeavesTheOldFile) {
  const fs::path path = empty_folder("full") / "a";
  write_safetensors(path, {{"a", at::ones({1})}});
  const rlimit small{10'000, RLIM_INFINITY};
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string error = error_of([&] {
    write_safetensors(path, {{"a", at::ones({100'000})}});
  });
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(error, path.string() + ": cannot write: File too large");
  EXPECT_EQ(read_safetensors(path).tensors.at("a").numel(), 1);
  EXPECT_EQ(sorted_entries(path.parent_path()).size(), 1);
}

TEST(Safetensors, FilesThatCannotBeReadAreNamed) {
  EXPECT_EQ(error_of([] { read_safetensors("/nope"); }),
            "/nope: cannot open: No such file or directory");
  EXPECT_EQ(error_of([] { read_safetensors("/tmp"); }), "/tmp: is a folder, expected a file");
  EXPECT_EQ(error_of([] { read_safetensors("/dev/zero"); }), "/dev/zero: is not a plain file");
}

TEST(Safetensors, HeaderLengthIsChecked) {
  EXPECT_EQ(error_of([] {
              decode_safetensors({"x", "abc"});
            }),
            "x: 3 bytes, too few for the 8 of a header's length");
  EXPECT_EQ(error_of([] {
              decode_safetensors({"x", std::string(8, '\xff') + "{}"});
            }),
            "x: header of 18446744073709551615 bytes, expected at most 100000000");
  EXPECT_EQ(error_of([] {
              decode_safetensors({"x", std::string("\x10\0\0\0\0\0\0\0{}", 10)});
            }),
            "x: header ends at byte 24, the file has 10");
}

TEST(Safetensors, HeaderMustBeAnObjectOfTensors) {
  EXPECT_EQ(error_in("", 0), "x: header begins with '', expected '{'");
  EXPECT_EQ(error_in(" {}", 0), "x: header begins with ' ', expected '{'");
  EXPECT_EQ(error_in("{", 0), "x: header is not JSON at byte 2");
  EXPECT_EQ(error_in(std::string("{}\0x", 4), 0), "x: header is not JSON at byte 3");
  EXPECT_EQ(error_in("{} {}", 0), "x: header is not JSON at byte 4");
  EXPECT_EQ(error_in(R"({"a":1})", 0), "x: 'a' is a number, expected an object");
  EXPECT_EQ(error_in(R"({"a":[]})", 0), "x: 'a' is a list, expected an object");
  EXPECT_EQ(error_in(R"({"a":null})", 0), "x: 'a' is null, expected an object");
  EXPECT_EQ(error_in(R"({"a":{}})", 0), "x: tensor 'a' has no dtype");
  EXPECT_EQ(error_in(R"({"a":{"dtype":"F32"}})", 0), "x: tensor 'a' has no shape");
  EXPECT_EQ(error_in(R"({"a":{"dtype":"F32","shape":[]}})", 0),
            "x: tensor 'a' has no data_offsets");
  EXPECT_EQ(error_in(R"({"a":{"colour":1}})", 0), "x: tensor 'a' has unknown key 'colour'");
  EXPECT_EQ(error_in(R"({"__metadata__":{"a":1}})", 0),
            "x: '__metadata__' has a number as a, expected a string");
  EXPECT_TRUE(decode_safetensors(file_of("{}  ", 0)).tensors.empty());
}

TEST(Safetensors, NothingIsNamedTwice) {
  const std::string a = R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  EXPECT_EQ(error_in("{" + a + "," + a + "}", 0), "x: header names 'a' twice");
  EXPECT_EQ(error_in(R"({"__metadata__":{},"__metadata__":{}})", 0),
            "x: header names '__metadata__' twice");
  EXPECT_EQ(error_in(R"({"__metadata__":{"k":"1","k":"2"}})", 0),
            "x: '__metadata__' has 'k' twice");
  EXPECT_EQ(error_in(R"({"a":{"dtype":"U8","dtype":"U8"}})", 0), "x: 'a' has 'dtype' twice");
}

TEST(Safetensors, ShapesAndOffsetsAreNumbersThatFit) {
  const auto shaped = [](const std::string& shape, const std::string& offsets) {
    return error_in(
        R"({"a":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}", 4);
  };
  EXPECT_EQ(shaped("[1]", "[0,4]"), "no error");
  EXPECT_EQ(shaped("[-1]", "[0,4]"), "x: 'a' has -1 as shape, expected integers of at least 0");
  EXPECT_EQ(shaped("[1.0]", "[0,4]"), "x: 'a' has 1.0 as shape, expected integers of at least 0");
  EXPECT_EQ(shaped("[[1]]", "[0,4]"),
            "x: 'a' has a list as shape, expected integers of at least 0");
  EXPECT_EQ(shaped("1", "[0,4]"), "x: 'a' has a number as shape, expected a list");
  EXPECT_EQ(shaped("[9223372036854775808]", "[0,4]"),
            "x: tensor 'a' has a dimension of 9223372036854775808");
  EXPECT_EQ(shaped("[4294967296,4294967296]", "[0,4]"),
            "x: tensor 'a' has the impossible shape [4294967296, 4294967296]");
  EXPECT_EQ(shaped("[0,4294967296,4294967296]", "[0,0]"),
            "x: the tensors end at byte 0 of the data, the file has 4");
  EXPECT_EQ(shaped("[2]", "[0,4]"), "x: tensor 'a' has 4 bytes, its shape [2] of F32 needs 8");
  EXPECT_EQ(shaped("[1]", "[0]"), "x: tensor 'a' has 1 data_offsets, expected 2");
  EXPECT_EQ(shaped("[1]", "[0,4,4]"), "x: tensor 'a' has more than 2 data_offsets");
  EXPECT_EQ(shaped("[1]", "[4,0]"),
            "x: tensor 'a' begins at byte 4 of the data, the one before ends at 0");
  EXPECT_EQ(shaped("[2]", "[0,8]"), "x: tensor 'a' ends at byte 8 of the data, the file has 4");
  EXPECT_EQ(shaped("[1000000000000]", "[0,4000000000000]"),
            "x: tensor 'a' ends at byte 4000000000000 of the data, the file has 4");
  std::string many = "[1";
  for (int i = 0; i < 64; ++i) many += ",1";
  EXPECT_EQ(shaped(many + "]", "[0,4]"), "x: tensor 'a' has more than 64 dimensions");
}

TEST(Safetensors, HolesOverlapsAndTrailingBytesAreErrors) {
  const auto two = [](const std::string& second, size_t size) {
    return error_in(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                    R"("b":{"dtype":"U8","shape":[4],"data_offsets":)" +
                        second + "}}",
                    size);
  };
  EXPECT_EQ(two("[4,8]", 8), "no error");
  EXPECT_EQ(two("[5,9]", 9),
            "x: tensor 'b' begins at byte 5 of the data, the one before ends at 4");
  EXPECT_EQ(two("[3,7]", 7),
            "x: tensor 'b' begins at byte 3 of the data, the one before ends at 4");
  EXPECT_EQ(two("[4,8]", 9), "x: the tensors end at byte 8 of the data, the file has 9");
}

TEST(Safetensors, OtherDtypesAreRefusedByName) {
  EXPECT_EQ(error_in(R"({"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", 1),
            "x: tensor 'a' has dtype 'F8_E4M3', expected one of F64, F32, F16, BF16, I64, I32, "
            "I16, I8, U8, BOOL");
}

TEST(Safetensors, BooleansAreZeroOrOne) {
  File file = file_of(R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", 2);
  file.bytes.back() = 2;
  EXPECT_EQ(error_of([&] { decode_safetensors(file); }),
            "x: tensor 'a': element 1 is 2, expected a boolean: 0 or 1");
}

TEST(Safetensors, DeepNestingIsAnError) {
  EXPECT_EQ(error_in(R"({"a":)" + std::string(1'000'000, '['), 0),
            "x: 'a' is a list, expected an object");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += R"({"a":)";
  EXPECT_EQ(error_in(objects, 0), "x: tensor 'a' has unknown key 'a'");
}

TEST(Safetensors, EveryTruncationIsAnError) {
  const std::string bytes = encode_safetensors(every_dtype(), {{"format", "pt"}});
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THROW(decode_safetensors({"x", bytes.substr(0, length)}), Error) << length;
  }
  EXPECT_THROW(decode_safetensors({"x", bytes + '\0'}), Error);
}

TEST(Safetensors, EveryFlippedHeaderBitIsAnErrorOrAnAnswer) {
  const std::string bytes = encode_safetensors(every_dtype(), {{"format", "pt"}});
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  flip_every_bit(bytes, 0, 8 + length, [](std::string flipped) {
    for (const auto& [name, tensor] : decode_safetensors({"x", std::move(flipped)}).tensors) {
      tensor.sum().item();
    }
  });
}

TEST(Safetensors, GoldensLoadAndTheirTruncationsFail) {
  if (goldens().empty()) GTEST_SKIP() << "PERCEIVER_GOLDENS is not set";
  for (const char* model : {"language", "image-conv", "multimodal", "optical-flow"}) {
    for (const char* name : {"model.safetensors", "io.safetensors"}) {
      const Bytes file = map_file(goldens() / "huggingface" / model / name);
      EXPECT_FALSE(decode_safetensors(file).tensors.empty());
      for (size_t i = 0; i < 1000; ++i) {
        EXPECT_THROW(decode_safetensors(slice(file, 0, file.data.size() * i / 1000)), Error);
      }
    }
  }
}

}  // namespace
}  // namespace perceiver
