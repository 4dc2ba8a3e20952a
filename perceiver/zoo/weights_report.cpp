#include "perceiver/zoo/weights_report.h"

#include <c10/core/ScalarType.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "perceiver/nn/init.h"
#include "perceiver/weights/folder.h"
#include "perceiver/zoo/deepmind.h"
#include "perceiver/zoo/hugging_face.h"

namespace perceiver {

namespace fs = std::filesystem;

WeightsReport report_weights(const fs::path& model, const Settings& settings) {
  const fs::path haiku = haiku_file(model);
  const TensorMap weights =
      haiku.empty() ? read_folder_weights(model) : haiku_tensors(read_haiku(haiku));
  WeightsReport report{.source = (haiku.empty() ? find_folder_weights(model) : haiku).string()};
  for (const auto& [name, tensor] : weights) {
    ++report.tensors;
    ++report.dtypes[std::string(c10::getDtypeNames(tensor.scalar_type()).first)];
    report.bytes += static_cast<int64_t>(tensor.nbytes());
  }
  check_counts(settings, weights);
  const NameOf name_of = haiku.empty() ? folder_names(settings) : haiku_names(settings);
  const ConstructScope scope(Construct::kWithoutMemory);
  report.problems = match_weights(settings.make()->model(), weights, name_of).problems;
  return report;
}

std::string count_problems(const std::vector<WeightsProblem>& problems) {
  using Kind = WeightsProblem::Kind;
  std::vector<std::string> counts;
  const auto add = [&](Kind kind, const char* what) {
    const auto count = std::count_if(problems.begin(), problems.end(),
                                     [&](const WeightsProblem& p) { return p.kind == kind; });
    if (count > 0) counts.push_back(fmt::format("{} {}", count, what));
  };
  add(Kind::kNoPlace, "without a place in the format");
  add(Kind::kMissing, "missing");
  add(Kind::kSuperfluous, "superfluous");
  add(Kind::kWrongShape, "of another shape");
  return fmt::format("{}", fmt::join(counts, ", "));
}

}  // namespace perceiver
