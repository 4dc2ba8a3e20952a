#include "perceiver/tasks/arrays/ask.h"

#include "perceiver/tasks/arrays/files_test.h"
#include "perceiver/tasks/arrays/run.h"
#include "perceiver/tasks/arrays/signature.h"
#include "perceiver/tasks/attend.h"

namespace perceiver {
namespace {

class Ask : public ArrayFiles {
 protected:
  // One query of each kind, over four examples.
  const NamedTensors arrays = {
      {"x", at::rand({4, 6, 4, 2})},         {"unit", at::randint(5, {4, 7}, at::kLong)},
      {"places", at::rand({4, 9, 3})},       {"value", at::rand({4, 9})},
      {"more", at::rand({4, 3, 2})},         {"y", at::tensor({2, 1, 0, 2}, at::kLong)},
      {"kind", at::zeros({4, 9}, at::kLong)}};
  void SetUp() override {
    ArrayFiles::SetUp();
    write("all.npz", arrays);
  }
  const std::string data = (folder / "all.npz").string();
  const std::string config =
      "data.held_out_share = 0.0\n"
      "[inputs.x]\npatch = [2, 2]\n"
      "[inputs.unit]\nhas_channels = false\nfields = [{category = ':'}, {position = 'learned'}]\n"
      "[queries.where]\nat = 'places'\ntarget = 'value'\nloss = 'gaussian'\n"
      "[queries.x]\nlike = 'x'\n"
      "[queries.more]\nlearned = 3\nloss = 'quantile'\n"
      "[queries.y]\nloss = 'cross_entropy'\nnames = ['ant', 'bee', 'cat']\n";

  Model model_of(const std::string& text) const {
    Model model = new_model(arrays_config(text, data));
    model.task->model().eval();
    return model;
  }
  LatentsFile latents(Model& model, const std::string& path) const {
    const File file = {path, ""};
    LatentsFile encoded = encode(model, std::span(&file, 1));
    encoded.name = "z";
    return encoded;
  }
};

TEST_F(Ask, LatentsAnswerWhatAWholeRunDoes) {
  Model model = model_of(config);
  const NamedTensors ran = run_arrays(model, data);
  const LatentsFile file = latents(model, data);
  EXPECT_EQ(file.latents().sizes().vec(), (std::vector<int64_t>{4, 4, 8}));
  // Through a file, too.
  const std::string path = (folder / "z.safetensors").string();
  write_latents(path, file);
  for (const LatentsFile& asked : {file, read_latents(path)}) {
    const Answer answer = query(model, asked, {});
    ASSERT_EQ(answer.arrays.size(), ran.size());
    for (size_t i = 0; i < ran.size(); ++i) {
      EXPECT_EQ(answer.arrays[i].first, ran[i].first);
      EXPECT_EQ(answer.arrays[i].second.sizes(), ran[i].second.sizes()) << ran[i].first;
      EXPECT_TRUE(answer.arrays[i].second.allclose(ran[i].second, 1e-5, 1e-6)) << ran[i].first;
    }
    EXPECT_EQ(answer.json["more"]["shape"], (std::vector<int64_t>{4, 3, 2, 3}));
    EXPECT_EQ(answer.json["x"]["values"][3].size(), 6u);
  }
  std::vector<std::string> names;
  for (const auto& [name, values] : ran) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"more", "where", "where.deviation", "x", "y"}));
}

TEST_F(Ask, AnyNumberOfPlacesMayBeAskedAt) {
  Model model = model_of(config);
  const LatentsFile file = latents(model, data);
  const Tensor places = at::rand({1, 5, 4, 3});  // of a grid, for all examples
  Query query{.at = write("grid.npz", {{"places", places}})};
  const Answer answer = perceiver::query(model, file, query);
  const auto where = std::ranges::find(answer.arrays, "where", &NamedTensors::value_type::first);
  ASSERT_EQ(where->second.sizes().vec(), (std::vector<int64_t>{4, 5, 4, 1}));
  // A run at those places says the same.
  NamedTensors other = arrays;
  other[2].second = places.expand({4, -1, -1, -1}).contiguous();
  const NamedTensors ran = run_arrays(model, write("other.npz", other));
  EXPECT_TRUE(ran[1].second.allclose(where->second, 1e-5, 1e-6));
}

TEST_F(Ask, ASignatureNamesWhatARunTakesAndGives) {
  Model model = model_of(config);
  const ArraysSignature signature = signature_of(*model.settings->model<ArraysConfig>());
  std::map<std::string, std::vector<int64_t>> inputs, outputs;
  for (const NamedArray& one : signature.inputs) inputs[one.name] = one.shape;
  for (const NamedArray& one : signature.outputs) outputs[one.name] = one.shape;
  EXPECT_EQ(inputs, (std::map<std::string, std::vector<int64_t>>{
                        {"x", {-1, 6, 4, 2}}, {"unit", {-1, 7}}, {"places", {-1, -1, 3}}}));
  EXPECT_TRUE(signature.inputs[1].whole) << signature.inputs[1].name;
  const NamedTensors ran = run_arrays(model, data);
  ASSERT_EQ(ran.size(), outputs.size());
  for (const auto& [name, values] : ran) {
    const std::vector<int64_t>& shape = outputs.at(name);
    ASSERT_EQ(std::ssize(shape), values.dim()) << name;
    for (size_t i = 0; i < shape.size(); ++i) {
      EXPECT_TRUE(shape[i] == kAny || shape[i] == values.size(i)) << name;
    }
  }
}

