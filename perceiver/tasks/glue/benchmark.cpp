#include "perceiver/tasks/glue/benchmark.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "perceiver/core/error.h"
#include "perceiver/core/names.h"

namespace perceiver {

std::span<const GlueBenchmark> glue_benchmarks() {
  const std::vector<std::string> entailment = {"entailment", "not_entailment"};
  static const std::vector<GlueBenchmark> all = {
      {"cola", {"unacceptable", "acceptable"}, false, 3, {}, 1},
      {"mnli", {"entailment", "neutral", "contradiction"}, true, 8, 9, {}},
      {"mrpc", {"not_equivalent", "equivalent"}, true, 3, 4, 0},
      {"qnli", entailment, true, 1, 2, {}},
      {"qqp", {"not_duplicate", "duplicate"}, true, 3, 4, 5},
      {"rte", entailment, true, 1, 2, {}},
      {"sst2", {"negative", "positive"}, true, 0, {}, 1},
      {"stsb", {}, true, 7, 8, {}},
  };
  return all;
}

const GlueBenchmark& glue_benchmark(const std::string& name) {
  std::vector<std::string> known;
  for (const GlueBenchmark& benchmark : glue_benchmarks()) {
    if (benchmark.name == name) return benchmark;
    known.push_back(benchmark.name);
  }
  fail("tasks: unknown task '{}'{}; known: {}", name, did_you_mean(name, known),
       fmt::join(known, ", "));
}

const GlueBenchmark* benchmark_of_folder(std::string_view folder) {
  std::string name;
  for (const char c : folder.substr(0, folder.find('_'))) {
    if (c != '-') name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  const auto all = glue_benchmarks();
  const auto found = std::ranges::find(all, name, &GlueBenchmark::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace perceiver
