#include "perceiver/ranks/meeting.h"

#include <c10/util/Logging.h>
#include <fmt/format.h>

#include <sstream>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <vector>

#include "perceiver/core/error.h"
#include "perceiver/ranks/watch.h"

namespace perceiver {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

std::string seconds(std::chrono::milliseconds time) {
  return fmt::format("{:g} s", static_cast<double>(time.count()) / 1000.0);
}

std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

std::string text_at(c10d::Store& store, const std::string& key) {
  const std::vector<uint8_t> bytes = store.get(key);
  return {bytes.begin(), bytes.end()};
}

std::string greeting(int64_t rank) { return fmt::format("greeting/{}", rank); }

// The first line in which two texts differ: theirs and ours.
std::pair<std::string, std::string> first_difference(const std::string& theirs,
                                                     const std::string& ours) {
  std::istringstream a(theirs), b(ours);
  for (;;) {
    std::string line_a, line_b;
    const bool more_a = static_cast<bool>(std::getline(a, line_a));
    const bool more_b = static_cast<bool>(std::getline(b, line_b));
    if (line_a != line_b || more_a != more_b || !more_a) {
      return {more_a ? line_a : "nothing", more_b ? line_b : "nothing"};
    }
  }
}

// Waits until `ready` says so; throws what another rank ends with, and what `late` says in the end.
template <typename Ready, typename Late>
void wait_until(c10d::Store& store, int64_t rank, std::chrono::milliseconds patience,
                const Ready& ready, const Late& late) {
  const auto until = Clock::now() + patience;
  while (!ready()) {
    if (const std::string message = posted_error(store, rank); !message.empty())
      fail("{}", message);
    if (Clock::now() >= until) fail("{}", late());
    std::this_thread::sleep_for(20ms);
  }
}

}  // namespace

c10::intrusive_ptr<c10d::Store> open_store(const Place& place, std::chrono::milliseconds patience) {
  FLAGS_caffe2_log_level = c10::GLOG_FATAL;  // what goes wrong is said below, and once
  const bool is_server = place.rank == 0 && place.hosts_store;
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(place.port);
  options.isServer = is_server;
  options.waitWorkers = false;
  options.timeout = patience;
  try {
    auto store = c10::make_intrusive<c10d::TCPStore>(place.address, options);
    return c10::make_intrusive<c10d::PrefixStore>("perceiver/" + place.attempt, store);
  } catch (const std::exception& e) {
    if (is_server) {
      fail(
          "rank 0: cannot listen on port {}; set MASTER_PORT to a free one, the same for all ranks",
          place.port);
    }
    fail(
        "rank {}: {}:{} does not answer within {}; is rank 0 running, and does MASTER_ADDR name "
        "its machine?",
        place.rank, place.address, place.port, seconds(patience));
  }
}

void meet(c10d::Store& store, const Place& place, const RanksOptions& options) {
  store.set(greeting(place.rank), bytes_of(options.same));
  const auto wait_for = [&](const std::string& key, int64_t rank) {
    const auto absent = [&] {
      return fmt::format("rank {} of {} has not come within {}; were all started?", rank,
                         place.size, seconds(options.patience));
    };
    wait_until(
        store, place.rank, options.patience, [&] { return store.check({key}); }, absent);
  };
  wait_for(greeting(0), 0);
  const std::string first = text_at(store, greeting(0));
  if (first != options.same) {
    const auto [theirs, ours] = first_difference(first, options.same);
    const std::string message = fmt::format(
        "rank {} has '{}', rank 0 has '{}'; start all ranks with the same program, "
        "config and settings",
        place.rank, ours, theirs);
    post_error(store, place.rank, message);
    fail("{}", message);
  }
  const auto agrees = [](int64_t rank) { return fmt::format("agrees/{}", rank); };
  store.set(agrees(place.rank), bytes_of("1"));
  for (int64_t rank = 0; rank < place.size; ++rank) wait_for(agrees(rank), rank);
}

}  // namespace perceiver
