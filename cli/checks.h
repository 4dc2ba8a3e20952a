// What an option's value must be. A value that is none gets our words, and the help shows what
// stands for a good one.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string_view>

namespace perceiver {

CLI::Validator whole_number(int64_t least = std::numeric_limits<int64_t>::min(),
                            int64_t most = std::numeric_limits<int64_t>::max());
CLI::Validator number();           // with or without a fraction
CLI::Validator positive_number();  // above 0
CLI::Validator number_from(double least);
CLI::Validator one_of(std::span<const std::string_view> words);
CLI::Validator one_of(std::initializer_list<std::string_view> words);

// Checks numbers of all verbs for which nothing more is asked, so that no value reaches the
// parser's own complaint.
void check_all_numbers(CLI::App& app);

}  // namespace perceiver
