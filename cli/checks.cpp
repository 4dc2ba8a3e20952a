#include "cli/checks.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "perceiver/core/number.h"

namespace perceiver {
namespace {

std::string refusal(const std::string& expected, const std::string& got) {
  return fmt::format("expected {}, got '{}'", expected, got);
}

CLI::Validator number_that(const std::string& expected, std::function<bool(double)> is_good) {
  return CLI::Validator(
      [=](std::string& text) {
        const std::optional<double> value = number_in<double>(text);
        const bool good = value && std::isfinite(*value) && is_good(*value);
        return good ? "" : refusal(expected, text);
      },
      "X");
}

std::string range_in_words(int64_t least, int64_t most) {
  using Limits = std::numeric_limits<int64_t>;
  if (least == Limits::min()) return "a whole number";
  if (most == Limits::max()) return fmt::format("a whole number, {} or more", least);
  return fmt::format("a whole number from {} to {}", least, most);
}

std::string alternatives(const std::vector<std::string>& words) {
  return fmt::format("{} or {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back());
}

}  // namespace

CLI::Validator whole_number(int64_t least, int64_t most) {
  return CLI::Validator(
      [=](std::string& text) {
        const std::optional<int64_t> value = number_in<int64_t>(text);
        const bool good = value && *value >= least && *value <= most;
        return good ? "" : refusal(range_in_words(least, most), text);
      },
      "N");
}

CLI::Validator number() {
  return number_that("a number", [](double) { return true; });
}

CLI::Validator positive_number() {
  return number_that("a number above 0", [](double value) { return value > 0.0; });
}

CLI::Validator number_from(double least) {
  return number_that(fmt::format("a number, {} or more", least),
                     [=](double value) { return value >= least; });
}

CLI::Validator one_of(std::span<const std::string_view> allowed) {
  const std::vector<std::string> words(allowed.begin(), allowed.end());
  return CLI::Validator(
      [=](std::string& text) {
        const bool good = std::find(words.begin(), words.end(), text) != words.end();
        return good ? "" : refusal(alternatives(words), text);
      },
      fmt::format("{}", fmt::join(words, "|")));
}

CLI::Validator one_of(std::initializer_list<std::string_view> words) {
  return one_of(std::span(words.begin(), words.size()));
}

void check_all_numbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_type_name() == "INT") option->check(whole_number());
    if (option->get_type_name() == "FLOAT") option->check(number());
  }
  for (CLI::App* verb : app.get_subcommands({})) check_all_numbers(*verb);
}

}  // namespace perceiver
