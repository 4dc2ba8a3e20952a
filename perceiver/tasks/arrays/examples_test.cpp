#include "perceiver/tasks/arrays/examples.h"

#include "perceiver/tasks/arrays/files_test.h"
#include "perceiver/tasks/arrays/patches.h"
#include "perceiver/tasks/settings.h"

namespace perceiver {
namespace {

class Examples : public ArrayFiles {
 protected:
  // Example `row` of these arrays, under a config that has learned from them.
  Example example(const std::string& text, const NamedTensors& arrays, int64_t row = 0,
                  ExampleUse use = ExampleUse::kTrain) const {
    const auto settings = read_settings(arrays_config(text, write("a.npz", arrays)));
    return of(*settings->model<ArraysConfig>(), arrays, row, use);
  }
  static Example of(const ArraysConfig& config, const NamedTensors& arrays, int64_t row,
                    ExampleUse use) {
    TensorMap map(arrays.begin(), arrays.end());
    const ArrayTable table = table_of("a.npz", map, needed_arrays(config, use != ExampleUse::kRun));
    Rng rng(1, 2, row);
    return ExampleMaker(config).make(table, row, rng, use);
  }
};

TEST(Patches, ComeBackAsTheyWere) {
  ElementsLayout layout;
  layout.grid = {2, 3}, layout.patch = {4, 2}, layout.elements = 6;
  const Tensor values = at::rand({8, 6, 5});
  const Tensor elements = to_elements(values, layout);
  EXPECT_EQ(elements.sizes().vec(), (std::vector<int64_t>{6, 40}));
  // Element (1, 2) has rows 4 to 7 and columns 4 and 5.
  EXPECT_TRUE(elements[5].equal(values.narrow(0, 4, 4).narrow(1, 4, 2).flatten()));
  EXPECT_TRUE(from_elements(elements.unsqueeze(0), layout)[0].equal(values));
}

TEST_F(Examples, NumbersAreNormalisedByWhatWasLearned) {
  const Tensor x = at::tensor({1.0, 3.0, 1.0, 3.0}).reshape({4, 1});
  const Example one = example("data.held_out_share = 0.0\n[inputs.x]\n[queries.y]\n",
                              {{"x", x}, {"y", at::tensor({10.0, 10.0, 30.0, 30.0})}}, 1);
  EXPECT_NEAR(one.at("inputs.x.0").item<float>(), 1.0, 1e-6);
  EXPECT_NEAR(one.at("queries.y.target").item<float>(), -1.0, 1e-6);
  EXPECT_FALSE(one.contains("inputs.x.mask")) << "nothing is missing: attention needs no mask";
}

TEST_F(Examples, ByItselfAnExampleHasMeanZero) {
  const Example one =
      example("[inputs.x]\nfields = [{number = ':', normalise = 'example'}]\n[queries.y]\n",
              {{"x", at::rand({10, 50, 2}) * 9 + 5}, {"y", at::rand({10})}});
  const Tensor x = one.at("inputs.x.0");
  EXPECT_LT(x.mean(0).abs().max().item<float>(), 1e-5);
  EXPECT_NEAR(x.square().mean().item<float>(), 1.0, 1e-4);
}

TEST_F(Examples, MissingNumbersAreTheMeanAndMissingElementsAreMasked) {
  Tensor x = at::rand({10, 4, 2});
  x[0][1] = NAN;
  x[0][2][0] = NAN;
  const Example one = example("[inputs.x]\n[queries.y]\n", {{"x", x}, {"y", at::rand({10})}});
  EXPECT_TRUE(one.at("inputs.x.mask").equal(at::tensor({1, 0, 1, 1}).to(at::kBool)));
  EXPECT_EQ(one.at("inputs.x.0")[2][0].item<float>(), 0.0f);
  EXPECT_FALSE(one.at("inputs.x.0").isnan().any().item<bool>());
}

TEST_F(Examples, NumbersThatAreMissingOnlyLaterAreRefused) {
  const NamedTensors good = {{"x", at::rand({10, 2})}, {"y", at::rand({10})}};
  const auto settings =
      read_settings(arrays_config("[inputs.x]\n[queries.y]\n", write("a.npz", good)));
  NamedTensors bad = good;
  bad[0].second = at::full({3, 2}, NAN);
  EXPECT_EQ(error_of([&] { of(*settings->model<ArraysConfig>(), bad, 2, ExampleUse::kRun); }),
            "a.npz: example 2: 'inputs.x' has missing numbers (NaN), which the data that the model "
            "was made for had not; train with inputs.x.missing=true");
}

TEST_F(Examples, AnExampleWithNothingInItIsRefused) {
  Tensor mask = at::ones({10, 3}, at::kBool);
  mask[4] = false;
  const NamedTensors arrays = {{"x", at::rand({10, 3, 2})}, {"there", mask}, {"y", at::rand({10})}};
  EXPECT_EQ(error_of([&] { example("[inputs.x]\nmask = 'there'\n[queries.y]\n", arrays, 4); }),
            "a.npz: example 4: every element of its inputs is missing");
}

TEST_F(Examples, ASampleIsDrawnOfWhatIsThereWithItsPlaces) {
  Tensor mask = at::zeros({10, 6}, at::kBool);
  mask.narrow(1, 2, 2) = true;
  const Tensor x = at::arange(60, at::kFloat).reshape({10, 6, 1});
  const Example one = example(
      "[inputs.x]\nmask = 'there'\nsample = 2\nfields = [{number = ':', normalise = 'none'}, "
      "{position = 'fourier', bands = 2}]\n[queries.y]\n",
      {{"x", x}, {"there", mask}, {"y", at::rand({10})}}, 1);
  EXPECT_TRUE(std::get<0>(one.at("inputs.x.0").flatten().sort()).equal(at::tensor({8.f, 9.f})));
  EXPECT_TRUE(one.at("inputs.x.mask").all().item<bool>());
  const Tensor places = one.at("inputs.x.0").flatten() - 6;  // along the axis of six, from -1 to 1
  EXPECT_TRUE(one.at("inputs.x.place").flatten().allclose(places * 2 / 5 - 1));
  const Example all =
      example("[inputs.x]\nmask = 'there'\nsample = 2\n[queries.y]\n",
              {{"x", x}, {"there", mask}, {"y", at::rand({10})}}, 1, ExampleUse::kMeasure);
  EXPECT_EQ(all.at("inputs.x.0").size(0), 6) << "all are seen where it is measured";
}

TEST_F(Examples, HiddenElementsAreWhatIsAskedForAndAreNotSeen) {
  const char* text =
      "[inputs.x]\nhide = 0.5\n[queries.x]\nlike = 'x'\nhidden_only = true\n"
      "fields = [{position = 'fourier', bands = 2}]\n";
  const NamedTensors arrays = {{"x", at::rand({10, 40, 1})}};
  for (const ExampleUse use : {ExampleUse::kTrain, ExampleUse::kMeasure}) {
    const Example one = example(text, arrays, 3, use);
    const Tensor seen = one.at("inputs.x.mask"), asked = one.at("queries.x.asked");
    EXPECT_TRUE(seen.logical_not().equal(asked));
    EXPECT_GT(asked.sum().item<int64_t>(), 8);  // of 40, with chance 1/2: 1 in 100,000 fewer
    EXPECT_LT(asked.sum().item<int64_t>(), 32);
  }
}

TEST_F(Examples, OneInputIsLeftWhereWholeInputsAreHidden) {
  const char* text = "[inputs.a]\nhide_all = 0.9\n[inputs.b]\nhide_all = 0.9\n[queries.y]\n";
  const NamedTensors arrays = {
      {"a", at::rand({40, 2})}, {"b", at::rand({40, 2})}, {"y", at::rand({40})}};
  const auto settings = read_settings(arrays_config(text, write("a.npz", arrays)));
  int64_t hidden = 0;
  for (int64_t row = 0; row < 40; ++row) {
    const Example one = of(*settings->model<ArraysConfig>(), arrays, row, ExampleUse::kTrain);
    const bool a = one.at("inputs.a.mask").item<bool>(), b = one.at("inputs.b.mask").item<bool>();
    EXPECT_TRUE(a || b);
    hidden += !a + !b;
  }
  EXPECT_GT(hidden, 25);
}

TEST_F(Examples, CategoriesThatAreUnknownHaveAVectorOfTheirOwnAndOthersAreRefused) {
  const char* text =
      "[inputs.x]\nelement = 'column'\nfields = [{number = '0'}, {category = 'kind', size = 3}]\n"
      "[queries.y]\n";
  const NamedTensors arrays = {{"x", at::rand({4, 1})},
                               {"kind", at::tensor({2, -1, 0, 3}, at::kLong)},
                               {"y", at::rand({4})}};
  EXPECT_EQ(example(text, arrays, 0).at("inputs.x.1").item<int64_t>(), 2);
  EXPECT_EQ(example(text, arrays, 1).at("inputs.x.1").item<int64_t>(), 3);
  EXPECT_EQ(error_of([&] { example(text, arrays, 3); }),
            "a.npz: example 3: 'kind' has the category 3, the model knows 3, counted from 0");
}

TEST_F(Examples, RandomEventsAreOfTheArraysThatFieldsName) {
  const char* text =
      "[inputs.x]\nhas_channels = false\nfields = [{category = 'unit'}, {number = 'more[1:3]'}, "
      "{number = 'more[0]'}]\n[queries.y]\n";
  const NamedTensors arrays = {{"unit", at::randint(5, {10, 7}, at::kLong)},
                               {"more", at::rand({10, 7, 4})},
                               {"y", at::rand({10})}};
  const auto settings = read_settings(arrays_config(text, write("a.npz", arrays)));
  const Example random = random_examples(*settings->model<ArraysConfig>(), 2, ExampleUse::kTrain);
  EXPECT_EQ(random.at("inputs.x.0").sizes().vec(), (std::vector<int64_t>{2, 7, 1}));
  EXPECT_EQ(random.at("inputs.x.1").sizes().vec(), (std::vector<int64_t>{2, 7, 2}));
}

TEST_F(Examples, RandomOnesHaveTheSizesOfRealOnes) {
  const char* text =
      "[inputs.x]\npatch = [2, 2]\nsample = 3\n[inputs.kind]\nhas_channels = false\n"
      "fields = [{category = ':'}, {number = 'weight'}, {position = 'learned'}]\n"
      "[queries.where]\nat = 'places'\ntarget = 'value'\nsample = 2\n[queries.y]\n"
      "loss = 'cross_entropy'\n";
  const NamedTensors arrays = {
      {"x", at::rand({10, 4, 6, 2})}, {"kind", at::randint(5, {10, 7}, at::kLong)},
      {"weight", at::rand({10, 7})},  {"places", at::rand({10, 9, 3})},
      {"value", at::rand({10, 9})},   {"y", at::randint(3, {10}, at::kLong)}};
  const auto settings = read_settings(arrays_config(text, write("a.npz", arrays)));
  const ArraysConfig& config = *settings->model<ArraysConfig>();
  for (const ExampleUse use : {ExampleUse::kTrain, ExampleUse::kMeasure, ExampleUse::kRun}) {
    const Example real = of(config, arrays, 2, use), random = random_examples(config, 1, use);
    ASSERT_EQ(real.size(), random.size());
    for (const auto& [name, tensor] : real) {
      EXPECT_EQ(tensor.unsqueeze(0).sizes(), random.at(name).sizes()) << name;
      EXPECT_EQ(tensor.dtype(), random.at(name).dtype()) << name;
    }
  }
}

}  // namespace
}  // namespace perceiver
