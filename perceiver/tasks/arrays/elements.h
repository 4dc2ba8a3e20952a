// What an element of an array of one's own is made of: fields, the same for inputs and for queries.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "perceiver/core/config.h"

namespace perceiver {

// What numbers are shifted and scaled by: statistics of the training data, which are kept with the
// model, or of the example itself.
enum class Normalise { kTrain, kExample, kNone };
constexpr std::array<std::string_view, 3> enum_words(Normalise) {
  return {"train", "example", "none"};
}

// Where numbers are taken from: "x" (an array of the file), "x[0:3]" (some of its channels), "0:3"
// and ":" (channels of the array that the elements are of).
struct ArraySource {
  std::string array = {};  // empty: the elements' own
  int64_t begin = 0;
  int64_t end = -1;  // the first channel that is not taken; -1: all are

  int64_t count(int64_t channels) const { return (end < 0 ? channels : end) - begin; }
};
ArraySource read_source(const std::string& text, const std::string& key);

// Just one of the first four is set: it says what the field is.
struct ArrayField {
  std::string number = {}, fourier = {}, category = {}, position = {};
  Normalise normalise = Normalise::kTrain;
  std::vector<double> range = {};
  int64_t bands = 16;
  int64_t resolution = 0;
  int64_t channels = 16;
  // Known from the data, unless they are given.
  int64_t size = 0;
  int64_t width = 0;
  std::vector<double> mean = {}, scale = {};
  std::vector<std::string> words = {};

  bool is_number() const { return !number.empty() || !fourier.empty(); }
  bool has_source() const { return position.empty(); }
  const std::string& source() const {
    return !number.empty() ? number : !fourier.empty() ? fourier : category;
  }
};

template <typename Visitor>
void fields(Visitor& visit, ArrayField& c) {
  visit(
      {"number",
       "Numbers as they are: channels of the array such as '0:3' or ':', or of another array with "
       "the same index axes, such as 'speed' or 'speed[0:2]'"},
      c.number);
  visit({"fourier", "Fourier features of numbers, given likewise"}, c.fourier);
  visit({"category",
         "A learned vector for each whole number from 0, or word of a table's column, given "
         "likewise"},
        c.category);
  visit(
      {"position", "Where the element lies along the index axes: 'fourier' or 'learned' features"},
      c.position);
  visit({"normalise",
         "number: what it is shifted and scaled by to mean 0 and deviation 1: statistics of the "
         "training data, of the example, or nothing"},
        c.normalise);
  visit({"range",
         "fourier: the lowest and the highest number, which become -1 and 1; empty: those of the "
         "training data"},
        c.range);
  visit({"bands", "fourier, and position 'fourier': frequencies along each axis"}, c.bands,
        between(1, 4096));
  visit({"resolution",
         "fourier: places along the range that the highest frequency tells apart; 0: twice the "
         "bands"},
        c.resolution, at_least(0));
  visit({"channels", "category, and position 'learned': channels of a learned vector"}, c.channels,
        at_least(1));
  visit({"size", "category: how many there are; 0: as many as in the training data"}, c.size,
        at_least(0));
  visit({"width", "Numbers of the field in an element; 0: as the data have it"}, c.width,
        at_least(0));
  visit({"mean", "What is taken off each number; empty: learned from the training data"}, c.mean);
  visit({"scale", "What each number is then divided by; empty: learned from the training data"},
        c.scale);
  visit({"words",
         "category of a table's column: the words that stand for 0, 1, …; empty: those of the "
         "training data, in the order of letters"},
        c.words);
}

}  // namespace perceiver
