// Which rank is to blame when a run of several ends: each answers the others' roll call, whatever
// its own work, and hears of the error that another one ends with.
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace c10d {
class Store;
}

namespace perceiver {

class Watch {
 public:
  // Called once, by a thread of its own, when another rank has said why it ends.
  using OnError = std::function<void(const std::string& message)>;

  // The store must be this object's alone, or one that several threads may use at once.
  Watch(c10::intrusive_ptr<c10d::Store> store, int64_t rank, int64_t size, OnError on_error);
  ~Watch();
  Watch(const Watch&) = delete;

  // Before each operation of all ranks together: who has begun fewer is late.
  void count_operation() { ++operations_; }

  // Tells the others why this rank ends, unless another has told them before. -> what all are told
  std::string report(const std::string& message);

  // Why an operation of all ranks has failed, with the rank at fault; takes up to two seconds.
  // `what` is what the operation itself says.
  std::string reason(const std::string& what);

  // Why not to wait for a rank any longer: what another has said, or that this one has ended or
  // hangs; empty: it answers. Takes up to two seconds, too.
  std::string reason_not_to_wait(int64_t rank);

 private:
  void work();
  std::string told() const;  // by another rank; empty: nothing
  int64_t call_roll();       // -> its number
  // Of that roll call; empty: all are here, as far as this one.
  std::string absent_or_late(int64_t call);

  c10::intrusive_ptr<c10d::Store> store_;
  int64_t rank_, size_;
  OnError on_error_;
  std::atomic<int64_t> operations_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

// To end all: what a rank says, or whoever started it (as rank -1).
void post_error(c10d::Store& store, int64_t rank, const std::string& message);

constexpr int64_t kNobody = -2;  // no rank: to hear what anybody has posted

// What any but `rank` has posted; empty: nothing.
std::string posted_error(c10d::Store& store, int64_t rank);

}  // namespace perceiver