TEST_F(Ask, WhatCannotBeAskedIsSaid) {
  Model model = model_of(config);
  const std::string few = write("few.npz", {arrays[0], arrays[1]});
  const LatentsFile file = latents(model, few);
  std::string noted;
  Query asked{.hooks = {.note = [&](const std::string& note) { noted = note; }}};
  EXPECT_EQ(query(model, file, asked).arrays.size(), 3u) << "more, x and y";
  EXPECT_EQ(noted,
            "z: 'queries.where' needs the arrays 'places'; name a file that has them with --at");
  const auto error_at = [&](const NamedTensors& places) {
    asked.at = write("places.npz", places);
    return error_of([&] { query(model, file, asked); });
  };
  const std::string path = (folder / "places.npz").string();
  EXPECT_EQ(error_at({{"place", at::rand({4, 2, 3})}}),
            "--at " + path + ": has not the arrays that queries ask at: 'places'");
  EXPECT_EQ(error_at({{"places", at::rand({3, 2, 3})}}),
            path + ": has 3 examples, the latents are of 4; give as many, or one for all");
  EXPECT_EQ(error_at({{"places", at::rand({4, 2, 2})}}),
            path + ": array 'places' has shape [*, 2, 2], the model was made for [*, 2, 3]");
  asked = {.label = true};
  EXPECT_EQ(error_of([&] { query(model, file, asked); }),
            "--label: cannot be asked of latents of the task arrays, which takes --at");
  Model alone = model_of("[inputs.x]\n[queries.value]\nat = 'places'\n");
  const LatentsFile nothing = latents(alone, few);
  EXPECT_EQ(error_of([&] { query(alone, nothing, {}); }),
            "z: 'queries.value' needs the arrays 'places'; name a file that has them with --at");
}

TEST_F(Ask, SpoiltLatentsAreRefused) {
  Model model = model_of(
      "[inputs.x]\n[queries.value]\nat = 'places'\nfields = [{fourier = ':'}, {category = 'kind', "
      "size = 3}]\n");
  const LatentsFile good = latents(model, data);
  const auto error_with = [&](const std::function<void(LatentsFile&)>& spoil) {
    LatentsFile file = good;
    spoil(file);
    return error_of([&] { query(model, file, {}); });
  };
  EXPECT_EQ(error_with([](LatentsFile&) {}), "no error");
  EXPECT_EQ(error_with([](LatentsFile& f) { f.arrays.erase("queries.value.0"); }),
            "z: has no array 'queries.value.0'");
  EXPECT_EQ(error_with([](LatentsFile& f) {
              f.arrays["queries.value.0"] = at::rand({4, 9, 2});
            }),
            "z: queries.value.0 has shape [4, 9, 2], expected [4, *, 3]");
  EXPECT_EQ(error_with([](LatentsFile& f) {
              f.geometry["queries.value.axes"] = {3, 4};
            }),
            "z: 'queries.value.0' has 9 places, its metadata say [3, 4]");
  EXPECT_EQ(error_with([](LatentsFile& f) { f.arrays["queries.value.1"].fill_(4); }),
            "z: 'queries.value.1' has categories that the model does not know");
}

TEST_F(Ask, AttentionIsOfEachInputByItsName) {
  Model model = model_of(config);
  const File file = {data, ""};
  const AttendMaps maps = attend(model, std::span(&file, 1), {.latents = {0, 3}});
  ASSERT_EQ(maps.views.size(), 2u);
  const NamedTensors named = maps.arrays();
  EXPECT_EQ(named[0].first, "unit");
  EXPECT_EQ(named[0].second.sizes().vec(), (std::vector<int64_t>{2, 7}));
  EXPECT_EQ(named[1].first, "x");
  EXPECT_EQ(named[1].second.sizes().vec(), (std::vector<int64_t>{2, 3, 2}));
  const Tensor sums = named[0].second.sum(1) + named[1].second.flatten(1).sum(1);
  EXPECT_TRUE(sums.allclose(at::ones({2}), 1e-4, 1e-4));
  EXPECT_EQ(error_of([&] { attend(model, std::span(&file, 1), {.output = "a.png"}); }),
            "a.png: there is nothing to draw the attention on; it is written as .npz or "
            ".safetensors");
  EXPECT_EQ(error_of([&] { attend(model, std::span(&file, 1), {.query = true}); }),
            "expected a model whose one query is learned, and asks for a class");
}

TEST_F(Ask, ColumnsAreReadByTheirNames) {
  const std::string table = (folder / "t.csv").string();
  write_file(table, "age,pay,job,y\n1,2,a,0\n2,1,b,1\n3,3,a,0\n5,1,b,1\n");
  Model model =
      new_model(arrays_config("data.held_out_share = 0.0\n[inputs.row]\nelement = 'column'\n"
                              "fields = [{number = 'age'}, {number = 'pay'}, {category = 'job'}]\n"
                              "[queries.y]\nloss = 'cross_entropy'\n",
                              table));
  model.task->model().eval();
  const File file = {table, ""};
  const AttendMaps maps = attend(model, std::span(&file, 1), {.query = true});
  EXPECT_EQ(maps.shown().texts, (std::vector<std::string>{"age ", "pay ", "job "}));
  EXPECT_EQ(maps.weights.sizes().vec(), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(query(model, latents(model, table), {}).arrays[0].second.sizes().vec(),
            (std::vector<int64_t>{4, 2}));
}

}  // namespace
}  // namespace perceiver
