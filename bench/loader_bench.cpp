// What one core loads in a second. Pictures that are cropped, augmented and handed over in pairs to
// be mixed, decoded before or every time; whole batches of the small models of language and flow;
// and texts of 2,048 bytes, any document at any time or as a stream:
//   build/loader_bench --benchmark_filter=small
//   build/loader_bench --benchmark_filter=mini
//   build/loader_bench --benchmark_filter=texts --benchmark_repetitions=5
//     --benchmark_enable_random_interleaving
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <filesystem>
#include <set>

#include "perceiver/core/file.h"
#include "perceiver/data/gzip_file_test.h"
#include "perceiver/data/loader.h"
#include "perceiver/media/image.h"
#include "perceiver/tasks/imagenet/dataset.h"
#include "perceiver/tasks/task.h"
#include "perceiver/tasks/training.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

// Slopes and a little noise: a PNG of it takes about as long as of a photograph.
Tensor picture(int64_t height, int64_t width) {
  const Tensor y = at::linspace(0, 200, height).view({-1, 1}), x = at::linspace(0, 40, width);
  return (y + x + 10 * at::rand({3, height, width})).to(at::kByte);
}

std::vector<LabelledFile> pictures(const std::string& name, int64_t height, int64_t width) {
  constexpr int64_t kPictures = 64;
  const fs::path folder = fs::temp_directory_path() / ("perceiver_loader_bench_" + name);
  fs::create_directories(folder);
  std::vector<LabelledFile> files;
  for (int64_t i = 0; i < kPictures; ++i) {
    files.push_back({folder / fmt::format("{}.png", i), {0}});
    write_file(files.back().path, encode_png(picture(height, width)));
  }
  return files;
}

using SharedDataset = std::shared_ptr<const PictureDataset>;

// What configs/imagenet_mini.toml does to pictures.
SharedDataset small(double cache_gib) {
  ImageNetConfig model;
  model.image_size = 32;
  model.crop = 1.0;
  const AugmentConfig augment{.crop = TrainCrop::kShifted,
                              .randaugment = {.layers = 2, .translate = 14.0, .cutout = 6.0}};
  return std::make_shared<PictureDataset>(pictures("small", 32, 32), model, cache_gib, augment);
}

// The paper's augmentation of pictures of ImageNet's usual size.
SharedDataset full(double cache_gib) {
  return std::make_shared<PictureDataset>(pictures("full", 375, 500), ImageNetConfig{}, cache_gib,
                                          AugmentConfig{});
}

void load(benchmark::State& state, const SharedDataset& dataset) {
  at::set_num_threads(1);  // as the loader's threads do
  uint64_t index = 0;
  for (auto _ : state) {
    Rng rng(0, 0, ++index);
    benchmark::DoNotOptimize(dataset->get(rng.integer(dataset->size()), rng));
  }
  state.counters["pictures/s"] =
      benchmark::Counter(2.0 * static_cast<double>(index), benchmark::Counter::kIsRate);
}

// Two megabytes of lines of words.
std::string text() {
  const fs::path file = fs::temp_directory_path() / "perceiver_loader_bench.txt";
  std::string words;
  Rng rng(0);
  while (words.size() < 2 << 20) {
    for (int64_t letters = 1 + rng.integer(9); letters > 0; --letters) {
      words += static_cast<char>('a' + rng.integer(26));
    }
    words += rng.chance(0.08) ? '\n' : ' ';
  }
  write_file(file, words);
  return file.string();
}

// By a loader of one thread; time is the processor's, that of all threads.
void batches(benchmark::State& state, const std::string& config,
             const std::vector<std::string>& overrides) {
  const std::unique_ptr<Task> task = make_task(read_file(config), overrides);
  const std::unique_ptr<Dataset> dataset = task->training()->dataset(Split::kTrain);
  const int64_t batch = task->training()->config().batch;
  Loader loader(*dataset, {.batch = batch});
  for (int i = 0; i < 10; ++i) loader.next();  // until all textures are made
  for (auto _ : state) benchmark::DoNotOptimize(loader.next());
  state.counters["examples/s"] =
      benchmark::Counter(static_cast<double>(batch), benchmark::Counter::kIsIterationInvariantRate);
}

