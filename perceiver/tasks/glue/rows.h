// Labelled sentences of GLUE in files: the official .tsv or JSON lines.
#pragma once

#include <filesystem>

#include "perceiver/tasks/glue/benchmark.h"
#include "perceiver/tasks/train_config.h"

namespace perceiver {

struct GlueRow {
  std::string text_a = {}, text_b = {};  // text_b is "" where the task has one text
  double label = 0.0;                    // the class's number, or the value
  std::string error = {};                // why it cannot be read: "FILE:LINE: got, expected"
};

// By the file's ending: .tsv as officially published, else JSON lines with "text_a", "text_b" where
// the task has two texts, and "label", a class's number or name, or a value. The first row that
// cannot be read is an Error, or, to be skipped, such rows are kept with theirs.
std::vector<GlueRow> read_glue_rows(const std::filesystem::path& path,
                                    const GlueBenchmark& benchmark,
                                    Unreadable unreadable = Unreadable::kStop);

// The files of one benchmark in a folder; an empty path where there is none.
struct GlueFiles {
  std::filesystem::path train, dev;
  std::filesystem::path dev_mismatched;  // MNLI's, of other genres than were trained on
};

// `root` holds a folder for each benchmark ("SST-2/train.tsv", "sst2_small/train.jsonl"), or is the
// folder of this one. Fails with what there is where it has none of this benchmark, or two.
GlueFiles find_glue_files(const std::filesystem::path& root, const GlueBenchmark& benchmark);

}  // namespace perceiver
