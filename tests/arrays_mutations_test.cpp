// The configs of the examples with one thing changed, a thousand times: keys that are missing or
// misspelt, values of another type, sign or size. Each is a sentence, or trains.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <sstream>

#include "perceiver/core/rng.h"
#include "perceiver/nn/init.h"
#include "perceiver/tasks/arrays/report.h"
#include "perceiver/tasks/settings.h"
#include "perceiver/tasks/task.h"
#include "perceiver/tasks/training.h"
#include "perceiver/weights/npy.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kChanges = 1000;
constexpr double kMostFlops = 3e8;  // of a step that is worth its time

// Small data of the names and kinds that the examples' scripts make.
NamedTensors arrays_for(const std::string& example) {
  const auto whole = [](int64_t below, std::vector<int64_t> sizes) {
    return at::randint(below, sizes, at::kLong);
  };
  if (example == "points") return {{"points", at::randn({24, 12, 3})}, {"solid", whole(10, {24})}};
  if (example == "picture") {
    return {{"seen", at::rand({12, 10, 5})},
            {"places", at::rand({12, 8, 2})},
            {"colours", at::rand({12, 8, 3})}};
  }
  if (example == "sensors") {
    Tensor sound = at::randn({16, 12});
    sound[3] = NAN;
    return {{"vibration", at::randn({16, 12, 2})}, {"sound", sound}, {"state", whole(4, {16})}};
  }
  return {{"neuron", whole(5, {12, 9})},
          {"time", at::rand({12, 9})},
          {"there", at::rand({12, 9}) > 0.2},
          {"when", at::rand({12, 4, 1})},
          {"direction", at::randn({12, 4, 2})}};
}

std::string csv_for(const std::string& example) {
  Rng rng(0);
  std::string text = example == "series" ? "time,hour,working,temperature,load\n"
                                         : "age,income,amount,years,job,home,region,paid,gain\n";
  for (int64_t i = 0; i < (example == "series" ? 240 : 40); ++i) {
    const auto number = [&] { return rng.normal(); };
    text +=
        example == "series"
            ? fmt::format("{},{},{},{:.2f},{:.2f}\n", i, i % 24, rng.integer(2), number(), number())
            : fmt::format("{:.1f},{:.1f},{:.1f},{},job {},home {},region {},{},{:.2f}\n", number(),
                          number(), number(), rng.integer(10), rng.integer(5), rng.integer(3),
                          rng.integer(4), rng.chance(0.5) ? "yes" : "no", number());
  }
  return text;
}

// Every value and table of a config, by the table or list that it stands in.
struct Place {
  toml::node* in;
  std::string key;  // of a table
  size_t index;     // of a list
};

void add_places(toml::node& node, std::vector<Place>& places) {
  if (toml::table* table = node.as_table()) {
    for (auto&& [key, value] : *table) {
      places.push_back({table, std::string(key.str()), 0});
      add_places(value, places);
    }
  } else if (toml::array* list = node.as_array()) {
    for (size_t i = 0; i < list->size(); ++i) {
      places.push_back({list, "", i});
      add_places((*list)[i], places);
    }
  }
}

template <typename Value>
void put(const Place& place, Value&& value) {
  if (toml::table* table = place.in->as_table()) {
    table->insert_or_assign(place.key, std::forward<Value>(value));
  } else {
    place.in->as_array()->replace(place.in->as_array()->cbegin() + place.index,
                                  std::forward<Value>(value));
  }
}

void remove(const Place& place) {
  if (toml::table* table = place.in->as_table()) {
    table->erase(place.key);
  } else {
    place.in->as_array()->erase(place.in->as_array()->cbegin() + place.index);
  }
}

void put_number(const Place& place, Rng& rng) {
  constexpr int64_t kWhole[] = {0,
                                1,
                                2,
                                3,
                                5,
                                7,
                                -1,
                                100,
                                4096,
                                16777216,
                                1 << 30,
                                std::numeric_limits<int64_t>::max(),
                                std::numeric_limits<int64_t>::min()};
  constexpr double kReal[] = {0.0, 0.5, -0.5, 1.0, 1.5, 1e-9, 1e9, 1e300, -1e300};
  const int64_t kind = rng.integer(8);
  if (kind == 0) return put(place, NAN);
  if (kind == 1) return put(place, INFINITY);
  if (kind < 4) return put(place, kReal[rng.integer(std::size(kReal))]);
  put(place, kWhole[rng.integer(std::size(kWhole))]);
}

void put_word(const Place& place, Rng& rng) {
  const char* const words[] = {"",
                               ":",
                               "0",
                               "0:2",
                               "1:",
                               "2:1",
                               "9:12",
                               "-1",
                               "x[",
                               "x[0",
                               "seen[0:9]",
                               "time[0]",
                               "neuron",
                               "points",
                               "solid",
                               "job",
                               "age",
                               "load",
                               "hour",
                               "there",
                               "colours",
                               "when",
                               "state",
                               "learned",
                               "fourier",
                               "mse",
                               "l1",
                               "huber",
                               "binary",
                               "quantile",
                               "gaussian",
                               "end_point",
                               "cross_entropy",
                               "train",
                               "none",
                               "example",
                               "column",
                               "place",
                               "f1",
                               "rmse",
                               "coverage",
                               "r2",
                               "\xc3\xa9t\xc3\xa9",
                               "a b",
                               "../x",
                               "model"};
  put(place, words[rng.integer(std::size(words))]);
}

