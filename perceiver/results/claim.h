// A claim of the paper, and the small experiment that tries it: a file of experiments/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "perceiver/core/config.h"

namespace perceiver {

// What is compared: a figure of `perceiver eval --json`.
struct ClaimMeasure {
  std::string key;   // "bits_per_byte"; "cola.matthews" is the figure matthews of cola
  std::string name;  // "bits a masked byte"
  bool lower_is_better = false;
  double times = 1.0;  // 100 for a share that is shown in per cent
  int64_t decimals = 2;
};

// A training before the one that is measured, which begins from its weights.
struct ArmBeginning {
  std::string config;
  std::vector<std::string> settings, data, held_out;
};

// One of the models that are compared.
struct ClaimArm {
  std::string name;
  std::string paper;                  // its figure in the paper, as printed there
  std::string config;                 // file in configs/
  std::vector<std::string> settings;  // beside the claim's
  std::optional<ArmBeginning> begins;
};

struct Claim {
  std::string name;  // of the file
  int64_t number = 0;
  std::string title;
  std::string where;       // section or table of the paper
  std::string paper;       // what the paper says
  std::string experiment;  // what is done here, and how it differs
  std::string shows;       // one honest sentence, written when the rows were there
  ClaimMeasure measure;
  std::vector<std::string> data, held_out;  // below the folder given to experiments/run.py
  std::vector<std::string> settings;        // of every arm
  std::vector<int64_t> seeds = {1, 2, 3};
  std::vector<ClaimArm> arm;
};

// All of a folder, by their numbers.
std::vector<Claim> read_claims(const std::filesystem::path& experiments);

template <typename Visitor>
void fields(Visitor& visit, ClaimMeasure& c) {
  visit("key", c.key);
  visit("name", c.name);
  visit("lower_is_better", c.lower_is_better);
  visit("times", c.times);
  visit("decimals", c.decimals, between(0, 6));
}

template <typename Visitor>
void fields(Visitor& visit, ArmBeginning& c) {
  visit("config", c.config);
  visit("settings", c.settings);
  visit("data", c.data);
  visit("held_out", c.held_out);
}

template <typename Visitor>
void fields(Visitor& visit, ClaimArm& c) {
  visit("name", c.name);
  visit("paper", c.paper);
  visit("config", c.config);
  visit("settings", c.settings);
  visit("begins", c.begins);
}

template <typename Visitor>
void fields(Visitor& visit, Claim& c) {
  visit("number", c.number, at_least(1));
  visit("title", c.title);
  visit("where", c.where);
  visit("paper", c.paper);
  visit("experiment", c.experiment);
  visit("shows", c.shows);
  visit("measure", c.measure);
  visit("data", c.data);
  visit("held_out", c.held_out);
  visit("settings", c.settings);
  visit("seeds", c.seeds, at_least(0));
  visit("arm", c.arm);
}

}  // namespace perceiver
