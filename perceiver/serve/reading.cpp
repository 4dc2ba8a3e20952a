#include "perceiver/serve/reading.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <semaphore>

#include "perceiver/core/processors.h"

namespace perceiver {
namespace {

std::counting_semaphore<>& places() {
  static std::counting_semaphore<> all(available_processors());
  return all;
}

}  // namespace

ReadingPlace::ReadingPlace() { places().acquire(); }
ReadingPlace::~ReadingPlace() { places().release(); }

int64_t num_tokens(const Example& inputs) {
  const auto mask = inputs.find("mask");
  return mask == inputs.end() ? 0 : mask->second.sum().item<int64_t>();
}

Work work_of_files(ServedModel& served, std::span<const File> files, const std::string& kind,
                   const PassOf& pass) {
  Application& task = application_of(served.model);
  Example inputs;
  {
    const ReadingPlace place;
    inputs = task.read(files);
  }
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
