// The paper's tables beside what the modules give: parameters, FLOPs and arrays of every model.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "perceiver/core/config.h"
#include "perceiver/tasks/task.h"

namespace perceiver {

// What the paper says of a model, or what the modules give. Empty where the paper is silent.
struct PaperFigures {
  std::optional<double> params, flops;
  std::optional<std::vector<int64_t>> inputs, latents, outputs;  // [index, channels]
};

// What a trained model reached.
struct ReachedFigure {
  std::string measure, paper;  // "GLUE, average", "81.0"
  std::string here;            // as measured here, at the paper's size; empty: not run
  std::string source;          // where a reader finds command, machine and date
};

// A row of configs/paper.toml.
struct LedgerRow {
  std::string name;
  std::string where;                   // section or table of the paper
  std::string config;                  // file in configs/
  bool training = false;               // with the queries of a training step
  double query_share = 1.0;            // the share of the queries whose decoding is counted
  int64_t logits_flops_per_mac = 2;    // the paper counts some logits at one
  std::vector<std::string> leave_out;  // parts that are not counted, by the start of their names
  std::string added_to;                // FLOPs are those beyond this config's
  PaperFigures paper;
  std::vector<ReachedFigure> reached;
  std::string note;  // the rule that was applied, or why the figures differ
};

struct LedgerEntry {
  LedgerRow row;
  PaperFigures built;
  bool match;  // every figure that the paper gives within 0.5 %, every array equal
};

// All rows, in the paper's order, built from the real modules without memory.
std::vector<LedgerEntry> paper_ledger(const std::filesystem::path& configs);

// What the modules of one row give, by the row's rules.
PaperFigures built_figures(const LedgerRow& row, const std::filesystem::path& configs);

// Hyper-parameters that the paper gives for some of its models: a recipe of configs/paper.toml.
struct PaperRecipe {
  std::string where;                  // section or table of the paper
  std::vector<std::string> configs;   // files in configs/
  std::vector<std::string> settings;  // "train.batch=2048"; of a grid: "train.batch=16,32,64"
};

std::vector<PaperRecipe> paper_recipes(const std::filesystem::path& configs);

// Where a config says otherwise: "glue_single.toml: train.batch=16,32,64 (Tab. 13)".
std::vector<std::string> recipe_differences(const PaperRecipe& recipe,
                                            const std::filesystem::path& configs);

template <typename Visitor>
void fields(Visitor& visit, PaperFigures& c) {
  visit("params", c.params, at_least(0));
  visit("flops", c.flops, at_least(0));
  visit("inputs", c.inputs);
  visit("latents", c.latents);
  visit("outputs", c.outputs);
}

template <typename Visitor>
void fields(Visitor& visit, ReachedFigure& c) {
  visit("measure", c.measure);
  visit("paper", c.paper);
  visit("here", c.here);
  visit("source", c.source);
}

template <typename Visitor>
void fields(Visitor& visit, LedgerRow& c) {
  visit("name", c.name);
  visit("where", c.where);
  visit("config", c.config);
  visit("training", c.training);
  visit("query_share", c.query_share, between(0.0, 1.0));
  visit("logits_flops_per_mac", c.logits_flops_per_mac, between(1, 2));
  visit("leave_out", c.leave_out);
  visit("added_to", c.added_to);
  visit("paper", c.paper);
  visit("reached", c.reached);
  visit("note", c.note);
}

template <typename Visitor>
void fields(Visitor& visit, PaperRecipe& c) {
  visit("where", c.where);
  visit("configs", c.configs);
  visit("settings", c.settings);
}

}  // namespace perceiver
