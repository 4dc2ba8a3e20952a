#include "perceiver/ranks/shared_work.h"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <thread>

#include "perceiver/core/error.h"
#include "perceiver/ranks/ranks.h"

namespace perceiver {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kAhead = 16;  // pieces of a rank that are done and not taken, at most

class Sharing {
 public:
  Sharing(Ranks& ranks, const SharedWork& shared)
      : ranks_(ranks), shared_(shared), name_(fmt::format("shared/{}", ranks.next_number())) {}

  void run() {
    for (int64_t piece = ranks_.rank();; piece += ranks_.size()) {
      wait_for_room(piece);
      std::optional<std::string> result = shared_.work(piece);
      const bool was_last = !result;
      hand_over(piece, std::move(result));
      while (ranks_.is_first() && take_next()) {
      }
      if (was_last) break;
    }
    while (ranks_.is_first() && ends_ < ranks_.size()) take_or_wait();
  }

 private:
  std::string name_of(int64_t piece) const { return fmt::format("{}/{}", name_, piece); }
  std::string name_of_taken() const { return name_ + "/taken"; }

  // An end is an empty text, and what comes of a piece has a letter before it.
  void hand_over(int64_t piece, std::optional<std::string> result) {
    if (ranks_.is_first()) {
      own_[piece] = std::move(result);
    } else {
      ranks_.leave(name_of(piece), result ? "=" + *result : "");
    }
  }

  // -> whether the piece after those that are taken is done.
  bool take_next() {
    if (ends_ == ranks_.size()) return false;
    std::optional<std::string> result;
    if (taken_ % ranks_.size() == 0) {
      const auto found = own_.find(taken_);
      if (found == own_.end()) return false;
      result = std::move(found->second);
      own_.erase(found);
    } else {
      std::optional<std::string> text = ranks_.fetch(name_of(taken_));
      if (!text) return false;
      if (!text->empty()) result = text->substr(1);
    }
    if (result) {
      shared_.take(taken_, *result);
    } else {
      ++ends_;  // each rank comes to one
    }
    ++taken_;
    if (taken_ % ranks_.size() == 0) ranks_.leave(name_of_taken(), std::to_string(taken_));
    return true;
  }

  void take_or_wait() {
    if (take_next()) return;
    wait_for(taken_ % ranks_.size(), [&] { return ranks_.look(name_of(taken_)).has_value(); });
  }

  void wait_for_room(int64_t piece) {
    const int64_t furthest = piece - kAhead * ranks_.size();
    const auto has_come = [&] {
      const std::optional<std::string> text = ranks_.look(name_of_taken());
      if (text) taken_ = std::stoll(*text);
      return taken_ >= furthest;
    };
    while (taken_ < furthest) {
      if (ranks_.is_first()) {
        take_or_wait();
      } else if (!has_come()) {
        wait_for(0, has_come);
      }
    }
  }

  // A moment. Fails where that rank does not live any longer, which is asked now and then, unless
  // what is waited for has come in the meantime: a rank that is done ends.
  template <typename HasCome>
  void wait_for(int64_t rank, const HasCome& has_come) {
    std::this_thread::sleep_for(5ms);
    const auto now = Clock::now();
    if (std::exchange(waited_for_, rank) != rank) asked_at_ = now;
    if (now - asked_at_ < ranks_.patience()) return;
    try {
      ranks_.check_alive(rank);
    } catch (const Error&) {
      if (!has_come()) throw;
    }
    asked_at_ = Clock::now();
  }

  using Clock = std::chrono::steady_clock;

  Ranks& ranks_;
  const SharedWork& shared_;
  const std::string name_;
  std::map<int64_t, std::optional<std::string>> own_;  // of the first, not taken yet
  int64_t taken_ = 0, ends_ = 0, waited_for_ = -1;
  Clock::time_point asked_at_ = {};
};

}  // namespace

void share(Ranks* ranks, const SharedWork& shared) {
  if (ranks != nullptr) return Sharing(*ranks, shared).run();
  for (int64_t piece = 0;; ++piece) {
    const std::optional<std::string> result = shared.work(piece);
    if (!result) return;
    shared.take(piece, *result);
  }
}

}  // namespace perceiver
