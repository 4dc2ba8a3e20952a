#include "perceiver/ranks/ranks.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <torch/csrc/utils/tensor_flatten.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <utility>

#include "perceiver/core/error.h"
#include "perceiver/ranks/backends.h"
#include "perceiver/ranks/meeting.h"
#include "perceiver/ranks/watch.h"

namespace perceiver {
namespace {

using BackendPtr = c10::intrusive_ptr<c10d::Backend>;

// Tensors of one device and type can be sent as one.
std::vector<std::vector<Tensor>> alike(const std::vector<Tensor>& tensors) {
  std::map<std::pair<at::DeviceType, at::ScalarType>, std::vector<Tensor>> groups;
  for (const Tensor& t : tensors) groups[{t.device().type(), t.scalar_type()}].push_back(t);
  std::vector<std::vector<Tensor>> all;
  for (auto& [key, group] : groups) all.push_back(std::move(group));
  return all;
}

// What `operation` does to one tensor, done to several at once.
void as_one(const std::vector<Tensor>& tensors,
            const std::function<void(const Tensor& flat)>& operation) {
  if (tensors.size() == 1 && tensors[0].is_contiguous()) return operation(tensors[0]);
  const Tensor flat = torch::utils::flatten_dense_tensors(tensors);
  operation(flat);
  at::_foreach_copy_(tensors, torch::utils::unflatten_dense_tensors(flat, tensors));
}

}  // namespace

struct Ranks::Engine {
  c10::intrusive_ptr<c10d::Store> store;
  BackendPtr gloo, nccl;
  Watch watch;

