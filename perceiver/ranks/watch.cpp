#include "perceiver/ranks/watch.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

namespace perceiver {
namespace {

using namespace std::chrono_literals;

constexpr const char *kError = "error", *kRollCall = "roll_call";
constexpr auto kPause = 200ms;  // between two looks at the store
constexpr auto kTimeToAnswer = 2s;

std::string here(int64_t call, int64_t rank) { return fmt::format("here/{}/{}", call, rank); }

std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

std::string text_at(c10d::Store& store, const std::string& key) {
  const std::vector<uint8_t> bytes = store.get(key);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

// The first one counts: what follows from it would only hide it.
void post_error(c10d::Store& store, int64_t rank, const std::string& message) {
  store.compareSet(kError, {}, bytes_of(fmt::format("{}\n{}", rank, message)));
}

std::string posted_error(c10d::Store& store, int64_t rank) {
  if (!store.check({kError})) return "";
  const std::string text = text_at(store, kError);
  const size_t end = text.find('\n');
  return text.substr(0, end) == std::to_string(rank) ? "" : text.substr(end + 1);
}

Watch::Watch(c10::intrusive_ptr<c10d::Store> store, int64_t rank, int64_t size, OnError on_error)
    : store_(std::move(store)),
      rank_(rank),
      size_(size),
      on_error_(std::move(on_error)),
      thread_([this] { work(); }) {}

Watch::~Watch() {
  stopping_ = true;
  thread_.join();
}

void Watch::work() {
  try {
    for (int64_t answered = 0; !stopping_; std::this_thread::sleep_for(kPause)) {
      if (const std::string message = told(); !message.empty()) {
        if (on_error_) on_error_(message);
        return;
      }
      if (!store_->check({kRollCall})) continue;
      for (const int64_t calls = store_->add(kRollCall, 0); answered < calls;) {
        store_->set(here(++answered, rank_), bytes_of(std::to_string(operations_)));
      }
    }
  } catch (const std::exception&) {  // the store is gone, with rank 0: the next operation says so
  }
}

std::string Watch::told() const { return posted_error(*store_, rank_); }

std::string Watch::report(const std::string& message) {
  try {
    post_error(*store_, rank_, message);
    return posted_error(*store_, kNobody);
  } catch (const std::exception&) {  // there is nobody left to tell
    return message;
  }
}

int64_t Watch::call_roll() { return store_->add(kRollCall, 1); }

std::string Watch::absent_or_late(int64_t call) {
  std::string absent, late;
  for (int64_t rank = 0; rank < size_; ++rank) {
    if (rank == rank_) continue;
    const bool is_here = store_->check({here(call, rank)});
    if (is_here && std::stoll(text_at(*store_, here(call, rank))) >= operations_) continue;
    std::string& names = is_here ? late : absent;
    names += fmt::format("{}rank {}", names.empty() ? "" : ", ", rank);
  }
  if (!absent.empty()) return absent + " has ended without a word";
  if (!late.empty()) return late + " has not come to where the others wait";
  return "";
}

// What one finds out it tells the others: they may be waiting for a rank that has failed in its
// turn.
std::string Watch::reason(const std::string& what) {
  try {
    const int64_t call = call_roll();
    const auto until = std::chrono::steady_clock::now() + kTimeToAnswer;
    while (std::chrono::steady_clock::now() < until) {
      if (const std::string message = told(); !message.empty()) return message;
      std::this_thread::sleep_for(kPause / 4);
    }
    const std::string blamed = absent_or_late(call);
    const std::string message = blamed.empty() ? fmt::format("rank {}: {}", rank_, what) : blamed;
    return report(message);
  } catch (const std::exception&) {
    return "rank 0 has ended without a word";  // with the store
  }
}

std::string Watch::reason_not_to_wait(int64_t rank) {
  try {
    const int64_t call = call_roll();
    const auto until = std::chrono::steady_clock::now() + kTimeToAnswer;
    while (std::chrono::steady_clock::now() < until) {
      if (const std::string message = told(); !message.empty()) return message;
      if (store_->check({here(call, rank)})) return "";
      std::this_thread::sleep_for(kPause / 4);
    }
    return fmt::format("rank {} has ended without a word", rank);
  } catch (const std::exception&) {
    return "rank 0 has ended without a word";  // with the store
  }
}

}  // namespace perceiver
