#include "perceiver/tasks/arrays/starter.h"

#include <ATen/core/Tensor.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "perceiver/core/error.h"
#include "perceiver/core/names.h"
#include "perceiver/tasks/arrays/starter_data.h"
#include "perceiver/weights/npy.h"

namespace perceiver {
namespace {

constexpr int64_t kTrained = 2000, kHeldOut = 400;

struct Starter {
  StarterKind kind;
  const char* config;  // its inputs and queries, with comments
  NamedTensors (*arrays)(int64_t examples, Rng& rng) = nullptr;
  std::string (*table)(int64_t rows, Rng& rng) = nullptr;
  int64_t rows = kTrained;
  const char* change;  // what to change for data of one's own
};

const Starter kStarters[] = {
    {.kind = {"points", "clouds of points, which solid each is"},
     .config = R"([inputs.points]             # points [example, 400, 3]: a point is an element
fields = [
  {number = ":"},           # x, y and z, shifted and scaled
  {fourier = ":", bands = 8},  # and as waves, for fine differences
]
sample = 128                # so many points, others each time, while it trains

[queries.solid]             # one learned query asks; solid [example] is 0 to 4
loss = "cross_entropy"
names = ["sphere", "cube", "cylinder", "cone", "torus"]
)",
     .arrays = generated_points,
     .change =
         "`points` and `solid` in train.npz and held_out.npz; `names` in config.toml. More numbers "
         "a point (colours, normals) are more channels."},
    {.kind = {"series", "rows in time, what comes next"},
     .config = R"([data.window]
rows = 120                  # rows of an example
stride = 2
order = "hour"

[inputs.past]
array = ["load", "temperature", "price"]
rows = [0, 96]              # the model sees these of the 120,
patch = [12]                # twelve rows as one element

[queries.next]              # and is asked for the rest
target = ["load", "temperature", "price"]
learned = 24
rows = [96, 120]
)",
     .table = generated_series,
     .rows = 4000,
     .change = "the columns of train.csv and held_out.csv, and their names in config.toml. Series "
               "of several "
               "machines: a column that tells them apart, as `data.window.group`."},
    {.kind = {"table", "rows of numbers and words, one of two answers"},
     .config = R"([inputs.person]
element = "column"          # each column is an element, with a vector of its own
fields = [
  {number = "age"}, {number = "income"}, {number = "years"},
  {category = "job"}, {category = "home"},  # words
]

[queries.paid]              # yes or no: the words of the column
loss = "cross_entropy"
measure = ["accuracy", "f1"]
)",
     .table = generated_table,
     .rows = 4000,
     .change =
         "the columns of train.csv and held_out.csv, and their names in config.toml. A number to "
         "predict: `loss = \"gaussian\"`, which says how sure it is, too."},
    {.kind = {"field", "heights at some places, asked for at any others"},
     .config = R"([inputs.seen]               # seen [example, 48, 3]: y, x and the height there
fields = [
  {number = "2"},
  {fourier = "0:2", bands = 16, range = [-1.0, 1.0]},
]

[queries.height]
at = "places"               # places [example, 128, 2]: y and x
fields = [{fourier = ":", bands = 16, range = [-1.0, 1.0]}]
)",
     .arrays = generated_field,
     .change = "`seen`, `places` and `height`; `range`, if places lie elsewhere."},
    {.kind = {"sensors", "two sensors, of which one may have failed"},
     .config = R"([inputs.motion]             # motion [example, 64, 2]; NaN: it has failed
patch = [4]
hide_all = 0.2              # learn to do without

[inputs.sound]              # sound [example, 64]
has_channels = false
patch = [4]
hide_all = 0.2

[queries.state]             # state [example] is 0 to 3
loss = "cross_entropy"
)",
     .arrays = generated_sensors,
     .change = "a table [inputs.NAME] for each sensor, with any sizes of its own."},
    {.kind = {"events", "events with times, and what moves at any time"},
     .config = R"([inputs.spikes]
fields = [                  # neuron and time are [example, 160]: an event is an element
  {category = "neuron", channels = 32},
  {fourier = "time", bands = 16, range = [0.0, 1.0]},
]
has_channels = false
mask = "there"              # fewer events than there is room for

[queries.velocity]
at = "when"                 # when [example, 20, 1], velocity [example, 20, 2]
fields = [{fourier = ":", bands = 16, range = [0.0, 1.0]}]
)",
     .arrays = generated_events,
     .change = "`neuron` (any whole numbers from 0), `time` and `there`; `when` and `velocity`."},
};

const Starter& starter_of(const std::string& kind) {
  std::vector<std::string> known;
  for (const Starter& one : kStarters) {
    if (one.kind.name == kind) return one;
    known.push_back(one.kind.name);
  }
  fail("unknown kind '{}'{}; there are {}", kind, did_you_mean(kind, known),
       fmt::join(known, ", "));
}

constexpr const char* kTraining = R"([model.encoder]
num_latents = 32
latent_channels = 96
self_attends_per_block = 3
self_attend = {num_heads = 4}

[train]
steps = 1500
batch = 32
learning_rate = 1e-3
warmup_steps = 100
eval_every = 500
)";

std::string readme(const Starter& starter, const std::string& ending) {
  return fmt::format(
      "# {}: {}\n\nGenerated data, and a config that trains a Perceiver IO on them. From this "
      "folder:\n\n"
      "    perceiver inspect config.toml\n"
      "    perceiver train config.toml -o run\n"
      "    perceiver eval run --data held_out.{}\n"
      "    perceiver run run held_out.{} -o answers.npz\n\n"
      "For data of your own, change {}\n\n"
      "`perceiver train config.toml --keys` shows every key with its meaning.\n",
      starter.kind.name, starter.kind.meaning, ending, ending, starter.change);
}

}  // namespace

std::vector<StarterKind> starter_kinds() {
  std::vector<StarterKind> kinds;
  for (const Starter& one : kStarters) kinds.push_back(one.kind);
  return kinds;
}

std::vector<File> starter_files(const std::string& kind, int64_t seed) {
  const Starter& starter = starter_of(kind);
  const std::string ending = starter.table != nullptr ? "csv" : "npz";
  const auto data = [&](uint64_t part, int64_t examples) {
    Rng rng(seed, part);
    if (starter.table != nullptr) return starter.table(examples, rng);
    return encode_npz(starter.arrays(examples, rng));
  };
  const std::string config = fmt::format(
      "# {}: {}.\ntask = \"arrays\"\n\n[data]\ntrain = \"train.{}\"\nheld_out = \"held_out.{}\"\n\n"
      "{}\n{}",
      starter.kind.name, starter.kind.meaning, ending, ending, starter.config, kTraining);
  return {{"config.toml", config},
          {"train." + ending, data(0, starter.rows)},
          {"held_out." + ending, data(1, starter.rows * kHeldOut / kTrained)},
          {"README.md", readme(starter, ending)}};
}

}  // namespace perceiver
