// A small GLUE in a folder of its own, in either layout, for tests.
#pragma once

#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "perceiver/core/file.h"
#include "perceiver/tasks/glue/rows.h"

namespace perceiver {

// The official files' columns. What is neither text nor label is filled with something.
inline std::string tsv_of(const GlueBenchmark& benchmark, size_t columns,
                          std::span<const GlueRow> rows) {
  std::string file;
  const auto add_line = [&](std::span<const std::string> cells) {
    file += fmt::format("{}\n", fmt::join(cells, "\t"));
  };
  if (benchmark.header) add_line(std::vector<std::string>(columns, "name"));
  for (const GlueRow& row : rows) {
    std::vector<std::string> cells(columns, "-");
    cells[benchmark.text_a] = row.text_a;
    if (benchmark.text_b) cells[*benchmark.text_b] = row.text_b;
    const bool named = !benchmark.is_value() && !benchmark.label;
    cells[benchmark.label.value_or(columns - 1)] =
        named ? benchmark.classes[static_cast<size_t>(row.label)] : fmt::format("{}", row.label);
    add_line(cells);
  }
  return file;
}

inline std::string jsonl_of(const GlueBenchmark& benchmark, std::span<const GlueRow> rows) {
  std::string file;
  for (const GlueRow& row : rows) {
    nlohmann::json json = {{"text_a", row.text_a}};
    if (benchmark.text_b) json["text_b"] = row.text_b;
    if (benchmark.is_value()) json["label"] = row.label;
    if (!benchmark.is_value()) json["label"] = benchmark.classes[static_cast<size_t>(row.label)];
    file += json.dump() + "\n";
  }
  return file;
}

struct OfficialFolder {
  const char* benchmark;
  const char* folder;
  size_t columns;
};
// As the official archive has them; MNLI's of its training file.
constexpr OfficialFolder kOfficialFolders[] = {
    {"cola", "CoLA", 4}, {"mnli", "MNLI", 12}, {"mrpc", "MRPC", 5},  {"qnli", "QNLI", 4},
    {"qqp", "QQP", 6},   {"rte", "RTE", 4},    {"sst2", "SST-2", 2}, {"stsb", "STS-B", 10}};

// Sentences whose label is one of their words, so that a model can learn them.
inline std::vector<GlueRow> easy_rows(const GlueBenchmark& benchmark, int64_t count) {
  std::vector<GlueRow> rows;
  for (int64_t i = 0; i < count; ++i) {
    const auto answers = benchmark.is_value() ? int64_t{6} : benchmark.num_answers();
    const int64_t label = (7 * i / 3) % answers;
    rows.push_back({.text_a = fmt::format("{} {}", std::string(1 + i % 3, 'a'),
                                          std::string(4, static_cast<char>('p' + label))),
                    .text_b = benchmark.text_b ? fmt::format("b{}", i) : "",
                    .label = static_cast<double>(label)});
  }
  return rows;
}

enum class GlueLayout { kTsv, kJsonLines };

inline void write_glue(const std::filesystem::path& root, GlueLayout layout, int64_t count) {
  for (const OfficialFolder& official : kOfficialFolders) {
    const GlueBenchmark& benchmark = glue_benchmark(official.benchmark);
    const std::vector<GlueRow> rows = easy_rows(benchmark, count);
    const bool tsv = layout == GlueLayout::kTsv;
    const std::filesystem::path folder =
        root / (tsv ? official.folder : std::string(official.benchmark) + "_small");
    std::filesystem::create_directories(folder);
    write_file(folder / (tsv ? "train.tsv" : "train.jsonl"),
               tsv ? tsv_of(benchmark, official.columns, rows) : jsonl_of(benchmark, rows));
  }
}

}  // namespace perceiver
