#include "perceiver/weights/npy.h"

#include <ATen/ATen.h>

#include "perceiver/weights/weights_test.h"

namespace perceiver {
namespace {

using namespace std::string_literals;

// As numpy 2.4 writes it, with the header's length in the two bytes behind the version.
std::string npy(const std::string& header, const std::string& data) {
  const auto size = static_cast<char>(header.size());
  return "\x93NUMPY\1\0"s + size + "\0"s + header + data;
}
const std::string kSmall = npy("{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }\n",
                               "\0\0\1\0\2\0\3\0\4\0\5\0"s);

Tensor decoded(const std::string& bytes) { return decode_npy(own_bytes({"x.npy", bytes})); }
std::string error_in(const std::string& header, const std::string& data = "") {
  return error_of([&] { decoded(npy(header, data)); });
}

TEST(Npy, ReadsRowsInEitherOrder) {
  const Tensor expected = at::arange(6, at::kShort).view({2, 3});
  EXPECT_TRUE(decoded(kSmall).equal(expected));
  const Tensor fortran = decoded(npy("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }\n",
                                     "\0\0\3\0\1\0\4\0\2\0\5\0"s));
  EXPECT_TRUE(fortran.equal(expected));
}

TEST(Npy, ReadsSingleNumbersAndEmptyArrays) {
  EXPECT_EQ(decoded(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (), }", "\7")).dim(), 0);
  const Tensor none =
      decoded(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }", ""));
  EXPECT_EQ(none.sizes(), (at::IntArrayRef{0, 3}));
}

TEST(Npy, WrittenArraysAreReadBackInEveryDtype) {
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat, at::kHalf, at::kLong, at::kInt,
                                     at::kShort, at::kChar, at::kByte, at::kBool, at::kUInt16}) {
    const Tensor array = at::arange(2, at::kLong).view({1, 2, 1}).to(dtype);
    const std::string file = encode_npy(array);
    EXPECT_EQ(file.find('\n') % 64, 63) << "the data is aligned";
    const Tensor again = decoded(file);
    EXPECT_EQ(again.scalar_type(), dtype);
    EXPECT_EQ(again.sizes(), array.sizes());
    EXPECT_TRUE(again.to(at::kLong).equal(array.to(at::kLong)));
  }
}

TEST(Npy, BrokenFilesAreToldFromWhole) {
  for (size_t size = 0; size < kSmall.size(); ++size) {
    EXPECT_THROW(decoded(kSmall.substr(0, size)), Error) << size;
  }
  flip_every_bit(kSmall, 0, kSmall.size(), [](std::string bytes) { decoded(bytes); });
  EXPECT_EQ(error_of([] { decoded("PK"); }), "x.npy: no .npy file");
  EXPECT_EQ(error_of([] { decoded("\x93NUMPY\7\0\0\0"s); }),
            "x.npy: .npy of version 7, expected 1 to 3");
  EXPECT_EQ(error_of([] { decoded("\x93NUMPY\1\0\7\0{"s); }),
            "x.npy: the header of this .npy is cut short");
  EXPECT_EQ(error_in("{'descr': '<f4', 'shape': (2,), }"),
            "x.npy: the header of this .npy is broken");
  EXPECT_EQ(error_in("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "1234"),
            "x.npy: 4 bytes of data, expected those of [2] of Float; cut short?");
}

TEST(Npy, SaysHowToSaveWhatIsNotRead) {
  EXPECT_EQ(error_in("{'descr': '>f8', 'fortran_order': False, 'shape': (), }"),
            "x.npy: numbers of dtype '>f8' are big-endian; save array.astype('<f8')");
  EXPECT_EQ(error_in("{'descr': '<U3', 'fortran_order': False, 'shape': (), }"),
            "x.npy: dtype '<U3', expected numbers: float16 to 64, int8 to 64, uint8 to 64 or bool");
  EXPECT_EQ(error_in("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (), }"),
            "x.npy: an array of records, expected one of numbers");
}

TEST(Npz, ReadsWhatNumpyWrote) {
  for (const char* name : {"packed.npz", "stored.npz"}) {
    const TensorMap arrays = read_npz(fixture(name));
    ASSERT_EQ(arrays.size(), 2) << name;
    EXPECT_TRUE(arrays.at("x").equal(at::arange(6, at::kFloat).view({2, 3})));
  }
  EXPECT_TRUE(read_npz(fixture("packed.npz")).at("mask").all().item<bool>());
}

TEST(Npz, WrittenFilesAreReadBack) {
  const NamedTensors arrays = {
      {"b", at::rand({3, 2})}, {"a/c", at::arange(4)}, {"none", at::zeros({0})}};
  const TensorMap again = decode_npz(own_bytes({"x.npz", encode_npz(arrays)}));
  ASSERT_EQ(again.size(), 3);
  for (const auto& [name, tensor] : arrays) EXPECT_TRUE(again.at(name).equal(tensor)) << name;
}

TEST(Npz, NamesTheArrayThatIsWrong) {
  std::string file = encode_npz({{"x", at::zeros({2})}});
  const size_t at = file.find("<f4");
  file.replace(at, 3, "<c8");
  const uint32_t none = 0;  // no checksum
  for (size_t crc : {size_t{14}, file.find("PK\1\2") + 16}) {
    file.replace(crc, 4, reinterpret_cast<const char*>(&none), 4);
  }
  EXPECT_EQ(
      error_of([&] {
        decode_npz(own_bytes({"d.npz", file}));
      }),
      "d.npz: array 'x': dtype '<c8', expected numbers: float16 to 64, int8 to 64, uint8 to 64 "
      "or bool");
}

}  // namespace
}  // namespace perceiver
