// Batches of a dataset, made by threads ahead of whoever trains on them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "perceiver/data/dataset.h"

namespace perceiver {

struct LoaderOptions {
  int64_t batch = 1;  // examples, of all processes together
  // Of `ranks` processes that share each batch, this is number `rank`: it has elements rank,
  // rank + ranks, … of every one, which next() gives in so many parts. Part p of all P parts of all
  // processes has elements p, p + P, …, and process r parts r, r + ranks, …. Where a batch is
  // smaller than P, some have no arrays.
  int64_t rank = 0, ranks = 1, parts = 1;
  // In place of that it has batches rank, rank + ranks, … whole, each in one part, from the first.
  bool whole_batches = false;
  uint64_t seed = 0;
  bool shuffle = true;  // each epoch in an order of its own; a dataset may have its own
  int64_t threads = 1;
  int64_t first = 0;  // the number of the first batch: where a run that is resumed goes on
  // How many in all; without: epoch follows epoch. Where they end in the middle of a batch the last
  // one is smaller. Fewer than there are, unshuffled, are spread evenly over all: examples often
  // lie class after class.
  int64_t examples = -1;
  bool pinned = false;  // batches in memory that a GPU copies from on its own
  // Called while next() waits, some times a second; what it throws, next() throws.
  std::function<void()> waiting = {};
  // Told of each example that cannot be read. May be called by any thread, one at a time. Without:
  // the error is next()'s.
  std::function<void(const std::string& message)> unreadable = {};
  // What becomes of such an example: another is taken in its place (any, or the next where a
  // dataset orders itself), which keeps batches full, or its batch is smaller (without any arrays
  // where nothing is left), which measures no other twice.
  bool replace_unreadable = true;
};

// The examples of all epochs stand in one row, example g of epoch g / size at a place that the
// epoch's order gives it. Batch k is always examples k * batch and on, so a batch depends on its
// number alone: not on threads, nor on where loading began, nor on how many processes share it.
class Loader {
 public:
  Loader(const Dataset& dataset, const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;

  bool done() const;  // no more batches
  Example next();     // the next part, waited for; an error of the dataset is thrown here
  int64_t left_out() const { return left_out_; }  // examples, of all batches made so far

 private:
  void work();
  struct Span {
    int64_t begin, end, every;
  };
  Span places_of(int64_t number) const;  // of the examples of a part
  Example make(int64_t number);
  std::optional<Example> get(int64_t place);  // nothing: left out
  int64_t index_at(int64_t epoch, int64_t place);

  const Dataset& dataset_;
  LoaderOptions options_;
  bool shuffles_;
  int64_t size_;
  int64_t begun_, handed_, end_;  // parts of this process, counted from the first batch
  int64_t ahead_;  // parts begun and not handed out: for each thread one in work and one ready

  std::mutex mutex_;
  std::condition_variable made_, room_;
  std::map<int64_t, Example> ready_;
  std::map<int64_t, std::exception_ptr> failed_;
  std::atomic<bool> stopping_ = false;  // changes under the mutex
  std::atomic<int64_t> left_out_ = 0;

  std::mutex orders_mutex_, complaint_mutex_;
  std::map<int64_t, std::vector<int64_t>> orders_;  // of the epochs being read
  std::vector<std::thread> threads_;
};

}  // namespace perceiver
