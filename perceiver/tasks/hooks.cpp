#include "perceiver/tasks/hooks.h"

namespace perceiver {

double attention_work(const ModelSummary& summary) { return attention_work(summary, ""); }

double attention_work(const ModelSummary& summary, std::string_view prefix) {
  double work = 0.0;
  for (const Part& part : summary.parts) {
    if (!part.attention || !part.name.starts_with(prefix)) continue;
    const AttentionCase& a = *part.attention;
    work += static_cast<double>(part.times) * a.heads * a.queries * a.keys *
            (a.qk_channels + a.v_channels);
  }
  return work;
}

}  // namespace perceiver
