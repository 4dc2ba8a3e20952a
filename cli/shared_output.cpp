#include "cli/shared_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/ranks.h"
#include "cli/verb_hooks.h"
#include "perceiver/core/json_text.h"
#include "perceiver/ranks/shared_work.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

// CBOR holds any bytes, which a file's name may consist of, and numbers as they are.
std::string encoded(const Json& json) {
  const std::vector<uint8_t> bytes = Json::to_cbor(json);
  return {bytes.begin(), bytes.end()};
}

void share_said(Ranks* ranks, const SharedOutput& output, const Say& say) {
  if (ranks == nullptr) {
    for (int64_t piece = 0; output.work(piece, say); ++piece) {
    }
    return;
  }
  const auto listen = [&](int64_t piece) -> std::optional<std::string> {
    Json all = Json::array();
    const auto keep = [&](const Said& said) {
      all.push_back({said.out, said.document, said.error});
    };
    if (!output.work(piece, keep)) return {};
    return encoded(all);
  };
  const auto repeat = [&](int64_t, const std::string& result) {
    for (const Json& said : Json::from_cbor(result)) {
      say({.out = said[0].get<std::string>(),
           .document = said[1],
           .error = said[2].get<std::string>()});
    }
  };
  share(ranks, {.work = listen, .take = repeat});
}

}  // namespace

void print_shared(Ranks* ranks, const SharedOutput& output) {
  Json document = Json::array();
  int64_t passed_over = 0;
  share_said(ranks, output, [&](const Said& said) {
    output.verb.clear();
    if (!said.error.empty()) {
      ++passed_over;
      if (output.inputs == 1) throw ErrorOfAll(said.error);
      fmt::print(stderr, "perceiver: {}\n", said.error);
    }
    fmt::print("{}", said.out);
    std::fflush(stdout);
    if (!said.document.is_null()) document.push_back(said.document);
  });
  if (ranks != nullptr && !ranks->is_first()) return;
  if (output.json) fmt::print("{}\n", json_text(document, 2));
  if (passed_over == 0) return;
  std::fflush(stdout);  // a rank that fails ends at once
  throw ErrorOfAll(
      fmt::format("{} of {} {} could not be read", passed_over, output.inputs, output.called));
}

int64_t inputs_per_piece(int64_t inputs, int64_t batch, const Ranks* ranks) {
  if (ranks == nullptr) return std::max<int64_t>(1, inputs);
  return std::max<int64_t>(1, inputs / batch / (8 * ranks->size())) * batch;
}

}  // namespace perceiver
