#include "cli/ranks.h"

#include <ATen/ATen.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
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

// What `work` fails with, as a line.
struct Failure {
  std::string message;
  Ranks::Blame blame = Ranks::Blame::kThisRank;
};

// Nothing: it does not fail.
std::optional<Failure> failure_of(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const ErrorOfAll& e) {
    return Failure{e.what(), Ranks::Blame::kAll};
  } catch (const Error& e) {
    return Failure{e.what()};
  } catch (const std::bad_alloc&) {
    return Failure{"out of memory"};
  } catch (const c10::Error& e) {
    return Failure{e.what_without_backtrace()};
  } catch (const std::exception& e) {
    return Failure{e.what()};
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

int64_t threads_of_rank(int64_t threads, const std::optional<Place>& place) {
  const bool chosen = std::getenv("OMP_NUM_THREADS") || std::getenv("MKL_NUM_THREADS");
  if (threads > 0 || !place || chosen) return threads;
  return std::max<int64_t>(1, available_processors() / place->local_size);
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
  const std::optional<Failure> failure = failure_of([&] { work(ranks.get()); });
  if (failure) end_with(ranks->report(failure->message, failure->blame), says);
}

void share_verb(const RankArgs& args, const std::vector<std::string>& inputs, RankOptions options,
                const std::function<void(Ranks* ranks)>& work) {
  const std::optional<Place> place = own_place(args);
  if ((place || args.ranks > 1) && std::ranges::find(inputs, "-") != inputs.end()) {
    fail("several processes cannot share the standard input; name files, or leave --ranks out");
  }
  if (start_ranks(args)) return;
  const RankDevice device = device_of_rank(options.device, place);
  if (place) {
    options.device = device.device.str();
    options.threads = threads_of_rank(options.threads, place);
    options.quiet = options.quiet || place->rank > 0;
  }
  // All but the program, which may lie elsewhere on another machine.
  const std::vector<std::string> words = own_words();
  const std::string same = fmt::format("{}", fmt::join(words.begin() + 1, words.end(), " "));
  as_rank(args, place, device, same, work);
}

}  // namespace perceiver