  const BackendPtr& of(const Tensor& tensor) const {
    return tensor.is_cuda() && nccl ? nccl : gloo;
  }
};

struct Ranks::Pending::Work {
  Engine& engine;
  Tensor tensor;
  c10::intrusive_ptr<c10d::Work> work;
};

// c10d throws what it likes; whatever it is, a rank is to blame for it.
template <typename Operation>
auto Ranks::together(const Operation& operation) {
  engine_->watch.count_operation();
  at::NoGradGuard no_grad;
  return blaming(operation);
}

template <typename Operation>
auto Ranks::blaming(const Operation& operation) {
  try {
    return operation();
  } catch (const std::exception& e) {
    fail("{}", engine_->watch.reason(e.what()));
  }
}

Ranks::Ranks(const c10::intrusive_ptr<c10d::Store>& store, const Place& place,
             const RanksOptions& options)
    : place_(place) {
  begin(store, store, options);
}

Ranks::Ranks(const Place& place) : place_(place) {}

Ranks::~Ranks() = default;

std::unique_ptr<Ranks> Ranks::join(const Place& place, const RanksOptions& options) {
  const auto store = open_store(place, options.patience);
  // The watch waits for nobody, so that it asks by a connection of its own.
  Place guest = place;
  guest.hosts_store = false;
  const auto watched = open_store(guest, options.patience);
  std::unique_ptr<Ranks> ranks(new Ranks(place));
  ranks->begin(store, watched, options);
  return ranks;
}

void Ranks::begin(const c10::intrusive_ptr<c10d::Store>& store,
                  const c10::intrusive_ptr<c10d::Store>& watched, const RanksOptions& options) {
  meet(*store, place_, options);
  patience_ = options.patience;
  const auto part = [&](const char* name) -> c10::intrusive_ptr<c10d::Store> {
    return c10::make_intrusive<c10d::PrefixStore>(name, store);
  };
  const bool same_machine = place_.local_size == place_.size;
  BackendPlace at{part("gloo"), place_.rank, place_.size, options.patience};
  const BackendPtr gloo = gloo_backend(at, same_machine ? "127.0.0.1" : "");
  at.store = part("nccl");
  const bool takes_nccl = options.device.is_cuda() && options.own_device;
  const BackendPtr nccl = takes_nccl ? nccl_backend(at) : BackendPtr();
  engine_.reset(
      new Engine{part("text"), gloo, nccl, {watched, place_.rank, place_.size, options.on_error}});
}

bool Ranks::sums_are_recordable() const { return engine_->nccl.defined(); }

void Ranks::sum(const std::vector<Tensor>& tensors) {
  if (tensors.empty()) return;
  together([&] {
    for (std::vector<Tensor>& group : alike(tensors)) {
      const BackendPtr& backend = engine_->of(group[0]);
      const bool all_lie =
          std::ranges::all_of(group, [](const Tensor& t) { return t.is_contiguous(); });
      if (backend == engine_->nccl && all_lie) {  // takes each where it lies, all in one launch
        backend->allreduce_coalesced(group)->wait();
        continue;
      }
      as_one(group, [&](const Tensor& flat) {
        std::vector<Tensor> one = {flat};
        backend->allreduce(one)->wait();
      });
    }
  });
}

Ranks::Pending::Pending(std::unique_ptr<Work> work) : work_(std::move(work)) {}
Ranks::Pending::Pending(Pending&&) noexcept = default;
Ranks::Pending::~Pending() = default;

void Ranks::Pending::wait() {
  try {
    work_->work->wait();
  } catch (const std::exception& e) {
    fail("{}", work_->engine.watch.reason(e.what()));
  }
}

Ranks::Pending Ranks::begin_sum(const Tensor& tensor) {
  return together([&] {
    std::vector<Tensor> one = {tensor};
    return Pending(std::make_unique<Pending::Work>(
        Pending::Work{*engine_, tensor, engine_->of(tensor)->allreduce(one)}));
  });
}

void Ranks::broadcast(const std::vector<Tensor>& tensors, int64_t from) {
  if (tensors.empty()) return;
  together([&] {
    for (const std::vector<Tensor>& group : alike(tensors)) {
      as_one(group, [&](const Tensor& flat) {
        std::vector<Tensor> one = {flat};
        c10d::BroadcastOptions options;
        options.rootRank = from;
        engine_->of(flat)->broadcast(one, options)->wait();
      });
    }
  });
}

int64_t Ranks::most(int64_t value) {
  return together([&] {
    std::vector<Tensor> one = {at::full({1}, value, at::kLong)};
    c10d::AllreduceOptions options;
    options.reduceOp = c10d::ReduceOp::MAX;
    engine_->gloo->allreduce(one, options)->wait();
    return one[0].item<int64_t>();
  });
}

bool Ranks::all_have(int64_t value) {
  return together([&] {
    std::vector<Tensor> one = {at::tensor({value, -value}, at::kLong)};
    c10d::AllreduceOptions options;
    options.reduceOp = c10d::ReduceOp::MAX;
    engine_->gloo->allreduce(one, options)->wait();
    return one[0][0].item<int64_t>() == -one[0][1].item<int64_t>();
  });
}

// Texts of different lengths are sent as long as the longest is.
std::vector<std::string> Ranks::gather(const std::string& text) {
  const auto length = static_cast<int64_t>(text.size());
  const int64_t longest = most(length);
  return together([&] {
    Tensor sent = at::zeros({longest + 8}, at::kByte);
    std::memcpy(sent.data_ptr(), &length, sizeof(length));
    std::memcpy(static_cast<char*>(sent.data_ptr()) + 8, text.data(), text.size());
    std::vector<Tensor> in = {sent};
    std::vector<std::vector<Tensor>> out;
    if (is_first()) out.resize(1);
    for (int64_t i = 0; is_first() && i < size(); ++i) out[0].push_back(at::empty_like(sent));
    engine_->gloo->gather(out, in)->wait();
    std::vector<std::string> texts;
    for (int64_t i = 0; is_first() && i < size(); ++i) {
      int64_t theirs = 0;
      std::memcpy(&theirs, out[0][i].data_ptr(), sizeof(theirs));
      texts.emplace_back(static_cast<const char*>(out[0][i].data_ptr()) + 8, theirs);
    }
    return texts;
  });
}

// The server of a store takes 8 MiB at most at once.
constexpr size_t kTextPart = 4 << 20;

void Ranks::leave(const std::string& name, const std::string& text) {
  blaming([&] {
    const size_t parts = (text.size() + kTextPart - 1) / kTextPart;
    for (size_t i = 0; i < parts; ++i) {
      engine_->store->set(fmt::format("{}/{}", name, i), text.substr(i * kTextPart, kTextPart));
    }
    engine_->store->set(name, std::to_string(parts));
  });
}

std::optional<std::string> Ranks::look(const std::string& name) {
  return blaming([&]() -> std::optional<std::string> {
    if (!engine_->store->check({name})) return {};
    const int64_t parts = std::stoll(engine_->store->get_to_str(name));
    std::string text;
    for (int64_t i = 0; i < parts; ++i) {
      text += engine_->store->get_to_str(fmt::format("{}/{}", name, i));
    }
    return text;
  });
}

std::optional<std::string> Ranks::fetch(const std::string& name) {
  std::optional<std::string> text = look(name);
  if (!text) return {};
  blaming([&] {
    for (size_t i = 0; i * kTextPart < text->size(); ++i) {
      engine_->store->deleteKey(fmt::format("{}/{}", name, i));
    }
    engine_->store->deleteKey(name);
  });
  return text;
}

void Ranks::check_alive(int64_t rank) {
  const std::string reason = engine_->watch.reason_not_to_wait(rank);
  if (!reason.empty()) fail("{}", reason);
}

std::string Ranks::report(const std::string& message, Blame blame) {
  const bool names = blame == Blame::kThisRank;
  return engine_->watch.report(names ? fmt::format("rank {}: {}", rank(), message) : message);
}

}  // namespace perceiver
