// The eight tasks of GLUE that the paper reports (App. F.4; WNLI is left out, as there): their
// answers, and where the official files have them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace perceiver {

struct GlueBenchmark {
  std::string name;                  // as in configs: "sst2"
  std::vector<std::string> classes;  // by number, as in the official JSON; none: a value
  // Columns of the official .tsv files, from 0; a label without one is in the last.
  bool header;
  size_t text_a;
  std::optional<size_t> text_b, label;

  bool takes_pair() const { return text_b.has_value(); }
  bool is_value() const { return classes.empty(); }  // STS-B: how similar, from 0 to 5
  int64_t num_answers() const { return is_value() ? 1 : static_cast<int64_t>(classes.size()); }
};

constexpr double kMostSimilar = 5.0;  // of STS-B's values

std::span<const GlueBenchmark> glue_benchmarks();              // in the order of their names
const GlueBenchmark& glue_benchmark(const std::string& name);  // fails with the names there are

// Which benchmark a folder is of: "SST-2" and "sst2_small" are sst2. Null: of none.
const GlueBenchmark* benchmark_of_folder(std::string_view folder);

}  // namespace perceiver
