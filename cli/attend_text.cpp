#include "cli/attend_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/format.h"

namespace perceiver {
namespace {

void print_coloured(const std::vector<Letter>& letters) {
  for (const auto& [text, weight] : letters) {
    const LetterColour c = background(weight);
    fmt::print("\033[48;2;{};{};{};38;5;{}m{}", c.red, c.green, c.blue, weight > 0.5 ? 15 : 16,
               text);
  }
  fmt::print("\033[0m\n");
}

size_t num_characters(std::string_view text) {
  return std::ranges::count_if(text, [](char byte) { return (byte & 0xC0) != 0x80; });
}

// Without colours, strong letters have a mark below them.
void print_marked(const std::vector<Letter>& letters) {
  constexpr size_t kWidth = 78;
  std::string line, marks;
  size_t width = 0;
  const auto end_line = [&] {
    fmt::print("{}\n", line);
    if (!marks.empty()) fmt::print("{}\n", marks);
    line.clear(), marks.clear(), width = 0;
  };
  for (const auto& [text, weight] : letters) {
    const size_t columns = num_characters(text);
    if (text == "\n" || width + columns > kWidth) end_line();
    if (text == "\n") continue;
    line += text;
    if (weight > 0.2) {
      marks +=
          std::string(width - marks.size(), ' ') + std::string(columns, weight > 0.5 ? '^' : '.');
    }
    width += columns;
  }
  end_line();
}

}  // namespace

void print_text(const InputView& view, const std::vector<NamedMap>& maps) {
  const bool colours = colours_wanted();
  for (const NamedMap& map : maps) {
    fmt::print("{}\n", map.name);
    (colours ? print_coloured : print_marked)(letters(view, map));
  }
}

}  // namespace perceiver
