#include "perceiver/data/loader.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>

#include "perceiver/core/error.h"

namespace perceiver {
namespace {

// What the streams of random numbers are for.
constexpr uint64_t kExample = 0, kOrder = 1, kBatch = 2, kInstead = 3;

std::vector<int64_t> order_of(uint64_t seed, int64_t epoch, int64_t size) {
  std::vector<int64_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  Rng rng(seed, epoch, 0, kOrder);
  for (int64_t i = size - 1; i > 0; --i) std::swap(order[i], order[rng.integer(i + 1)]);
  return order;
}

}  // namespace

Loader::Loader(const Dataset& dataset, const LoaderOptions& options)
    : dataset_(dataset),
      options_(options),
      shuffles_(options.shuffle && !dataset.orders_itself()),
      size_(dataset.size()),
      begun_(options.first * options.parts),
      handed_(begun_),
      end_(std::numeric_limits<int64_t>::max()),
      ahead_(2 * std::max<int64_t>(1, options.threads)) {
  if (size_ == 0) fail("there are no examples");
  if (options.examples >= 0) {
    const int64_t batches = (options.examples + options.batch - 1) / options.batch;
    end_ = options.whole_batches
               ? std::max<int64_t>(0, batches - options.rank + options.ranks - 1) / options.ranks
               : batches * options.parts;
  }
  // This thread's number of threads is settled before a worker says one for itself, which becomes
  // the default: once inside LibTorch, and once for what is compiled here from its headers.
  at::get_num_threads();
  at::internal::lazy_init_num_threads();
  for (int64_t i = 0; i < std::max<int64_t>(1, options.threads); ++i) {
    threads_.emplace_back([this] { work(); });
  }
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  room_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool Loader::done() const { return handed_ >= end_; }

Example Loader::next() {
  using namespace std::chrono_literals;
  TORCH_INTERNAL_ASSERT(!done());
  std::unique_lock lock(mutex_);
  const auto is_made = [&] { return ready_.contains(handed_) || failed_.contains(handed_); };
  while (!made_.wait_for(lock, 200ms, is_made)) {
    if (options_.waiting) options_.waiting();
  }
  if (failed_.contains(handed_)) std::rethrow_exception(failed_[handed_]);
  Example batch = std::move(ready_.extract(handed_++).mapped());
  room_.notify_all();
  return batch;
}

void Loader::work() {
  // Many examples at once make better use of cores than many threads on one.
  at::set_num_threads(1);
  for (;;) {
    int64_t number = 0;
    {
      std::unique_lock lock(mutex_);
      room_.wait(lock, [&] { return stopping_ || begun_ >= end_ || begun_ < handed_ + ahead_; });
      if (stopping_ || begun_ >= end_) return;
      number = begun_++;
    }
    Example batch;
    std::exception_ptr error;
    try {
      batch = make(number);
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    if (error) {
      failed_[number] = error;
    } else {
      ready_[number] = std::move(batch);
    }
    made_.notify_all();
  }
}

Loader::Span Loader::places_of(int64_t number) const {
  const bool whole = options_.whole_batches;
  const int64_t batch = whole ? number * options_.ranks + options_.rank : number / options_.parts;
  const int64_t begin = batch * options_.batch;
  int64_t end = begin + options_.batch;
  if (options_.examples >= 0) end = std::min(end, options_.examples);
  if (whole) return {begin, end, 1};
  const int64_t part = options_.rank + number % options_.parts * options_.ranks;
  return {begin + part, end, options_.parts * options_.ranks};
}

Example Loader::make(int64_t number) {
  const auto [first, end, every] = places_of(number);
  std::vector<Example> examples;
  for (int64_t place = first; place < end; place += every) {
    if (stopping_) return {};  // nobody waits for it
    if (std::optional<Example> example = get(place)) examples.push_back(std::move(*example));
  }
  if (examples.empty()) return {};
  Rng rng(options_.seed, first / size_, first % size_, kBatch);
  Example batch = dataset_.batch(examples, rng);
  if (options_.pinned) {
    for (auto& [name, tensor] : batch) tensor = tensor.pin_memory();
  }
  return batch;
}

std::optional<Example> Loader::get(int64_t place) {
  // A table may name more files than are here: of half that are missing, ten in a row are soon met.
  constexpr int kMostAttempts = 100;
  const int64_t epoch = place / size_;
  int64_t index = index_at(epoch, place % size_);
  Rng instead(options_.seed, epoch, index, kInstead);
  for (int attempt = 1;; ++attempt) {
    Rng rng(options_.seed, epoch, index, kExample);
    try {
      return dataset_.get(index, rng);
    } catch (const Error& e) {
      if (!options_.unreadable) throw;
      {
        const std::lock_guard lock(complaint_mutex_);
        options_.unreadable(e.what());
      }
      if (!options_.replace_unreadable) {
        ++left_out_;
        return {};
      }
      if (attempt == kMostAttempts)
        fail("{}; {} examples in a row cannot be read", e.what(), attempt);
    }
    index = dataset_.orders_itself() ? (index + 1) % size_ : instead.integer(size_);
  }
}

int64_t Loader::index_at(int64_t epoch, int64_t place) {
  if (!shuffles_) {
    const bool all = options_.examples < 0 || options_.examples >= size_;
    return all ? place : (2 * place + 1) * size_ / (2 * options_.examples);
  }
  const std::lock_guard lock(orders_mutex_);
  auto found = orders_.find(epoch);
  if (found == orders_.end()) {
    // Threads are at most `ahead_` batches apart; of a small dataset these may be many epochs.
    const int64_t spread = ahead_ * options_.batch / size_ + 1;
    orders_.erase(orders_.begin(), orders_.lower_bound(epoch - spread));
    found = orders_.emplace(epoch, order_of(options_.seed, epoch, size_)).first;
  }
  return found->second[place];
}

}  // namespace perceiver
