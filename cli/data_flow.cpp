#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <mutex>
#include <thread>

#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/flow_recipe.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "perceiver/core/error.h"
#include "perceiver/core/file.h"
#include "perceiver/core/processors.h"
#include "perceiver/media/flow.h"
#include "perceiver/media/image.h"
#include "perceiver/ranks/shared_work.h"
#include "perceiver/tasks/optical_flow/generator.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

struct DataFlowArgs {
  std::string output, size = "496x368";
  GeneratorConfig generator = {};
  int64_t count = 0, seed = 0, threads = 0;
  RankArgs ranks;
};

// The flow is written last: where it is, the pair is whole.
void write_pair(const fs::path& folder, const FlowPair& pair) {
  fs::create_directories(folder);
  write_file(folder / "im0.png", encode_png(pair.frames[0]));
  write_file(folder / "im1.png", encode_png(pair.frames[1]));
  write_file(folder / "forward.flo", encode_flo(pair.flow));
}

// Pairs `first`, first + every, ….
void make_pairs(const DataFlowArgs& args, const FlowGenerator& generator, int64_t first,
                int64_t every) {
  Progress progress("pairs", static_cast<double>((args.count - first + every - 1) / every));
  std::atomic<int64_t> next = first;
  std::mutex mutex;
  std::exception_ptr error;
  const auto work = [&] {
    at::set_num_threads(1);  // pairs are what is done at once
    for (int64_t i = next.fetch_add(every); i < args.count; i = next.fetch_add(every)) {
      try {
        const fs::path folder = fs::path(args.output) / fmt::format("table_0_run_{:06}", i);
        if (!fs::exists(folder / "forward.flo")) {
          Rng rng(args.seed, 0, i);
          write_pair(folder, generator.pair(rng).pair);
        }
        const std::lock_guard lock(mutex);
        progress.add(1.0);
      } catch (...) {
        const std::lock_guard lock(mutex);
        error = std::current_exception();
        next = args.count;
      }
    }
  };
  const int64_t threads = args.threads > 0 ? args.threads : available_processors();
  {
    std::vector<std::jthread> workers;
    for (int64_t i = 0; i < threads; ++i) workers.emplace_back(work);
  }
  if (error) std::rethrow_exception(error);
}

// A piece is what one process makes of all pairs.
void data_flow(const DataFlowArgs& args, Ranks* ranks) {
  const FlowRecipe recipe = flow_recipe(args.size, args.seed, args.generator);
  const FlowGenerator generator(recipe.generator, recipe.height, recipe.width);
  fs::create_directories(args.output);
  check_recipe(args.output, recipe);
  const int64_t size = ranks ? ranks->size() : 1;
  const auto work = [&](int64_t piece) -> std::optional<std::string> {
    if (piece >= size) return {};
    make_pairs(args, generator, piece, size);
    return "";
  };
  share(ranks, {.work = work, .take = [](int64_t, const std::string&) {}});
  if (ranks == nullptr || ranks->is_first()) fmt::print("{}\n", args.output);
}

}  // namespace

void add_data_flow_command(CLI::App& data) {
  auto args = std::make_shared<DataFlowArgs>();
  CLI::App* command = add_command(
      data, "flow", "Make pairs of frames with exact flow, in AutoFlow's folders",
      "  perceiver data flow -o pairs --count 1000\n"
      "  perceiver data flow -o photo-pairs --count 1000 --backgrounds photos --cutouts objects\n"
      "  perceiver data flow -o pairs --count 1000 --ranks 2\n"
      "  perceiver train configs/flow_mini.toml --data pairs");
  command->add_option("-o,--output", args->output, "Folder to write to, or to go on with")
      ->required();
  command->add_option("--count", args->count, "How many pairs the folder is to hold")
      ->required()
      ->check(whole_number(1));
  command->add_option("--size", args->size, "Size of the frames in pixels")->capture_default_str();
  command->add_option("--backgrounds", args->generator.backgrounds,
                      "Folder of pictures to make textures of");
  command->add_option("--cutouts", args->generator.cutouts,
                      "Folder of pictures with opacity that move in front");
  command
      ->add_option("--seed", args->seed,
                   "The number that the pairs follow from: another gives other pairs")
      ->capture_default_str()
      ->check(whole_number(0));
  command
      ->add_option("--threads", args->threads,
                   "How many pairs to make at once; default: one for each core")
      ->check(whole_number(1));
  add_rank_options(*command, args->ranks);
  command->callback([args] {
    bool quiet = false;
    std::string device = "cpu";
    share_verb(args->ranks, {}, {device, args->threads, quiet}, [&](Ranks* ranks) {
      Progress::show(!quiet);
      data_flow(*args, ranks);
    });
  });
}

}  // namespace perceiver
