#include "perceiver/kernels/attention/attention.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>

#include "perceiver/core/error.h"
#include "perceiver/kernels/attention/attention_kernels.h"
#include "perceiver/kernels/attention/query_blocks.h"

namespace perceiver {
namespace {

std::string never_refuses(const AttentionCase&) { return ""; }

// Fastest first. The reference is last: it takes everything.
constexpr std::array kKernels = {
    AttentionKernel{"hopper", at::kCUDA, attend_hopper_refusal, attend_hopper},
    AttentionKernel{"resident", at::kCUDA, attend_resident_refusal, attend_resident},
    AttentionKernel{"narrow", at::kCUDA, attend_narrow_refusal, attend_narrow},
    AttentionKernel{"blocks", at::kCUDA, attend_blocks_refusal, attend_blocks},
    AttentionKernel{"library", at::kCUDA, attend_library_refusal, attend_library},
    AttentionKernel{"tiled", at::kCPU, attend_tiled_refusal, attend_tiled},
    AttentionKernel{"reference", {}, never_refuses, attend_reference},
};

AttentionCase case_of(const AttentionInputs& in) {
  return {.device = in.q.device(),
          .dtype = in.q.scalar_type(),
          .batch = in.q.size(0),
          .heads = in.q.size(1),
          .queries = in.q.size(2),
          .keys = in.k.size(2),
          .qk_channels = in.q.size(3),
          .v_channels = in.v.size(3),
          .masked = in.kv_mask.defined(),
          .dropout = in.dropout > 0.0,
          .needs_grad = at::GradMode::is_enabled() &&
                        (in.q.requires_grad() || in.k.requires_grad() || in.v.requires_grad())};
}

// How far two kernels may be apart, relative to the largest output: rounding, and no more.
double check_tolerance(at::ScalarType dtype) {
  if (dtype == at::kBFloat16) return 3e-2;
  return dtype == at::kHalf ? 4e-3 : 1e-4;
}

// Whether the pass goes on after the observer, where there is one, has seen this.
bool shown_to_observer(const AttentionInputs& in) {
  const Run& run = current_run();
  if (!run.observer) return true;
  if (!pass_is_over() && run.observer(in) == Observed::kEnough) run.seen_enough->store(true);
  return !pass_is_over();
}

// As much as an attention's result, without its memory.
Tensor nothing_seen(const AttentionInputs& in) {
  return in.v.new_zeros({}).expand({in.q.size(0), in.q.size(1), in.q.size(2), in.v.size(3)});
}

std::string known_kernels(std::optional<at::DeviceType> device) {
  std::string known = "auto, check";
  for (const AttentionKernel& kernel : kKernels) {
    if (!device || !kernel.device || kernel.device == device)
      known += fmt::format(", {}", kernel.name);
  }
  return known;
}

[[noreturn]] void fail_unknown(std::string_view name) {
  fail("unknown attention kernel '{}'; known: {}", name, known_kernels({}));
}

}  // namespace

AttentionKernel select_attention_kernel(const AttentionCase& c, std::string_view name) {
  std::string reasons;
  for (const AttentionKernel& kernel : kKernels) {
    if (name != "auto" && name != kernel.name) continue;
    const std::string refusal = kernel.refusal(c);
    if (refusal.empty()) return kernel;
    reasons += fmt::format("\n  {}: {}", kernel.name, refusal);
  }
  if (reasons.empty()) fail_unknown(name);
  fail("attention kernel '{}' cannot take batch {} x heads {}, {} queries, {} keys:{}", name,
       c.batch, c.heads, c.queries, c.keys, reasons);
}

void check_attention_kernel(std::string_view name, at::Device device) {
  if (name == "auto" || name == "check") return;
  const auto kernel = std::ranges::find(kKernels, name, &AttentionKernel::name);
  if (kernel == kKernels.end()) fail_unknown(name);
  if (!kernel->device || *kernel->device == device.type()) return;
  fail("attention kernel '{}' needs {}, the device is {}; known there: {}", name,
       *kernel->device == at::kCPU ? "the CPU" : "a GPU", device.str(),
       known_kernels(device.type()));
}

std::vector<std::string> attention_refusals(const AttentionCase& c) {
  std::vector<std::string> refusals;
  for (const AttentionKernel& kernel : kKernels) {
    const std::string refusal = kernel.refusal(c);
    if (refusal.empty()) break;
    refusals.push_back(fmt::format("{}: {}", kernel.name, refusal));
  }
  return refusals;
}

void check_attention(const AttentionInputs& in, const Tensor& out, std::string_view kernel) {
  const int64_t block = queries_of_block(kScoresOfLook, in.q.size(0) * in.q.size(1) * in.k.size(2));
  at::NoGradGuard no_grad;
  double difference = 0.0, largest = 1e-3;
  for_each_block(in.q.size(2), block, [&](int64_t begin, int64_t count) {
    AttentionInputs some = in;
    some.q = in.q.narrow(2, begin, count);
    const Tensor expected = attend_reference(some);
    const Tensor apart = (out.narrow(2, begin, count) - expected).abs().max();
    difference = std::max(difference, apart.isnan().item<bool>() ? INFINITY : apart.item<double>());
    largest = std::max(largest, expected.abs().max().item<double>());
  });
  const double allowed = check_tolerance(in.q.scalar_type()) * largest;
  if (difference > allowed) {
    fail(
        "attention kernel '{}' differs from the reference by {:.3g} (allowed {:.3g}) for q {}, "
        "k {}, v {}",
        kernel, difference, allowed, to_string(in.q.sizes()), to_string(in.k.sizes()),
        to_string(in.v.sizes()));
  }
}

Tensor attend(const AttentionInputs& in, std::string_view name) {
  if (!shown_to_observer(in)) return nothing_seen(in);
  // Dropped weights are drawn anew in each run, so there is nothing to compare.
  const bool check = name == "check" && in.dropout == 0.0;
  const AttentionCase c = case_of(in);
  const AttentionKernel kernel = select_attention_kernel(c, name == "check" ? "auto" : name);
  count_attention(c, kernel.name);
  const Tensor out = kernel.run(in);
  if (check) check_attention(in, out, kernel.name);
  return out;
}

Tensor attend(const AttentionInputs& in) { return attend(in, current_run().kernel); }

bool attention_must_be_plain() {
  const Run& run = current_run();
  return run.observer || (run.kernel != "auto" && run.kernel != "check");
}

bool attention_is_checked() { return current_run().kernel == "check"; }

void count_attention(const AttentionCase& c, std::string_view kernel) {
  const Run& run = current_run();
  if (run.counter) run.counter(c, kernel);
}

std::vector<CountedAttention> attentions_of(const std::function<void()>& pass) {
  std::vector<CountedAttention> counted;
  const AttentionCounter counter([&](const AttentionCase& c, std::string_view kernel) {
    counted.push_back({c, std::string(kernel)});
  });
  pass();
  return counted;
}

void count_attentions(const std::vector<CountedAttention>& attentions) {
  for (const CountedAttention& a : attentions) count_attention(a.attention, a.kernel);
}

}  // namespace perceiver
