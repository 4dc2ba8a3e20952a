#include "perceiver/tasks/language/tokenizer.h"

#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"

namespace perceiver {
namespace {

Model model_in(const std::filesystem::path& folder) {
  Model model;
  model.source = "some/model.safetensors";
  model.folder = folder;
  return model;
}

TEST(FindTokenizer, BytesAreKnownByTheirNumber) {
  EXPECT_TRUE(std::holds_alternative<ByteTokenizer>(find_tokenizer(model_in("nowhere"), 262)));
}

TEST(FindTokenizer, OthersNeedAFile) {
  EXPECT_EQ(error_of([] { find_tokenizer(model_in("nowhere"), 32000); }),
            "some/model.safetensors: a vocabulary of 32000 is not that of bytes (262), and there "
            "is no spiece.model, tokenizer.model or sentencepiece.model in nowhere");
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "perceiver_tokenizer";
  std::filesystem::create_directories(folder);
  write_file(folder / "tokenizer.model", "no such thing");
  EXPECT_TRUE(error_of([&] {
                find_tokenizer(model_in(folder), 32000);
              }).starts_with((folder / "tokenizer.model: ").string()));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace perceiver
