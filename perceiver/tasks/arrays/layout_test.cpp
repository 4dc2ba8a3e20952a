#include "perceiver/tasks/arrays/layout.h"

#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"

namespace perceiver {
namespace {

ArraysConfig series() {
  ArraysConfig config;
  config.inputs["x"] = {.rows = {0, 24},
                        .patch = {4},
                        .parts = {{.number = ":", .mean = {0, 0, 0}, .scale = {1, 1, 1}},
                                  {.position = "fourier", .bands = 5}},
                        .shape = {32, 3}};
  config.queries["next"] = {.learned = 8,
                            .target = {"x"},
                            .rows = {24, 32},
                            .measure = {"mae"},
                            .target_shape = {32, 3},
                            .mean = {0, 0, 0},
                            .scale = {1, 1, 1}};
  return config;
}

TEST(ArraysLayout, CountsElementsAndChannels) {
  const ArraysLayout layout = layout_of(series());
  const ElementsLayout& x = layout.inputs.at("x").elements;
  EXPECT_EQ(x.elements, 6);            // 24 rows in patches of 4
  EXPECT_EQ(x.channels, 12 + 1 + 10);  // 4 x 3 numbers, a position, its sines and cosines
  const QueryLayout& next = layout.queries.at("next");
  EXPECT_EQ(next.elements.elements, 8);
  EXPECT_EQ(next.elements.channels, 128);
  EXPECT_EQ(next.outputs, 3);
}

TEST(ArraysLayout, QueriesLikeAnInputAnswerAWholePatch) {
  ArraysConfig config = series();
  config.queries = {{"same",
                     {.like = "x",
                      .parts = {{.position = "learned", .channels = 7}},
                      .rows = {0, 24},
                      .measure = {"mae"},
                      .target_shape = {32, 3},
                      .mean = {0, 0, 0},
                      .scale = {1, 1, 1}}}};
  const QueryLayout same = layout_of(config).queries.at("same");
  EXPECT_EQ(same.elements.elements, 6);
  EXPECT_EQ(same.elements.channels, 7);
  EXPECT_EQ(same.outputs, 12);
}

TEST(ArraysLayout, LossesDecideTheHead) {
  const auto outputs = [](ArrayLoss loss) {
    ArraysConfig config = series();
    config.queries.at("next").loss = loss;
    config.queries.at("next").measure = {};
    return layout_of(config).queries.at("next").outputs;
  };
  EXPECT_EQ(outputs(ArrayLoss::kGaussian), 6);
  EXPECT_EQ(outputs(ArrayLoss::kQuantile), 9);
  EXPECT_EQ(outputs(ArrayLoss::kEndPoint), 3);
}

TEST(ArraysLayout, WhatDoesNotFitIsSaid) {
  struct Case {
    std::function<void(ArrayInput&, ArrayQuery&)> spoil;
    const char* message;
  };
  const Case cases[] = {
      {[](auto& x, auto&) { x.patch = {5}; },
       "'inputs.x.patch' has 5 along an axis of 24, which it does not divide"},
      {[](auto& x, auto&) {
         x.patch = {4, 4};
       },
       "'inputs.x.patch' has 2 sizes, the array 1 index axes"},
      {[](auto& x, auto&) {
         x.rows = {0, 33};
       },
       "'inputs.x.rows' is [0, 33], expected [begin, end] within the 32 of the first axis"},
      {[](auto& x, auto&) { x.shape = {}; },
       "'inputs.x' has no shape yet; name the data that have it (data.train=FILE)"},
      {[](auto& x, auto&) { x.parts[0].number = "1:4"; },
       "'inputs.x.fields[0]' asks for channels '1:4', the array has 3"},
      {[](auto& x, auto&) { x.parts[0].number = "0:2"; },
       "'inputs.x.fields[0]' is of 2 numbers, its mean and scale of 3 and 3"},
      {[](auto& x, auto&) { x.parts[0].category = "unit"; },
       "'inputs.x.fields[0]' says 2 of number, fourier, category and position, expected one"},
      {[](auto& x, auto&) { x.parts[1].position = "rotary"; },
       "'inputs.x.fields[1]' has the position 'rotary', expected 'fourier' or 'learned'"},
      {[](auto& x, auto&) { x.parts[0] = {.category = ":", .size = 4}; },
       "'inputs.x.fields[0]': elements are patches of 4 places, of which a number alone can be a "
       "field"},
      {[](auto& x, auto&) { x.element = ElementKind::kColumn; },
       "'inputs.x.element' is 'column', which is for arrays without index axes; this one has 1"},
      {[](auto&, auto& q) { q.learned = 9; },
       "'queries.next' asks for [9] outputs, its target is of [8]"},
      {[](auto&, auto& q) { q.like = "x"; },
       "'queries.next' says 2 of learned, at and like, expected one"},
      {[](auto&, auto& q) { q.learned = 0, q.like = "other"; },
       "'queries.next.like' names the input 'other', which there is not; there are x"},
      {[](auto&, auto& q) { q.loss = ArrayLoss::kCrossEntropy, q.measure = {}; },
       "'queries.next.loss' is cross_entropy, which needs one class an output; the target has 3 "
       "numbers"},
      {[](auto&, auto& q) { q.measure = {"acuracy"}; },
       "'queries.next.measure' has 'acuracy'; with the loss mse there are mae, rmse, r2, "
       "end_point"},
      {[](auto&, auto& q) {
         q.quantiles = {0.5, 0.5};
       },
       "'queries.next.quantiles' is [0.5, 0.5], expected shares between 0 and 1 that rise"},
      {[](auto&, auto& q) { q.hidden_only = true; },
       "'queries.next.hidden_only' needs 'like', and an input with 'hide' above 0"},
      {[](auto&, auto& q) { q.names = {"a"}; },
       "'queries.next.names' are for the loss cross_entropy, this one is mse"},
      {[](auto&, auto& q) { q.weight = 0.0; },
       "the weights of all queries are 0, expected one above"},
  };
  for (const Case& c : cases) {
    ArraysConfig config = series();
    c.spoil(config.inputs.at("x"), config.queries.at("next"));
    EXPECT_EQ(error_of([&] { layout_of(config); }), c.message);
  }
}

TEST(ArraysLayout, InputsAndQueriesMustBeThereAndHaveNames) {
  ArraysConfig config = series();
  config.inputs["a.b"] = config.inputs.at("x");
  EXPECT_EQ(error_of([&] { layout_of(config); }),
            "'inputs.a.b' is no name, expected letters, digits, '_' and '-'");
  config.inputs.clear();
  EXPECT_EQ(error_of([&] { layout_of(config); }),
            "there are no inputs; write a table [inputs.NAME] for each array");
  config = series();
  config.queries.clear();
  EXPECT_EQ(error_of([&] { layout_of(config); }),
            "there are no queries; write a table [queries.NAME] for each kind of output");
}

}  // namespace
}  // namespace perceiver
