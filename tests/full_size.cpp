// full_size CONFIG MOST_GIB: a forward pass of one example at the paper's size, with random
// weights. Fails unless the outputs are finite and of the promised shape, and peak memory stays
// under the limit and what was planned. A program, not a test case: peak memory belongs to a
// process.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "perceiver/core/error.h"
#include "perceiver/core/memory.h"
#include "perceiver/model/memory_plan.h"
#include "perceiver/tasks/task.h"

using perceiver::Tensor;

static double gib(int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  const double most = std::atof(argv[2]);
  at::NoGradGuard no_grad;
  const auto task = perceiver::make_task(perceiver::read_file(argv[1]));
  task->model().eval();
  perceiver::reset_peak_memory(at::kCPU);  // what drawing the weights took
  const auto start = std::chrono::steady_clock::now();
  const Tensor outputs = task->forward_random(1, perceiver::Split::kEval);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  const double peak = gib(perceiver::peak_memory(at::kCPU));

  bool finite = true;  // a part at a time: the check itself must not set the peak
  for (const Tensor& part : outputs.split(16384, 1)) finite &= part.isfinite().all().item<bool>();

  const std::string shape = perceiver::to_string(outputs.sizes());
  const perceiver::ModelSummary summary = task->summary(perceiver::Split::kEval);
  const perceiver::ArraySize promised = summary.outputs;
  const double planned = gib(perceiver::plan_memory(summary, {}, /*slice=*/16384).peak());
  fmt::print("{}: outputs {}, {:.1f} s, peak {:.2f} GiB, planned {:.2f}\n", argv[1], shape,
             seconds.count(), peak, planned);
  if (!finite) return fmt::print("not finite\n"), 1;
  // Values of outputs of several kinds are one of each at least.
  const bool all =
      outputs.dim() == 3 ? outputs.size(1) == promised.index : outputs.size(1) > promised.index;
  if (outputs.size(0) != 1 || !all) return fmt::print("wrong number of outputs\n"), 1;
  if (peak > most) return fmt::print("more than {} GiB\n", most), 1;
  // The plan is of what `perceiver bench` measures over several passes
  // (bench/results/memory_cpu.md); the first one leaves less behind.
  if (peak > 1.2 * planned) return fmt::print("more than planned\n"), 1;
  return 0;
}
