// What is wrong with the words of a command line, in our words: the parser has its own.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>

namespace perceiver {

// The first word that is no verb or no option of its verb, with the nearest that is; "" when all
// are known. The parser would complain of something else first, and suggests nothing.
std::string unknown_word(const CLI::App& app, std::span<char* const> words);

// What the parser did not like, as a sentence that names the verb's help.
std::string usage_complaint(const CLI::App& app, const CLI::ParseError& error);

}  // namespace perceiver
