#include "perceiver/serve/latents_store.h"

#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "perceiver/core/error.h"

namespace perceiver {
namespace {

int64_t bytes_of(const LatentsFile& file) {
  int64_t bytes = 0;
  for (const auto& [name, array] : file.arrays) bytes += static_cast<int64_t>(array.nbytes());
  return bytes;
}

}  // namespace

std::string new_id() {
  std::random_device chance;
  std::string id;
  for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", chance());
  return id;
}

LatentsStore::LatentsStore(int64_t most_bytes, double seconds,
                           std::function<Clock::time_point()> now)
    : most_bytes_(most_bytes), lifetime_(seconds), now_(std::move(now)) {}

std::shared_ptr<const KeptLatents> LatentsStore::keep(size_t model, LatentsFile file,
                                                      double seconds) {
  auto kept = std::make_shared<KeptLatents>();
  kept->id = new_id();
  kept->model = model;
  kept->bytes = bytes_of(file);
  kept->file = std::move(file);
  kept->file.name = "the latents";
  kept->seconds = seconds;
  if (kept->bytes > most_bytes_) {
    fail("the latents take {} bytes, the server keeps {} at most (--latents-mib)", kept->bytes,
         most_bytes_);
  }
  const std::lock_guard lock(mutex_);
  let_go_of_old();
  while (bytes_ + kept->bytes > most_bytes_) {
    erase(std::ranges::min_element(entries_, {},
                                   [](const auto& entry) { return entry.second.asked; }));
  }
  bytes_ += kept->bytes;
  entries_[kept->id] = {kept, now_()};
  return kept;
}

std::shared_ptr<const KeptLatents> LatentsStore::find(const std::string& id, bool ask) {
  const std::lock_guard lock(mutex_);
  let_go_of_old();
  const auto found = entries_.find(id);
  if (found == entries_.end()) return nullptr;
  if (ask) found->second.asked = now_();
  return found->second.kept;
}

double LatentsStore::seconds_left(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return 0.0;
  const std::chrono::duration<double> age = now_() - found->second.asked;
  return std::max(0.0, (lifetime_ - age).count());
}

bool LatentsStore::forget(const std::string& id) {
  const std::lock_guard lock(mutex_);
  let_go_of_old();
  const auto found = entries_.find(id);
  if (found == entries_.end()) return false;
  erase(found);
  return true;
}

int64_t LatentsStore::count() {
  const std::lock_guard lock(mutex_);
  let_go_of_old();
  return std::ssize(entries_);
}

int64_t LatentsStore::bytes() {
  const std::lock_guard lock(mutex_);
  let_go_of_old();
  return bytes_;
}

void LatentsStore::let_go_of_old() {
  const Clock::time_point now = now_();
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (now - entry->second.asked > lifetime_) erase(entry);
    entry = next;
  }
}

void LatentsStore::erase(std::map<std::string, Entry>::iterator entry) {
  bytes_ -= entry->second.kept->bytes;
  entries_.erase(entry);
}

}  // namespace perceiver