void register_batches(const char* name, const std::string& config,
                      const std::vector<std::string>& overrides) {
  benchmark::RegisterBenchmark(name, batches, config, overrides)
      ->MeasureProcessCPUTime()
      ->Unit(benchmark::kMillisecond);
}

// Eight files of 8 MiB of documents of some 2,000 bytes, as C4's are; words are of many lengths,
// and some of them frequent.
std::string texts(const std::string& kind) {
  const fs::path folder = fs::temp_directory_path() / ("perceiver_loader_bench_texts" + kind);
  static std::set<std::string> made;
  if (!made.insert(kind).second) return folder.string();
  fs::create_directories(folder);
  Rng rng(0);
  std::vector<std::string> words(5000);
  for (std::string& word : words) {
    for (int64_t letters = 1 + rng.integer(9); letters > 0; --letters) {
      word += static_cast<char>('a' + rng.integer(26));
    }
  }
  for (int64_t file = 0; file < 8; ++file) {
    std::string lines;
    while (lines.size() < 8 << 20) {
      std::string document;
      for (const int64_t end = 1000 + rng.integer(2000); std::ssize(document) < end;) {
        document += words[rng.integer(1 + rng.integer(5000))] + ' ';
      }
      lines += kind == ".txt" ? document + '\n'
                              : fmt::format(
                                    "{{\"text\":\"{}\",\"timestamp\":\"2019-04-25T12:57:54Z\","
                                    "\"url\":\"https://www.example.org/{}\"}}\n",
                                    document, rng.bits());
    }
    const fs::path path = folder / fmt::format("{}{}", file, kind);
    kind.ends_with(".gz") ? write_gzip(path, lines) : write_file(path, lines);
  }
  return folder.string();
}

// From nothing to the end of an epoch.
void whole_epoch(benchmark::State& state, const std::string& kind, const std::string& read) {
  const std::vector<std::string> overrides = {fmt::format("data.train=[\"{}\"]", texts(kind)),
                                              "data.read=" + read, "data.held_out_share=0.0",
                                              "model.num_inputs=2048"};
  const std::unique_ptr<Task> task =
      make_task(read_file("configs/language_bytes_mini.toml"), overrides);
  int64_t examples = 0;
  for (auto _ : state) {
    const std::unique_ptr<Dataset> dataset = task->training()->dataset(Split::kTrain);
    Loader loader(*dataset, {.batch = 256, .examples = dataset->size()});
    while (!loader.done()) examples += loader.next().at("ids").size(0);
  }
  state.counters["examples/s"] =
      benchmark::Counter(static_cast<double>(examples), benchmark::Counter::kIsRate);
}

void register_texts() {
  for (const char* kind : {".txt", ".json", ".json.gz"}) {
    for (const char* read : {"memory", "stream"}) {
      const std::string name = fmt::format("texts/{}/{}", kind, read);
      benchmark::RegisterBenchmark(name.c_str(), whole_epoch, kind, read)
          ->MeasureProcessCPUTime()
          ->Unit(benchmark::kMillisecond)
          ->Iterations(1);
    }
  }
}

void register_all() {
  constexpr double kEnough = 1.0;
  benchmark::RegisterBenchmark("small/cached", load, small(kEnough))->UseRealTime();
  benchmark::RegisterBenchmark("small/decoded", load, small(0.0))->UseRealTime();
  benchmark::RegisterBenchmark("full/cached", load, full(kEnough))->UseRealTime();
  benchmark::RegisterBenchmark("full/decoded", load, full(0.0))->UseRealTime();
  register_batches("mini/flow", "configs/flow_mini.toml", {});
  register_batches("mini/language", "configs/language_bytes_mini.toml",
                   {fmt::format("data.train=[\"{}\"]", text()), "train.batch=256"});
  register_texts();
}

}  // namespace
}  // namespace perceiver

int main(int argc, char** argv) {
  perceiver::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
