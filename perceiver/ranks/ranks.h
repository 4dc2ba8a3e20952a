// Several processes, or threads, that compute one thing together: sums of tensors over all of them,
// and what else they must agree on. The engines are those of LibTorch's c10d: Gloo, and NCCL where
// each has a GPU to itself.
//
// Every function but those that only read is called by all ranks, in the same order. A rank that
// ends, or does not come within the patience, is an Error of the others that names it.
#pragma once

#include <c10/core/Device.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "perceiver/core/tensor.h"
#include "perceiver/ranks/environment.h"

namespace c10d {
class Store;
}

namespace perceiver {

constexpr std::chrono::minutes kRankPatience{10};

struct RanksOptions {
  std::chrono::milliseconds patience = kRankPatience;  // with which a rank waits for the others
  at::Device device = at::kCPU;                        // of the tensors that are summed
  bool own_device = false;                             // no other rank uses it: NCCL may be taken
  std::string same = {};  // what must be the same on all: lines of a config, a version
  // Called by another thread when a rank has said why it ends, while this one may be computing.
  std::function<void(const std::string& message)> on_error = {};
};

class Ranks {
 public:
  // As one of those that a launcher has started. Fails where the others do not come, or come with
  // something else that must be the same.
  static std::unique_ptr<Ranks> join(const Place& place, const RanksOptions& options);

  // As one of those that share a store: threads of a test.
  Ranks(const c10::intrusive_ptr<c10d::Store>& store, const Place& place,
        const RanksOptions& options);
  ~Ranks();
  Ranks(const Ranks&) = delete;

  int64_t rank() const { return place_.rank; }
  int64_t size() const { return place_.size; }
  int64_t local_size() const { return place_.local_size; }  // on this machine
  bool is_first() const { return place_.rank == 0; }

  // Whether sums of tensors of the GPU may be recorded in a CUDA graph.
  bool sums_are_recordable() const;

  // Each tensor becomes the sum of all ranks'; on every rank the same bits.
  void sum(const std::vector<Tensor>& tensors);

  // The same of one contiguous tensor, while this rank computes on. The tensor is kept until then.
  class Pending {
   public:
    ~Pending();
    Pending(Pending&&) noexcept;
    void wait();

   private:
    friend class Ranks;
    struct Work;
    explicit Pending(std::unique_ptr<Work> work);
    std::unique_ptr<Work> work_;
  };
  Pending begin_sum(const Tensor& tensor);

  // Each tensor becomes that of rank `from`.
  void broadcast(const std::vector<Tensor>& tensors, int64_t from = 0);

  int64_t most(int64_t value);   // of all ranks' values
  bool all_have(int64_t value);  // whether these are the same

  // Text of every rank, by rank, on rank 0; nothing on the others.
  std::vector<std::string> gather(const std::string& text);

  // What follows needs no other rank to call anything.

  // Text for another rank, under a name of its own. It looks for it, or fetches it away: nothing,
  // it is not there yet.
  void leave(const std::string& name, const std::string& text);
  std::optional<std::string> look(const std::string& name);
  std::optional<std::string> fetch(const std::string& name);

  // 0, 1, …: the same on all ranks where they ask equally often.
  int64_t next_number() { return next_number_++; }

  // Fails where there is no sense in waiting for a rank: it has ended, or hangs.
  void check_alive(int64_t rank);
  std::chrono::milliseconds patience() const { return patience_; }

  // Tells the others why this rank ends, by its name or, where all of them are meant, without. ->
  // why all do: what has been told first, by whomever
  enum class Blame { kThisRank, kAll };
  std::string report(const std::string& message, Blame blame = Blame::kThisRank);

 private:
  struct Engine;
  template <typename Operation>
  auto together(const Operation& operation);
  template <typename Operation>
  auto blaming(const Operation& operation);
  void begin(const c10::intrusive_ptr<c10d::Store>& store,
             const c10::intrusive_ptr<c10d::Store>& watched, const RanksOptions& options);

  explicit Ranks(const Place& place);

  Place place_;
  std::chrono::milliseconds patience_ = kRankPatience;
  int64_t next_number_ = 0;
  std::unique_ptr<Engine> engine_;
};

}  // namespace perceiver
