// Every kind of mistake that a user makes between a config and data, each by what is said of it.
#include "perceiver/tasks/arrays/files_test.h"
#include "perceiver/tasks/arrays/run.h"
#include "perceiver/tasks/task.h"
#include "perceiver/tasks/training.h"

namespace perceiver {
namespace {

class Mistakes : public ArrayFiles {
 protected:
  // What is said of these arrays under this config, once the file's name is taken out: when it is
  // read, when the model is made, or when the examples are.
  std::string said_of(const std::string& text, const NamedTensors& arrays,
                      const NamedTensors& later = {}) const {
    const std::string data = write("a.npz", arrays);
    std::string said = error_of([&] {
      const std::unique_ptr<Task> task =
          make_task(arrays_config("data.held_out_share = 0.0\n" + text, data));
      if (!later.empty()) write("a.npz", later);
      const std::unique_ptr<Dataset> examples = task->training()->dataset(Split::kTrain);
      Rng rng(0);
      for (int64_t i = 0; i < examples->size(); ++i) examples->get(i, rng);
    });
    for (size_t at; (at = said.find(data)) != said.npos;) said.replace(at, data.size(), "a.npz");
    return said;
  }
};

const Tensor kX = at::arange(60, at::kFloat).reshape({10, 3, 2});
const Tensor kY = at::arange(10, at::kFloat);

Tensor with(const Tensor& x, int64_t row, double value) {
  Tensor changed = x.clone();
  changed[row] = value;
  return changed;
}

TEST_F(Mistakes, OfArraysAndAxes) {
  EXPECT_EQ(said_of("[inputs.x]\n[queries.y]\n", {{"x", kX}, {"y", kY}}), "no error");
  EXPECT_EQ(said_of("[inputs.cloud]\n[queries.y]\n", {{"clouds", kX}, {"y", kY}}),
            "x.toml: a.npz: has no array 'cloud'; did you mean 'clouds'?; there are clouds, y");
  EXPECT_EQ(said_of("[inputs.x]\n[queries.height]\n", {{"x", kX}, {"y", kY}}),
            "x.toml: a.npz: has no array 'height'; there are x, y");
  EXPECT_EQ(said_of("[inputs.x]\nmask = 'there'\n[queries.y]\n", {{"x", kX}, {"y", kY}}),
            "x.toml: a.npz: has no array 'there'; there are x, y");
  EXPECT_EQ(said_of("[inputs.x]\n[queries.y]\n", {{"x", kX}, {"y", kY.narrow(0, 0, 9)}}),
            "x.toml: a.npz: array 'x' has 10 examples, 'y' has 9");
  EXPECT_EQ(said_of("[inputs.x]\nfields = [{number = ':'}, {number = 'speed'}]\n[queries.y]\n",
                    {{"x", kX}, {"speed", at::rand({10, 4})}, {"y", kY}}),
            "x.toml: a.npz: array 'speed' has shape [10, 4], expected the axes of the one it is a "
            "field of, [*, 3]");
  EXPECT_EQ(said_of("[inputs.x]\narray = ['x', 'z']\n[queries.y]\n",
                    {{"x", kX}, {"z", at::rand({10, 3})}, {"y", kY}}),
            "x.toml: a.npz: arrays 'x' [*, 3, 2] and 'z' [*, 3] stand side by side, so their sizes "
            "must be the same");
  EXPECT_EQ(said_of("[inputs.x]\npatch = [3, 2]\n[queries.y]\n", {{"x", kX}, {"y", kY}}),
            "x.toml: model: 'inputs.x.patch' has 2 sizes, the array 1 index axes");
  EXPECT_EQ(said_of("[inputs.x]\n[queries.h]\nat = 'places'\n",
                    {{"x", kX}, {"places", at::rand({10, 2})}, {"h", kY}}),
            "x.toml: a.npz: array 'places', which 'queries.h' asks at, has shape [*, 2], expected "
            "[example, query, channels]");
  EXPECT_EQ(said_of("[inputs.x]\n[queries.y]\n", {{"x", kX}, {"y", kY}},
                    {{"x", at::rand({10, 4, 2})}, {"y", kY}}),
            "a.npz: array 'x' has shape [*, 4, 2], the model was made for [*, 3, 2]");
}

TEST_F(Mistakes, OfCategoriesAndMissingNumbers) {
  const char* units =
      "[inputs.unit]\nhas_channels = false\nfields = [{category = ':'}]\n[queries.y]\n";
  const Tensor unit = at::zeros({10, 3}, at::kLong);
  EXPECT_EQ(
      said_of(units, {{"unit", unit}, {"y", kY}}, {{"unit", with(unit, 4, 7)}, {"y", kY}}),
      "a.npz: example 4: 'inputs.unit' has the category 7, the model knows 1, counted from 0");
  EXPECT_EQ(said_of(units, {{"unit", at::full({10, 3}, 0.5)}, {"y", kY}}),
            "x.toml: a.npz: 'inputs.unit.fields[0]' (:) has numbers such as 0.5, expected whole "
            "ones from 0");
  EXPECT_EQ(said_of(units, {{"unit", at::full({10, 3}, -1, at::kLong)}, {"y", kY}}),
            "x.toml: a.npz: 'inputs.unit.fields[0]' (:) has no whole number from 0: there are no "
            "categories");
  Tensor empty = kX.clone();
  empty.select(2, 1).fill_(NAN);
  EXPECT_EQ(said_of("[inputs.x]\n[queries.y]\n", {{"x", empty}, {"y", kY}}),
            "x.toml: a.npz: 'inputs.x.fields[0]' (:): every number of channel 1 is missing (NaN)");
  EXPECT_EQ(said_of("[inputs.x]\n[queries.y]\n", {{"x", with(kX, 2, INFINITY)}, {"y", kY}}),
            "x.toml: a.npz: 'inputs.x.fields[0]' (:): channel 0 has infinite numbers");
  EXPECT_EQ(said_of("[inputs.x]\n[queries.y]\n", {{"x", kX}, {"y", at::full({10}, NAN)}}),
            "x.toml: a.npz: the target of 'queries.y': every number of channel 0 is missing (NaN)");
  EXPECT_EQ(said_of("[inputs.x]\n[queries.y]\n", {{"x", with(kX, 3, NAN)}, {"y", kY}}),
            "a.npz: example 3: every element of its inputs is missing");
  const Tensor there = at::ones({10, 3}, at::kBool);
  EXPECT_EQ(said_of("[inputs.x]\nmask = 'there'\n[queries.y]\n",
                    {{"x", kX}, {"there", with(there, 6, 0)}, {"y", kY}}),
            "a.npz: example 6: every element of its inputs is missing");
  EXPECT_EQ(said_of("[inputs.x]\nmask = 'there'\n[queries.y]\n",
                    {{"x", kX}, {"there", at::ones({10, 2}, at::kBool)}, {"y", kY}}),
            "a.npz: the mask 'there' has shape [10, 2], expected the index axes of 'inputs.x', "
            "[3]");
}

TEST_F(Mistakes, OfQueriesTargetsAndLosses) {
  const auto said = [&](const std::string& query, const Tensor& y) {
    return said_of("[inputs.x]\n[queries.y]\n" + query, {{"x", kX}, {"y", y}});
  };
  EXPECT_EQ(said("like = 'z'\n", kY),
            "x.toml: 'queries.y.like' names the input 'z', which there is not; did you mean 'x'?; "
            "there are x");
  EXPECT_EQ(said("hidden_only = true\n", kY),
            "x.toml: 'queries.y.hidden_only' needs 'like', and an input with 'hide' above 0");
  EXPECT_EQ(said("", at::rand({10, 5, 2})),
            "x.toml: a.npz: array 'y', the target of 'queries.y', has shape [*, 5, 2], expected "
            "[*], or that and channels; learned = 5 asks for so many");
  EXPECT_EQ(said("learned = 4\n", at::rand({10, 5})),
            "x.toml: model: 'queries.y' asks for [4] outputs, its target is of [5]");
  EXPECT_EQ(said("loss = 'cross_entropy'\n", at::zeros({10, 5})),
            "x.toml: model: 'queries.y.loss' is cross_entropy, which needs one class an output; "
            "the target has 5 numbers");
  EXPECT_EQ(said("loss = 'cross_entropy'\n", kY + 0.5),
            "x.toml: a.npz: the target of 'queries.y' has numbers such as 0.5, expected whole ones "
            "from 0");
  EXPECT_EQ(said("loss = 'cross_entropy'\nnames = ['a', 'b']\n", kY),
            "x.toml: a.npz: the target of 'queries.y' has the class 9, 'queries.y.names' has 2, "
            "counted from 0");
  EXPECT_EQ(said("loss = 'binary'\n", kY),
            "x.toml: a.npz: the target of 'queries.y' has numbers such as 9, the loss binary "
            "expects 0 and 1");
  EXPECT_EQ(said("loss = 'end_point'\n", kY),
            "x.toml: model: 'queries.y.loss' is end_point, which needs vectors; the target has one "
            "number");
  EXPECT_EQ(said("loss = 'mse'\nmeasure = ['accuracy']\n", kY),
            "x.toml: 'queries.y.measure' has 'accuracy'; with the loss mse there are mae, rmse, "
            "r2, end_point");
  EXPECT_EQ(said_of("[inputs.x]\n[queries.y]\nloss = 'cross_entropy'\n",
                    {{"x", kX}, {"y", at::zeros({10})}}, {{"x", kX}, {"y", with(kY * 0, 5, 3)}}),
            "a.npz: example 5: the target of 'queries.y' has the class 3, the model knows 1, "
            "counted from 0");
}

TEST_F(Mistakes, OfTables) {
  const std::string table = (folder / "t.csv").string();
  write_file(table, "age,job,paid\n1,clerk,yes\n2,farmer,no\n3,clerk,yes\n");
  const auto said = [&](const std::string& text) {
    std::string error = error_of([&] { make_task(arrays_config(text, table)); });
    for (size_t at; (at = error.find(table)) != error.npos;) error.replace(at, table.size(), "t");
    return error;
  };
  EXPECT_EQ(said("[inputs.age]\n[queries.payed]\n"),
            "x.toml: t: has no column 'payed'; did you mean 'paid'?; there are age, job, paid");
  EXPECT_EQ(said("[inputs.age]\n[queries.paid]\n"),
            "x.toml: t: column 'paid' has words such as 'no', which the loss mse of 'queries.paid' "
            "cannot take; take cross_entropy");
  EXPECT_EQ(said("[inputs.job]\n[queries.age]\n"),
            "x.toml: t: column 'job' has words such as 'clerk', expected numbers; make it a field "
            "of its own, {category = 'job'}");
}

}  // namespace
}  // namespace perceiver
