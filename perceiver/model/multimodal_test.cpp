#include "perceiver/model/multimodal.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/error.h"

namespace perceiver {
namespace {

TEST(ModalityPadding, ChannelsAreThePapers) {
  // Kinetics inputs: 48 + 195, 16 + 385 and a one-hot label of 700; queries: 195, 385, 1024.
  EXPECT_EQ(ModalityPadding(
                std::map<std::string, int64_t>{{"image", 243}, {"audio", 401}, {"label", 700}}, 4)
                ->channels(),
            704);
  EXPECT_EQ(ModalityPadding(
                std::map<std::string, int64_t>{{"image", 195}, {"audio", 385}, {"label", 1024}}, 2)
                ->channels(),
            1026);
}

class MultimodalTest : public testing::Test {
 protected:
  at::NoGradGuard no_grad;
  ModalityPadding padding{std::map<std::string, int64_t>{{"b", 3}, {"a", 5}}, 2};
  Modalities arrays{{"b", at::randn({2, 4, 3})}, {"a", at::randn({2, 1, 5})}};
};

TEST_F(MultimodalTest, ContentComesFirstAndModalitiesInTheOrderOfTheirNames) {
  const Tensor packed = pack(padding(arrays));
  ASSERT_EQ(packed.sizes(), (std::vector<int64_t>{2, 5, 7}));
  EXPECT_TRUE(packed[1][0].narrow(0, 0, 5).equal(arrays["a"][1][0]));
  EXPECT_TRUE(packed[1][4].narrow(0, 0, 3).equal(arrays["b"][1][3]));
  EXPECT_TRUE(packed[1][4].narrow(0, 3, 4).equal(padding->named_parameters()["b"]));
}

TEST_F(MultimodalTest, TakingApartUndoesPacking) {
  const Modalities padded = padding(arrays);
  const Modalities again = take_apart(pack(padded), {{"a", 1}, {"b", 4}});
  EXPECT_TRUE(again.at("a").equal(padded.at("a")));
  EXPECT_TRUE(again.at("b").equal(padded.at("b")));
}

TEST_F(MultimodalTest, HiddenElementsBecomeTheirModalitysToken) {
  ModalityMask mask(std::vector<std::string>{"a", "b"}, 7);
  const Modalities padded = padding(arrays);
  const Tensor hidden = at::arange(4).view({1, 4}).expand({2, 4}) == 2;
  const Modalities masked = mask(padded, Modalities{{"b", hidden}});
  EXPECT_TRUE(masked.at("a").equal(padded.at("a")));
  EXPECT_TRUE(masked.at("b")[0][2].equal(mask->named_parameters()["b"]));
  EXPECT_TRUE(masked.at("b")[0][1].equal(padded.at("b")[0][1]));
}

TEST_F(MultimodalTest, AnArrayOfOtherChannelsIsNamed) {
  arrays["b"] = at::randn({2, 4, 6});
  try {
    padding(arrays);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "b has shape [2, 4, 6], expected [*, *, 3]");
  }
}

}  // namespace
}  // namespace perceiver
