#include "perceiver/core/config.h"

#include <gtest/gtest.h>

#include <array>

namespace perceiver {
namespace {

enum class Patch { k3x3, kConv };
constexpr std::array<std::string_view, 2> enum_words(Patch) { return {"3x3", "conv"}; }

struct Inner {
  int64_t num_heads = 8;
  std::optional<int64_t> qk_channels;
};
struct Row {
  std::string name;
  std::vector<std::string> words;
  std::vector<double> range = {-1.0, 1.0};
};
struct Outer {
  double learning_rate = 1e-3;
  Patch patch = Patch::k3x3;
  std::vector<int64_t> grid = {224, 224};
  Inner self_attend;
  std::vector<Row> row;
  std::map<std::string, Inner> side;
};
template <typename Visitor>
void fields(Visitor& visit, Inner& c) {
  visit("num_heads", c.num_heads, at_least(1));
  visit("qk_channels", c.qk_channels, at_least(1));
}
template <typename Visitor>
void fields(Visitor& visit, Row& c) {
  visit("name", c.name);
  visit("words", c.words);
  visit("range", c.range, between(-10.0, 10.0));
}
template <typename Visitor>
void fields(Visitor& visit, Outer& c) {
  visit("learning_rate", c.learning_rate, between(0.0, 1.0));
  visit("patch", c.patch);
  visit("grid", c.grid, at_least(1));
  visit("self_attend", c.self_attend);
  visit("row", c.row);
  visit("side", c.side);
}

File file(const std::string& text) { return {"x.toml", text}; }

std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    read_config<Outer>(file(text), overrides);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(ReadConfig, KeysLeftOutKeepTheirDefaults) {
  const Outer config = read_config<Outer>(file("self_attend.num_heads = 16\npatch = \"conv\""));
  EXPECT_EQ(config.self_attend.num_heads, 16);
  EXPECT_FALSE(config.self_attend.qk_channels.has_value());
  EXPECT_EQ(config.learning_rate, 1e-3);
  EXPECT_EQ(config.patch, Patch::kConv);
}

TEST(ReadConfig, ListsOfTablesAreReadInOrder) {
  const Outer config = read_config<Outer>(file("[[row]]\nname = \"a\"\n[[row]]\nname = \"b\""));
  ASSERT_EQ(config.row.size(), 2);
  EXPECT_EQ(config.row[1].name, "b");
  EXPECT_EQ(error_of("[[row]]\nnam = \"a\""),
            "x.toml:2: unknown key 'row.nam'; did you mean 'row.name'?");
}

TEST(ReadConfig, TablesMayHaveNamesOfTheFilesOwnChoice) {
  const Outer config =
      read_config<Outer>(file("[side.left]\nnum_heads = 2\n[side.'the right']\nqk_channels = 3"));
  ASSERT_EQ(config.side.size(), 2u);
  EXPECT_EQ(config.side.at("left").num_heads, 2);
  EXPECT_EQ(config.side.at("the right").qk_channels, 3);
  EXPECT_EQ(error_of("[side.left]\nnum_head = 2"),
            "x.toml:2: unknown key 'side.left.num_head'; did you mean 'side.left.num_heads'?");
  EXPECT_EQ(error_of("side = 3"), "x.toml:1: 'side' must be a table");
  EXPECT_EQ(error_of("side.left = 3"), "x.toml:1: 'side.left' must be a table");
}

TEST(ReadConfig, OneStringIsAListOfOneAndWholeNumbersAreNumbers) {
  const Outer config = read_config<Outer>(file("row = [{range = [0, 0.5], words = 'one'}]"));
  EXPECT_EQ(config.row[0].words, (std::vector<std::string>{"one"}));
  EXPECT_EQ(config.row[0].range, (std::vector<double>{0.0, 0.5}));
  EXPECT_DOUBLE_EQ(read_config<Outer>(file("learning_rate = 1")).learning_rate, 1.0);
  EXPECT_EQ(error_of("row = [{range = ['a']}]"), "x.toml:1: 'row.range' must be a list of numbers");
  EXPECT_EQ(error_of("row = [{range = [11]}]"), "x.toml:1: 'row.range' must be at most 10, got 11");
}

TEST(ReadConfig, UnknownKeyIsNamedWithItsLineAndTheNearestKey) {
  EXPECT_EQ(error_of("\n[self_attend]\nnum_head = 16"),
            "x.toml:3: unknown key 'self_attend.num_head'; did you mean 'self_attend.num_heads'?");
  EXPECT_EQ(error_of("depth = 24"), "x.toml:1: unknown key 'depth'");
}

TEST(ReadConfig, WrongTypeIsNamedWithTheRightOne) {
  EXPECT_EQ(error_of("self_attend.num_heads = \"16\""),
            "x.toml:1: 'self_attend.num_heads' must be an integer");
  EXPECT_EQ(error_of("learning_rate = '1'"), "x.toml:1: 'learning_rate' must be a number");
  EXPECT_EQ(error_of("\nself_attend = 3"), "x.toml:2: 'self_attend' must be a table");
  EXPECT_EQ(error_of("grid = [224, \"224\"]"), "x.toml:1: 'grid' must be a list of integers");
  EXPECT_EQ(error_of("row = 3"), "x.toml:1: 'row' must be a list of tables");
}

TEST(ReadConfig, ImpossibleValueIsNamedWithTheLimit) {
  EXPECT_EQ(error_of("self_attend.num_heads = 0"),
            "x.toml:1: 'self_attend.num_heads' must be at least 1, got 0");
  EXPECT_EQ(error_of("learning_rate = 1.5"),
            "x.toml:1: 'learning_rate' must be at most 1, got 1.5");
  EXPECT_EQ(error_of("learning_rate = 9223372036854775807"),  // which no double is
            "x.toml:1: 'learning_rate' must be at most 1, got 9.223372036854776e+18");
  EXPECT_EQ(error_of("learning_rate = nan"), "x.toml:1: 'learning_rate' must be a number, got nan");
  EXPECT_EQ(error_of("patch = \"5x5\""),
            "x.toml:1: 'patch' must be \"3x3\" or \"conv\", got \"5x5\"");
}

// A size that no file of weights could have would be built for ever, or overflow.
TEST(ReadConfig, CountsEndWhereTheFieldNamesNoEnd) {
  EXPECT_EQ(error_of("self_attend.num_heads = 9223372036854775807"),
            "x.toml:1: 'self_attend.num_heads' must be at most 16777216, got 9223372036854775807");
  EXPECT_EQ(error_of("self_attend.qk_channels = 1000000000000"),
            "x.toml:1: 'self_attend.qk_channels' must be at most 16777216, got 1000000000000");
  EXPECT_EQ(error_of("grid = [224, 16777217]"),
            "x.toml:1: 'grid' must be at most 16777216, got 16777217");
  EXPECT_EQ(error_of("grid = [224, 16777216]"), "no error");
}

TEST(ReadConfig, BrokenTomlIsNamedWithItsLine) {
  EXPECT_EQ(error_of("learning_rate = 0.1\nself_attend = [").substr(0, 9), "x.toml:2:");
}

// Hundred thousand tables in each other ended in a crash.
TEST(ReadConfig, KeysOfTooManyPartsAreRefusedBeforeTheyAreParsed) {
  std::string key = "a";
  for (int i = 1; i < 100'000; ++i) key += ".a";
  const std::string place = "x.toml:2: key of over 16 parts";
  EXPECT_EQ(error_of("# a.b\n" + key + " = 1"), place);
  EXPECT_EQ(error_of("\n[" + key + "]"), place);
  EXPECT_EQ(error_of("\n[[" + key + "]]"), place);
  EXPECT_EQ(error_of("\nrow = [{" + key + " = 1}]"), place);
  EXPECT_EQ(error_of("\n'b\"'." + key + " = 1"), place);
  EXPECT_EQ(error_of("", {key + "=1"}), "command line: key of over 16 parts");
  EXPECT_EQ(error_of("", {"self_attend={" + key + "=1}"}),
            "command line: 'self_attend' must be a table");
  EXPECT_EQ(error_of("[[row]]", {"patch=" + key}).substr(0, 27), "command line: 'patch' must ");
  EXPECT_EQ(error_of("# " + key + "\nrow = [{name = '''\n" + key + "'''}]"), "no error");
  EXPECT_EQ(error_of("row = [{name = \"\\\"" + key + "\"}] # " + key), "no error");
}

TEST(ReadConfig, OverridesWinAndAreCheckedAlike) {
  const std::vector<std::string> overrides = {"self_attend.num_heads=4", "patch=conv"};
  const Outer config = read_config<Outer>(file("[self_attend]\nqk_channels = 32"), overrides);
  EXPECT_EQ(config.self_attend.num_heads, 4);
  EXPECT_EQ(config.self_attend.qk_channels, 32);
  EXPECT_EQ(config.patch, Patch::kConv);
  EXPECT_EQ(error_of("", {"self_attend.num_hed=4"}),
            "command line: unknown key 'self_attend.num_hed'; did you mean "
            "'self_attend.num_heads'?");
  EXPECT_EQ(error_of("", {"num_heads"}), "command line: 'num_heads' is not of the form key=value");
}

TEST(WriteConfig, WhatIsWrittenIsReadBack) {
  Outer config;
  config.learning_rate = 1.0;
  config.patch = Patch::kConv;
  config.grid = {3, 5};
  config.self_attend.qk_channels = 7;
  config.row = {{.name = "it's", .words = {"a", "b"}, .range = {0.0, 2.5}}, {}};
  config.side = {{"left", {}}, {"the right", {.num_heads = 3, .qk_channels = 4}}};
  const Outer again = read_config<Outer>(file(to_toml(config)));
  EXPECT_EQ(to_toml(again), to_toml(config));
  EXPECT_EQ(again.self_attend.qk_channels, 7);
  EXPECT_EQ(again.patch, Patch::kConv);
  ASSERT_EQ(again.row.size(), 2u);
  EXPECT_EQ(again.row[0].name, "it's");
  EXPECT_EQ(again.row[0].range, (std::vector<double>{0.0, 2.5}));
  EXPECT_EQ(again.side.at("the right").qk_channels, 4);
}

// As a command line does over what a file said.
TEST(ReadConfig, WhatIsNotReadAgainStays) {
  Outer config = read_config<Outer>(file("row = [{name = 'a'}]\n[side.left]\nnum_heads = 2"));
  const std::vector<std::string> overrides = {"side.left.qk_channels=5"};
  ConfigReader reader(file(""), overrides);
  fields(reader, config);
  reader.finish();
  EXPECT_EQ(config.row.size(), 1u);
  EXPECT_EQ(config.side.at("left").num_heads, 2);
  EXPECT_EQ(config.side.at("left").qk_channels, 5);
}

}  // namespace
}  // namespace perceiver
