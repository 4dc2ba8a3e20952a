#include "perceiver/tasks/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "perceiver/core/alternatives.h"
#include "perceiver/nn/init.h"
#include "perceiver/nn/layers.h"
#include "perceiver/tasks/settings.h"

namespace perceiver {
namespace {

constexpr double kTolerance = 0.005;

struct Ledger {
  std::vector<LedgerRow> row;
  std::vector<PaperRecipe> recipe;
};

template <typename Visitor>
void fields(Visitor& visit, Ledger& c) {
  visit("row", c.row);
  visit("recipe", c.recipe);
}

Ledger read_ledger(const std::filesystem::path& configs) {
  return read_config<Ledger>(read_file(configs / "paper.toml"));
}

// Operations of a part when only a share of the queries is decoded: keys and values of the
// latents cost the same whatever is asked of them.
double decoded_flops(const Part& part, double share, const ArraySize& latents) {
  double fixed = 0.0;
  if (part.attention) {
    const AttentionCase& a = *part.attention;
    fixed = 2.0 * a.keys * latents.channels * a.heads * (a.qk_channels + a.v_channels);
  }
  return fixed + share * (part.flops - fixed);
}

double counted_flops(const ModelSummary& summary, const LedgerRow& row) {
  double total = 0.0;
  for (const Part& part : summary.parts) {
    const bool left_out =
        std::any_of(row.leave_out.begin(), row.leave_out.end(),
                    [&](const auto& name) { return part.name.starts_with(name); });
    if (left_out) continue;
    if (part.name.starts_with("logits")) {
      total += part.flops * row.logits_flops_per_mac / 2.0;
    } else if (part.name.starts_with("decoder") && summary.latents) {
      total += decoded_flops(part, row.query_share, *summary.latents);
    } else {
      total += part.flops;
    }
  }
  return total;
}

std::vector<int64_t> as_list(const ArraySize& a) { return {a.index, a.channels}; }

bool agree(const std::optional<double>& paper, const std::optional<double>& built) {
  return !paper || std::abs(*built / *paper - 1.0) <= kTolerance;
}

bool agree(const std::optional<std::vector<int64_t>>& paper,
           const std::optional<std::vector<int64_t>>& built) {
  return !paper || paper == built;
}

}  // namespace

PaperFigures built_figures(const LedgerRow& row, const std::filesystem::path& configs) {
  const ConstructScope scope(Construct::kWithoutMemory);
  const std::unique_ptr<Task> task = make_task(read_file(configs / row.config));
  const ModelSummary summary = task->summary(row.training ? Split::kTrain : Split::kEval);
  PaperFigures built{.params = static_cast<double>(num_parameters(task->model())),
                     .flops = counted_flops(summary, row),
                     .inputs = as_list(summary.inputs),
                     .latents = {},
                     .outputs = as_list(summary.outputs)};
  if (summary.latents) built.latents = as_list(*summary.latents);
  if (!row.added_to.empty()) {
    const ModelSummary base = make_task(read_file(configs / row.added_to))->summary(Split::kEval);
    *built.flops -= counted_flops(base, row);
  }
  return built;
}

std::vector<LedgerEntry> paper_ledger(const std::filesystem::path& configs) {
  std::vector<LedgerEntry> entries;
  for (const LedgerRow& row : read_ledger(configs).row) {
    const PaperFigures built = built_figures(row, configs);
    const bool match =
        agree(row.paper.params, built.params) && agree(row.paper.flops, built.flops) &&
        agree(row.paper.inputs, built.inputs) && agree(row.paper.latents, built.latents) &&
        agree(row.paper.outputs, built.outputs);
    entries.push_back({row, built, match});
  }
  return entries;
}

std::vector<PaperRecipe> paper_recipes(const std::filesystem::path& configs) {
  return read_ledger(configs).recipe;
}

std::vector<std::string> recipe_differences(const PaperRecipe& recipe,
                                            const std::filesystem::path& configs) {
  std::vector<std::string> differences;
  for (const std::string& config : recipe.configs) {
    const std::unique_ptr<Settings> settings = read_settings(read_file(configs / config));
    const std::string text = settings->text();
    // What a config says already changes nothing.
    const auto says = [&](const std::string& one) {
      return settings->with(std::span(&one, 1))->text() == text;
    };
    for (const std::string& setting : recipe.settings) {
      const size_t values = setting.find('=') + 1;
      const auto says_it = [&](const std::string& value) {
        return says(setting.substr(0, values) + value);
      };
      if (std::ranges::any_of(alternatives_of(setting.substr(values)), says_it)) continue;
      differences.push_back(fmt::format("{}: {} ({})", config, setting, recipe.where));
    }
  }
  return differences;
}

}  // namespace perceiver
