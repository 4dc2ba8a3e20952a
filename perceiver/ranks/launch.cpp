#include "perceiver/ranks/launch.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "perceiver/core/child_process.h"
#include "perceiver/core/error.h"
#include "perceiver/ranks/environment.h"
#include "perceiver/ranks/watch.h"

namespace perceiver {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

std::vector<std::string> variables_of(int64_t rank, int64_t size, int64_t port) {
  return {fmt::format("RANK={}", rank),
          fmt::format("WORLD_SIZE={}", size),
          fmt::format("LOCAL_RANK={}", rank),
          fmt::format("LOCAL_WORLD_SIZE={}", size),
          "MASTER_ADDR=127.0.0.1",
          fmt::format("MASTER_PORT={}", port),
          "TORCHELASTIC_USE_AGENT_STORE=True",
          "TORCHELASTIC_RESTART_COUNT=0",
          "PERCEIVER_LAUNCHED=1"};
}

std::string how_it_ended(int64_t rank, int code) {
  if (code == 128 + SIGKILL) {
    return fmt::format("rank {} was killed, as the system does when memory runs out", rank);
  }
  if (code > 128) return fmt::format("rank {} was ended by signal {}", rank, code - 128);
  return fmt::format("rank {} ended with code {}", rank, code);
}

class Launched {
 public:
  explicit Launched(const LaunchOptions& options) : options_(options) {
    c10d::TCPStoreOptions store;
    store.port = 0;  // any that is free
    store.isServer = true;
    store.waitWorkers = false;
    server_ = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", store);
    store_ = c10::make_intrusive<c10d::PrefixStore>("perceiver/0", server_);
    for (int64_t rank = 0; rank < options.size; ++rank) {
      const ChildProcess::Variables variables{variables_of(rank, options.size, server_->getPort())};
      processes_.push_back(std::make_unique<ChildProcess>(options.words, variables));
    }
  }

  int wait() {
    for (bool running = true; running; std::this_thread::sleep_for(20ms)) {
      pass_signal_on();
      running = false;
      for (int64_t rank = 0; rank < options_.size; ++rank) {
        const std::optional<int> code = processes_[rank]->ended();
        if (!code) {
          running = true;
        } else if (*code != 0 && (signal_ == 0 || *code != 128 + signal_)) {
          note_failure(how_it_ended(rank, *code));
        }
      }
      if (failed_at_ && Clock::now() - *failed_at_ > options_.time_to_end) break;
    }
    if (failed_at_) fail("{}", posted_error(*store_, kNobody));
    return signal_;
  }

 private:
  void pass_signal_on() {
    if (signal_ != 0) return;
    signal_ = options_.stop();
    if (signal_ == 0) return;
    for (const auto& process : processes_) process->send(signal_);
  }

  // What the rank itself has said goes before.
  void note_failure(const std::string& how) {
    if (failed_at_) return;
    failed_at_ = Clock::now();
    post_error(*store_, /*rank=*/-1, how);
  }

  const LaunchOptions& options_;
  c10::intrusive_ptr<c10d::TCPStore> server_;
  c10::intrusive_ptr<c10d::Store> store_;
  std::vector<std::unique_ptr<ChildProcess>> processes_;
  std::optional<Clock::time_point> failed_at_;
  int signal_ = 0;
};

}  // namespace

int launch_ranks(const LaunchOptions& options) { return Launched(options).wait(); }

}  // namespace perceiver
