#include "cli/ranks.h"

#include <ATen/ATen.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdlib>
#include <new>

#include "cli/checks.h"
#include "cli/run_record.h"
#include "cli/session.h"
#include "perceiver/core/error.h"
#include "perceiver/core/interrupt.h"
#include "perceiver/core/processors.h"
#include "perceiver/ranks/launch.h"

namespace perceiver {
namespace {

// Says why this program ends, unless another thread is at it already or who has started it does.
[[noreturn]] void end_with(const std::string& message, bool says) {
  static std::atomic<bool> ending = false;
  if (ending.exchange(true)) {
    for (;;) pause();
  }
  if (says) fmt::print(stderr, "perceiver: {}\n", message);
  exit_at_once(1);
}

// What `work` fails with, as a line; nothing: it does not.
std::optional<std::string> failure_of(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const Error& e) {
    return e.what();
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const c10::Error& e) {
    return e.what_without_backtrace();
  } catch (const std::exception& e) {
    return e.what();
  }
}

int64_t num_gpus() { return at::hasCUDA() ? at::detail::getCUDAHooks().deviceCount() : 0; }

}  // namespace

void add_rank_options(CLI::App& command, RankArgs& args) {
  command
      .add_option("--ranks", args.ranks,
                  "Number of processes on this machine that share the work: each has a GPU, or the "
                  "cores are shared out; not under torchrun, mpirun or srun, which say it "
                  "themselves")
      ->check(whole_number(1, 1024));
  command
      .add_option("--rank-timeout", args.timeout,
                  "Seconds that a process waits for another one before all end")
      ->capture_default_str()
      ->check(whole_number(1, 1'000'000));
}

std::optional<Place> own_place(const RankArgs& args) {
  const std::optional<Place> place = place_in_environment();
  if (place && args.ranks > 0 && place->launcher != kOwnLauncher && args.ranks != place->size) {
    fail("--ranks is {}, and {} has started {}; leave --ranks out", args.ranks, place->launcher,
         place->size);
  }
  return place;
}

bool is_launched_here() {
  const std::optional<Place> place = place_in_environment();
  return place && place->launcher == kOwnLauncher;
}

bool start_ranks(const RankArgs& args) {
  if (args.ranks < 2 || own_place(args)) return false;
  int signal = 0;
  {
    const StopOnInterrupt interrupt;
    LaunchOptions options{.words = own_words(), .size = args.ranks};
    options.words.at(0) = "/proc/self/exe";
    options.stop = [&] { return interrupt.signal(); };
    signal = launch_ranks(options);
  }
  if (signal != 0) std::exit(128 + signal);
  return true;
}

RankDevice device_of_rank(const std::string& argument, const std::optional<Place>& place) {
  const at::Device device = device_argument(argument);
  const bool is_named = argument.starts_with("cuda:");
  if (!place || device.is_cpu() || is_named) return {device, !place || place->local_size == 1};
  const auto index = static_cast<c10::DeviceIndex>(place->local_rank % num_gpus());
  return {{at::kCUDA, index}, place->local_size <= num_gpus()};
}

void use_rank_threads(int64_t threads, const std::optional<Place>& place) {
  const bool chosen = std::getenv("OMP_NUM_THREADS") || std::getenv("MKL_NUM_THREADS");
  if (threads == 0 && place && !chosen) {
    threads = std::max<int64_t>(1, available_processors() / place->local_size);
  }
  use_threads(threads);
}

void as_rank(const RankArgs& args, const std::optional<Place>& place, const RankDevice& device,
             const std::string& same, const std::function<void(Ranks* ranks)>& work) {
  if (!place) return work(nullptr);
  const bool says = place->launcher != kOwnLauncher;
  const std::unique_ptr<Ranks> ranks =
      Ranks::join(*place, {.patience = std::chrono::seconds(args.timeout),
                           .device = device.device,
                           .own_device = device.own,
                           .same = fmt::format("perceiver {}\n{}", PERCEIVER_VERSION, same),
                           .on_error = [=](const std::string& why) { end_with(why, says); }});
  const std::optional<std::string> failure = failure_of([&] { work(ranks.get()); });
  if (failure) end_with(ranks->report(*failure), says);
}

}  // namespace perceiver
