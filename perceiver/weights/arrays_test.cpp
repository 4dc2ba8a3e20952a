#include "perceiver/weights/arrays.h"

#include <ATen/ATen.h>

#include "perceiver/weights/npy.h"
#include "perceiver/weights/weights_test.h"

namespace perceiver {
namespace {

const NamedTensors kArrays = {{"x", at::arange(6).view({2, 3})}, {"y", at::ones({2})}};

void expect_same(const TensorMap& arrays) {
  ASSERT_EQ(arrays.size(), kArrays.size());
  for (const auto& [name, tensor] : kArrays) EXPECT_TRUE(arrays.at(name).equal(tensor)) << name;
}

TEST(Arrays, AreReadBackFromEveryKindOfFile) {
  const auto folder = empty_folder("arrays");
  for (const char* name : {"a.npz", "a.safetensors"}) {
    write_arrays(folder / name, kArrays);
    EXPECT_TRUE(holds_arrays(folder / name));
    expect_same(read_arrays(folder / name));
    expect_same(decode_arrays(read_file(folder / name)));
  }
  std::filesystem::create_directory(folder / "npy");
  for (const auto& [name, tensor] : kArrays) {
    write_file(folder / "npy" / (name + ".npy"), encode_npy(tensor));
  }
  EXPECT_TRUE(holds_arrays(folder / "npy"));
  expect_same(read_arrays(folder / "npy"));
  EXPECT_TRUE(read_arrays(folder / "npy" / "x.npy").at("x").equal(kArrays[0].second));
}

TEST(Arrays, OtherFilesAreRefused) {
  const auto folder = empty_folder("no_arrays");
  const auto error_in = [&](const char* name) {
    return error_of([&] { read_arrays(folder / name); }).substr(folder.string().size());
  };
  EXPECT_EQ(error_in("a.csv"),
            "/a.csv: expected a name that ends in .npz, .safetensors or .npy, or a folder of .npy");
  EXPECT_EQ(error_in("a.npz"), "/a.npz: cannot open: No such file or directory");
  EXPECT_EQ(error_in(""), "/: there are no .npy files in this folder");
  EXPECT_EQ(error_of([] { write_arrays("out.csv", kArrays); }),
            "-o out.csv: expected a name that ends in .npz or .safetensors");
}

}  // namespace
}  // namespace perceiver
