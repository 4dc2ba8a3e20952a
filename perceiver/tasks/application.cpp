#include "perceiver/tasks/application.h"

#include <ATen/ATen.h>

#include "perceiver/core/error.h"
#include "perceiver/tasks/query.h"

namespace perceiver {

Tensor Application::classify(const Example&) { fail("models of this task have no classes"); }

std::vector<Tensor> Application::answer_tasks(const Example&, std::span<const int64_t>) {
  fail("models of this task answer no others");
}

Tensor Application::encode(const Example&) { fail("models of this task have no latents"); }

void Application::encode_files(std::span<const File> files, LatentsFile& file, const Hooks& hooks) {
  const Example inputs = read(files);
  const auto rows = static_cast<double>(inputs.begin()->second.size(0));
  hooks.begin("encode", attention_work(summary(Split::kEval), "encoder.") * rows);
  file.arrays = {{"latents", encode(inputs).to(at::kCPU, at::kFloat)}};
}

Answer Application::answer(const LatentsFile& file, const Query&, const std::vector<std::string>&) {
  fail("{}: latents of the task {} cannot be queried yet", file.name, file.task);
}

std::vector<InputView> Application::views(const Example&) const {
  fail("inputs of this task cannot be drawn yet");
}

}  // namespace perceiver
