#include "perceiver/core/key_list.h"

#include <gtest/gtest.h>

#include <array>

namespace perceiver {
namespace {

enum class Colour { kRed, kGreen, kBlue };
constexpr std::array<std::string_view, 3> enum_words(Colour) { return {"red", "green", "blue"}; }

struct Inner {
  std::optional<int64_t> width;
  std::vector<std::string> names = {"a b"};
};
struct Outer {
  Inner inner;
  Colour colour = Colour::kGreen;
  double share = 0.5;
};
template <typename Visitor>
void fields(Visitor& visit, Inner& c) {
  visit({"width", "How wide"}, c.width, at_least(1));
  visit("names", c.names);
}
template <typename Visitor>
void fields(Visitor& visit, Outer& c) {
  visit({"inner", "What is inside"}, c.inner);
  visit({"colour", "Which colour"}, c.colour);
  visit({"share", "How much"}, c.share, between(0.0, 1.0));
}

TEST(ListKeys, EachHasItsPathTypeValueAndMeaning) {
  const std::vector<ListedKey> keys = list_keys(Outer{});
  ASSERT_EQ(keys.size(), 5);
  EXPECT_EQ(keys[0].path, "inner");
  EXPECT_TRUE(keys[0].is_table());
  EXPECT_EQ(keys[1].path, "inner.width");
  EXPECT_EQ(keys[1].type, "integer, at least 1");
  EXPECT_EQ(keys[1].value, "");
  EXPECT_EQ(keys[1].meaning, "How wide");
  EXPECT_EQ(keys[2].type, "list of strings");
  EXPECT_EQ(keys[2].value, "['a b']");
  EXPECT_EQ(keys[2].meaning, "");
  EXPECT_EQ(keys[3].type, "red, green or blue");
  EXPECT_EQ(keys[3].value, "'green'");
  EXPECT_EQ(keys[4].type, "float, 0 to 1");
  EXPECT_EQ(keys[4].value, "0.5");
}

struct Many {
  std::map<std::string, Outer> sides;
  std::vector<Inner> rows;
};
template <typename Visitor>
void fields(Visitor& visit, Many& c) {
  visit({"sides", "One a side"}, c.sides);
  visit({"rows", "One a row"}, c.rows);
}

TEST(ListKeys, TablesByNameAreListedOneByOneOrOnceWhereThereAreNone) {
  const auto paths_of = [](const Many& config) {
    std::string paths;
    for (const ListedKey& key : list_keys(config)) paths += key.path + " ";
    return paths;
  };
  const std::string rows = "rows rows[] rows[].width rows[].names ";
  EXPECT_EQ(paths_of({}),
            "sides.NAME sides.NAME.inner sides.NAME.inner.width sides.NAME.inner.names "
            "sides.NAME.colour sides.NAME.share " +
                rows);
  Many config{{{"left", {}}}, {{.width = 3}, {}}};
  EXPECT_EQ(paths_of(config),
            "sides.left sides.left.inner sides.left.inner.width sides.left.inner.names "
            "sides.left.colour sides.left.share " +
                rows);
  const std::vector<ListedKey> keys = list_keys(config);
  EXPECT_EQ(keys[2].kind, "sides.NAME.inner.width");
  EXPECT_EQ(keys[6].type, "list of tables");
  EXPECT_EQ(keys[6].value, "[{width = 3}, {}]");
}

}  // namespace
}  // namespace perceiver
