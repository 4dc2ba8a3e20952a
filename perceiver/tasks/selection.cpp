#include "perceiver/tasks/selection.h"

#include <ATen/ATen.h>

#include <numeric>
#include <optional>

#include "perceiver/core/error.h"
#include "perceiver/core/number.h"

namespace perceiver {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == text.npos) return parts;
    begin = end + 1;
  }
}

// All of them whole numbers, as many as asked for.
std::optional<std::vector<int64_t>> whole_numbers(std::string_view text, size_t count) {
  std::vector<int64_t> numbers;
  for (const std::string_view part : split(text, ',')) {
    const std::optional<int64_t> value = number_in<int64_t>(part);
    if (!value) return {};
    numbers.push_back(*value);
  }
  if (numbers.size() != count) return {};
  return numbers;
}

}  // namespace

std::vector<int64_t> parse_numbers(const std::string& text, int64_t count,
                                   const std::string& option, const std::string& things) {
  std::vector<int64_t> indices;
  for (const std::string_view part : split(text, ',')) {
    const std::vector<std::string_view> ends = split(part, '-');
    const std::optional<int64_t> first = number_in<int64_t>(ends.front());
    const std::optional<int64_t> last = number_in<int64_t>(ends.back());
    if (ends.size() > 2 || !first || !last) {
      fail("{}: expected numbers and ranges such as 3,5-7, got '{}'", option, text);
    }
    if (*first < 1 || *last < *first || *last > count) {
      fail("{} {}: there are {} {}, counted from 1", option, part, count, things);
    }
    for (int64_t i = *first; i <= *last; ++i) indices.push_back(i - 1);
  }
  return indices;
}

Tensor Box::pixels(int64_t frame_width) const {
  return (at::arange(y0, y1).unsqueeze(1) * frame_width + at::arange(x0, x1)).flatten();
}

Box parse_box(const std::string& text, FrameSize frame) {
  if (text.empty()) return {0, 0, frame.width, frame.height};
  const std::optional<std::vector<int64_t>> ends = whole_numbers(text, 4);
  if (!ends) fail("--box: expected x0,y0,x1,y1 in pixels, got '{}'", text);
  const Box box{(*ends)[0], (*ends)[1], (*ends)[2], (*ends)[3]};
  if (box.x0 < 0 || box.y0 < 0 || box.x1 > frame.width || box.y1 > frame.height) {
    fail("--box {}: reaches out of the frame of {} x {}", text, frame.width, frame.height);
  }
  if (box.x0 >= box.x1 || box.y0 >= box.y1) {
    fail("--box {}: is empty; x1 and y1 are the first pixels outside", text);
  }
  return box;
}

std::vector<Pixel> parse_pixels(const std::vector<std::string>& texts, FrameSize frame) {
  std::vector<Pixel> pixels;
  for (const std::string& text : texts) {
    const std::optional<std::vector<int64_t>> place = whole_numbers(text, 2);
    if (!place) fail("--pixels: expected x,y for each pixel, got '{}'", text);
    const Pixel pixel{(*place)[0], (*place)[1]};
    if (pixel.x < 0 || pixel.y < 0 || pixel.x >= frame.width || pixel.y >= frame.height) {
      fail("--pixels {}: is not in the frame of {} x {}, counted from 0", text, frame.width,
           frame.height);
    }
    pixels.push_back(pixel);
  }
  return pixels;
}

Tensor flat_indices(const std::vector<Pixel>& pixels, FrameSize frame) {
  std::vector<int64_t> indices;
  for (const Pixel& pixel : pixels) indices.push_back(pixel.y * frame.width + pixel.x);
  return at::tensor(indices);
}

Seconds parse_seconds(const std::string& text, double most) {
  const std::vector<std::string_view> ends = split(text, '-');
  const std::optional<double> begin = number_in<double>(ends.front());
  const std::optional<double> end = number_in<double>(ends.back());
  if (ends.size() != 2 || !begin || !end || !(*begin >= 0.0) || !(*end > *begin)) {
    fail("--seconds: expected a beginning and an end such as 0.1-0.4, got '{}'", text);
  }
  if (*end > most) fail("--seconds {}: the clip lasts {:.2f} s", text, most);
  return {*begin, *end};
}

}  // namespace perceiver
