#include "perceiver/serve/reading.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <semaphore>

#include "perceiver/core/processors.h"

namespace perceiver {
namespace {

// Decoded pictures are many times as large as their files: as many at a time as there are
// processors, whatever the number of requests.
Example read_few_at_a_time(const Application& task, std::span<const File> files) {
  static std::counting_semaphore<> places(available_processors());
  struct Place {
    Place() { places.acquire(); }
    ~Place() { places.release(); }
  } const place;
  return task.read(files);
}

}  // namespace

int64_t num_tokens(const Example& inputs) {
  const auto mask = inputs.find("mask");
  return mask == inputs.end() ? 0 : mask->second.sum().item<int64_t>();
}

Work work_of_files(ServedModel& served, std::span<const File> files, const std::string& kind,
                   const PassOf& pass) {
  Application& task = application_of(served.model);
  Example inputs = read_few_at_a_time(task, files);
  const auto forward = pass(task);
  return {.model = served,
          .pass =
              [forward](Model&, const Example& x) {
                return Example{{kOutput, forward(x)}};
              },
          .kind = fmt::format("{} {}", kind, num_tokens(inputs)),
          .inputs = std::move(inputs)};
}

}  // namespace perceiver