void change(toml::table& config, Rng& rng) {
  std::vector<Place> places;
  add_places(config, places);
  const Place place = places[rng.integer(std::ssize(places))];
  const toml::node* const old = place.in->is_table() ? place.in->as_table()->get(place.key)
                                                     : place.in->as_array()->get(place.index);
  switch (rng.integer(10)) {
    case 0:
      return remove(place);
    case 1: {  // another name
      if (!place.in->is_table()) return remove(place);
      const std::string name = rng.chance(0.5) ? place.key + "x" : "other";
      place.in->as_table()->insert_or_assign(name, *old);
      return remove(place);
    }
    case 2:
      return put(place, rng.chance(0.5));
    case 3:
      return rng.chance(0.5) ? put(place, toml::table{}) : put(place, toml::array{});
    case 4:
      return put(place, toml::array{1, 2, 3});
    case 5:
    case 6:
      return put_word(place, rng);
    case 7:
      if (old->is_integer()) {  // a little more, a little less, much more
        const int64_t value = **old->as_integer(),
                      by[] = {value + 1, value - 1, -value, 10 * value};
        return put(place, by[rng.integer(4)]);
      }
      [[fallthrough]];
    default:
      return put_number(place, rng);
  }
}

class ArraysMutations : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }

  // An example's config over small data.
  toml::table config_of(const std::string& example) const {
    const bool csv = example == "series" || example == "table";
    const fs::path data = folder / (example + (csv ? ".csv" : ".npz"));
    write_file(data, csv ? csv_for(example) : encode_npz(arrays_for(example)));
    toml::table config = toml::parse(read_file(fs::path("examples") / (example + ".toml")).bytes);
    if (!config.contains("data")) config.insert("data", toml::table{});
    config["data"].as_table()->insert_or_assign("train", data.string());
    // A tiny model: what is tried here is what is said, not what is learned.
    config["model"]["encoder"].as_table()->insert_or_assign("num_latents", 4);
    config["model"]["encoder"].as_table()->insert_or_assign("latent_channels", 16);
    config["model"]["encoder"].as_table()->insert_or_assign("self_attends_per_block", 1);
    return config;
  }

  const fs::path folder =
      fs::path(testing::TempDir()) / ("arrays_mutations_" + std::to_string(getpid()));
};

std::string text_of(const toml::table& config) {
  std::ostringstream text;
  text << config;
  return text.str();
}

// What the program does with a config: explains it, reads its data, and makes a step. -> whether it
// could; an Error is what a user is told.
bool works(const std::string& text) {
  const std::shared_ptr<const Settings> settings = read_settings({"x.toml", text});
  if (settings->model<ArraysConfig>() == nullptr) return false;  // another task by now
  arrays_report(*settings->model<ArraysConfig>());
  double flops = 0.0;
  {
    const ConstructScope scope(Construct::kWithoutMemory);
    flops = static_cast<double>(settings->make()->summary(Split::kTrain).flops());
  }
  if (flops > kMostFlops) return true;  // so large that memory or time end it
  const std::unique_ptr<Task> task = settings->make();
  Training& training = *task->training();
  for (const Split split : {Split::kTrain, Split::kEval}) {
    const std::unique_ptr<Dataset> data = training.dataset(split);
    if (!data) continue;
    Rng rng(0);
    std::vector<Example> examples;
    for (int64_t i = 0; i < std::min<int64_t>(2, data->size()); ++i) {
      examples.push_back(data->get(i, rng));
    }
    const Example batch = data->batch(examples, rng);
    if (split == Split::kTrain) {
      task->model().train();
      training.loss(batch).sum.backward();
    } else {
      const at::NoGradGuard no_grad;
      task->model().eval();
      const std::unique_ptr<Evaluator> evaluator = training.evaluator();
      evaluator->add(batch);
      evaluator->figures();
      training.main_measure();
    }
  }
  task->random_inputs(1);
  return true;
}

TEST_F(ArraysMutations, AThousandSingleChangesAreASentenceOrTrain) {
  at::set_num_threads(1);
  at::manual_seed(0);
  Rng rng(7);
  int64_t worked = 0, told = 0;
  const std::vector<std::string> examples = {"points",  "series",  "table",
                                             "picture", "sensors", "events"};
  for (const std::string& example : examples) {
    const toml::table as_written = config_of(example);
    ASSERT_TRUE(works(text_of(as_written))) << example;
    // Every key there is, with what was learned from the data.
    const toml::table whole = toml::parse(read_settings({"x.toml", text_of(as_written)})->text());
    for (int64_t i = 0; i < kChanges / std::ssize(examples) + 1; ++i) {
      toml::table config = i % 2 == 0 ? as_written : whole;
      change(config, rng);
      const std::string text = text_of(config);
      try {
        worked += works(text);
      } catch (const Error& e) {
        const std::string said = e.what();
        ++told;
        EXPECT_FALSE(said.empty() || said.find('\n') != said.npos) << said << "\n" << text;
      } catch (const std::exception& e) {
        ADD_FAILURE() << e.what() << "\n" << text;
      }
    }
  }
  // Neither all of them are refused, nor none.
  EXPECT_GT(worked, kChanges / 10);
  EXPECT_GT(told, kChanges / 4);
}

}  // namespace
}  // namespace perceiver
