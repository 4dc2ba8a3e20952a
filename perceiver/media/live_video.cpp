#include "perceiver/media/live_video.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "perceiver/core/error.h"
#include "perceiver/media/stream_reader.h"

namespace perceiver {

// How often a stream that is silent looks whether it is to stop.
constexpr std::chrono::milliseconds kLook{100};

// The reader's thread keeps the newest two.
struct LiveVideo::State {
  explicit State(const std::string& address) : reader(address) {
    read_one();
    if (!newest) fail("{}: ended before its first picture", address);
    height = newest->pixels.size(1);
    width = newest->pixels.size(2);
    thread = std::thread([this] { read(); });
  }
  ~State() {
    reader.stop();
    {
      const std::lock_guard lock(mutex);
      left = true;
    }
    changed.notify_all();
    if (thread.joinable()) thread.join();
  }

  // False at the end.
  bool read_one() {
    std::optional<Tensor> pixels = reader.next();
    if (!pixels) return false;
    std::unique_lock lock(mutex);
    if (const std::optional<double> due = reader.due()) {
      changed.wait_until(lock, start + std::chrono::duration<double>(*due), [&] { return left; });
    }
    before = std::move(newest);
    newest = Picture{before ? before->number + 1 : 1, std::move(*pixels)};
    lock.unlock();
    changed.notify_all();
    return true;
  }

  void read() {
    std::exception_ptr fault;
    try {
      while (read_one()) {
      }
    } catch (...) {
      fault = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    ended = true;
    error = fault;
    changed.notify_all();
  }

  // Waits for one that was not given, of which at least `number` came; nothing at the end.
  std::optional<std::unique_lock<std::mutex>> wait_for(int64_t number) {
    std::unique_lock lock(mutex);
    const auto is_there = [&] { return newest && newest->number > std::max(given, number - 1); };
    while (!changed.wait_for(lock, kLook, [&] { return is_there() || ended; })) {
      if (asked_to_stop && asked_to_stop()) return {};
    }
    if (is_there()) {
      given = newest->number;
      return lock;
    }
    if (error) std::rethrow_exception(error);
    return {};
  }

  StreamReader reader;
  const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Picture> before, newest;
  int64_t given = 0, height = 0, width = 0;
  bool left = false, ended = false;
  std::function<bool()> asked_to_stop;
  std::exception_ptr error;
  std::thread thread;
};

LiveVideo::LiveVideo(const std::string& address) : state_(std::make_unique<State>(address)) {}
LiveVideo::~LiveVideo() = default;
LiveVideo::LiveVideo(LiveVideo&&) noexcept = default;

void LiveVideo::stop_when(std::function<bool()> asked) { state_->asked_to_stop = std::move(asked); }

int64_t LiveVideo::height() const { return state_->height; }
int64_t LiveVideo::width() const { return state_->width; }
double LiveVideo::frames_per_second() const { return state_->reader.frames_per_second(); }

std::optional<LiveVideo::Picture> LiveVideo::next() {
  const auto lock = state_->wait_for(1);
  return lock ? state_->newest : std::nullopt;
}

std::optional<std::pair<LiveVideo::Picture, LiveVideo::Picture>> LiveVideo::next_pair() {
  const auto lock = state_->wait_for(2);
  if (!lock) return {};
  return std::pair(*state_->before, *state_->newest);
}

}  // namespace perceiver
