#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "bench/cuda_bench.h"
#include "perceiver/kernels/optimizer/optimizer_step.h"

namespace perceiver::bench {
namespace {

constexpr auto kF32 = CudaDtype::kFloat32, kBf16 = CudaDtype::kBFloat16;
constexpr int kSteps = 3;

// A tensor of the list: what it starts as, and its gradients of every step.
struct Start {
  std::vector<float> value;
  std::vector<std::vector<float>> gradients;  // [kSteps]
  bool decayed;
  int64_t offset;                     // to be misaligned
  int64_t channels = 0, padding = 0;  // of the rows of its copy
};

Start make_start(int64_t count, bool decayed, bool zero_value, bool zero_gradient, int64_t offset) {
  Start s = {random_values(count, 0.01f, 0.05f), {}, decayed, offset, count};
  if (zero_value) s.value.assign(count, 0.0f);
  for (int step = 0; step < kSteps; ++step) {
    s.gradients.push_back(random_values(count, 0, 0.1f));
    if (zero_gradient) s.gradients.back().assign(count, 0.0f);
  }
  return s;
}

std::vector<Start> make_list() {
  std::vector<Start> list;
  for (const int64_t count : {1, 7, 1'000'003, 8192, 8193, 1280}) {
    list.push_back(make_start(count, count % 2 == 0, false, false, 0));
  }
  list.push_back(make_start(4097, true, false, false, /*offset=*/1));
  list.push_back(make_start(20'000, false, false, false, /*offset=*/3));
  list.push_back(make_start(1280, false, /*zero_value=*/true, false, 0));
  list.push_back(make_start(77, true, true, /*zero_gradient=*/true, 0));
  list.push_back(make_start(333, false, false, true, 0));
  const auto pad = [&](size_t i, int64_t channels, int64_t padding) {
    list[i].channels = channels;
    list[i].padding = padding;
  };
  pad(3, 64, 8);   // by fours
  pad(5, 160, 3);  // by fours that are not aligned
  pad(7, 125, 3);  // one by one
  pad(10, 0, 0);   // no copy
  return list;
}

// Tensors that follow each other through the room that LAMB's blocks have, and one too large for
// it.
std::vector<Start> make_large_list() {
  std::vector<Start> list;
  for (const int64_t count : {1'638'400, 1280, 5'000'000, 1'638'400, 1280, 1'000'003, 1'638'400}) {
    Start s = make_start(1280, count > 1280, false, false, count % 2);
    const auto repeat = [&](std::vector<float>& x) {
      for (size_t i = x.size(); i < static_cast<size_t>(count); ++i) x.push_back(x[i - 1280]);
    };
    repeat(s.value);
    for (std::vector<float>& g : s.gradients) repeat(g);
    s.channels = count;
    list.push_back(std::move(s));
  }
  return list;
}

struct Case {
  bool lamb;
  FusedRule rule;
  float divisor;  // 0: none
};

// The list on the device, and the moments. The gradients of each step lie elsewhere.
class OnDevice {
 public:
  explicit OnDevice(const std::vector<Start>& list, float divisor) : divisor_(kF32, 1) {
    divisor_.set({divisor});
    std::vector<FusedTensor> tensors;
    for (const Start& s : list) {
      const auto count = static_cast<int64_t>(s.value.size());
      values.emplace_back(kF32, count, s.offset).set(s.value);
      first.emplace_back(kF32, count, s.offset).set({0.0f});
      second.emplace_back(kF32, count, s.offset).set({0.0f});
      for (int step = 0; step < kSteps; ++step) {
        gradients_[step].emplace_back(kF32, count, s.offset).set(s.gradients[step]);
        pointers[step].push_back(gradients_[step].back().floats());
      }
      const int64_t stride = s.channels + s.padding, rows = s.channels > 0 ? count / s.channels : 0;
      narrow.emplace_back(kBf16, rows * stride, s.offset);
      tensors.push_back({values.back().floats(), pointers[0].back(), first.back().floats(),
                         second.back().floats(), count, s.decayed,
                         rows > 0 ? narrow.back().data() : nullptr, s.channels, stride});
    }
    const auto bytes = static_cast<int64_t>(fused_table_bytes(tensors));
    memory_ = std::make_unique<DeviceArray>(kF32, bytes / 4);
    CUDA_OK(build_fused_table(tensors, memory_->data(), &table, nullptr));
  }

  void launch(const Case& c, cudaStream_t stream) const {
    const float* divisor = c.divisor != 0 ? divisor_.floats() : nullptr;
    CUDA_OK(c.lamb ? lamb_step(table, c.rule, divisor, stream)
                   : adamw_step(table, c.rule, divisor, stream));
  }
  void step(const Case& c, int step, double learning_rate) {
    const FusedRates rates = fused_rates(c.rule, learning_rate, step + 1);
    CUDA_OK(set_rates(table, &rates, nullptr));
    CUDA_OK(set_gradients(table, pointers[step].data(), nullptr));
    launch(c, nullptr);
    CUDA_OK(cudaDeviceSynchronize());
  }
  float norm() const {
    float norm;
    CUDA_OK(cudaMemcpy(&norm, table.gradient_norm, sizeof norm, cudaMemcpyDeviceToHost));
    return norm;
  }
  bool margins_are_untouched() const {
    bool good = memory_->margin_is_untouched();
    for (const auto* arrays : {&values, &first, &second, &narrow}) {
      for (const DeviceArray& array : *arrays) good = good && array.margin_is_untouched();
    }
    return good;
  }

  std::vector<DeviceArray> values, first, second, narrow;
  std::vector<const float*> pointers[kSteps];
  FusedTable table;

 private:
  std::vector<DeviceArray> gradients_[kSteps];
  DeviceArray divisor_;
  std::unique_ptr<DeviceArray> memory_;
};

// perceiver/optim's rules, word for word, in double.
struct Reference {
  std::vector<std::vector<double>> values, first, second;

  explicit Reference(const std::vector<Start>& list) {
    for (const Start& s : list) {
      values.emplace_back(s.value.begin(), s.value.end());
      first.emplace_back(s.value.size(), 0.0);
      second.emplace_back(s.value.size(), 0.0);
    }
  }

  double step(const std::vector<Start>& list, const Case& c, int step, double rate) {
    const double divisor = c.divisor != 0 ? c.divisor : 1.0;
    double norm = 0;
    for (const Start& s : list) {
      for (const double g : s.gradients[step]) norm += g * g / (divisor * divisor);
    }
    norm = std::sqrt(norm);
    const double factor = (c.rule.clip > 0 ? std::min(c.rule.clip / norm, 1.0) : 1.0) / divisor;
    for (size_t i = 0; i < list.size(); ++i) {
      std::vector<double> updates = move(i, list[i].gradients[step], factor, c.rule, step + 1);
      c.lamb ? lamb(i, updates, list[i].decayed, c.rule, rate)
             : adamw(i, updates, list[i].decayed, c.rule, rate);
    }
    return norm;
  }

 private:
  std::vector<double> move(size_t i, const std::vector<float>& gradient, double factor,
                           const FusedRule& r, int steps) {
    const double correction1 = 1 - std::pow(r.beta1, steps);
    const double correction2 = 1 - std::pow(r.beta2, steps);
    std::vector<double> updates(gradient.size());
    for (size_t j = 0; j < gradient.size(); ++j) {
      const double g = gradient[j] * factor;
      double &m = first[i][j], &v = second[i][j];
      m = r.beta1 * m + (1 - r.beta1) * g;
      v = r.beta2 * v + (1 - r.beta2) * g * g;
      updates[j] = m / correction1 / (std::sqrt(v) / std::sqrt(correction2) + r.epsilon);
    }
    return updates;
  }
  void lamb(size_t i, std::vector<double>& updates, bool decayed, const FusedRule& r, double rate) {
    double size = 0, length = 0;
    for (size_t j = 0; j < updates.size(); ++j) {
      if (decayed) updates[j] += r.weight_decay * values[i][j];
      size += values[i][j] * values[i][j];
      length += updates[j] * updates[j];
    }
    const double ratio = size == 0 || length == 0 ? 1.0 : std::sqrt(size / length);
    for (size_t j = 0; j < updates.size(); ++j) values[i][j] -= rate * ratio * updates[j];
  }
  void adamw(size_t i, std::vector<double>& updates, bool decayed, const FusedRule& r,
             double rate) {
    for (size_t j = 0; j < updates.size(); ++j) {
      values[i][j] *= decayed ? 1 - rate * r.weight_decay : 1.0;
      values[i][j] -= rate * updates[j];
    }
  }
};

double rate_of(int step) { return 0.01 / (step + 1); }

// The copy has the rounded values, and its padding is as it was.
bool is_copied(const Start& s, const std::vector<float>& value, const std::vector<float>& narrow) {
  const int64_t stride = s.channels + s.padding;
  for (size_t i = 0; i < narrow.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / stride,
                  channel = static_cast<int64_t>(i) % stride;
    const bool good = channel < s.channels
                          ? narrow[i] == rounded(kBf16, value[row * s.channels + channel])
                          : std::isnan(narrow[i]);
    if (!good) return false;
  }
  return true;
}

void check_case(const std::vector<Start>& list, const Case& c) {
  OnDevice device(list, c.divisor);
  Reference reference(list);
  for (int step = 0; step < kSteps; ++step) {
    const double norm = reference.step(list, c, step, rate_of(step));
    device.step(c, step, rate_of(step));
    expect(std::abs(device.norm() / norm - 1) < 1e-6, "norm %.9g, expected %.9g", device.norm(),
           norm);
  }
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string where =
        "tensor " + std::to_string(i) + " with clip " + std::to_string(c.rule.clip) + ": ";
    // A sum of steps of both signs: the moments' errors go with the steps' sizes.
    expect_near(device.values[i].get(), reference.values[i], 1e-6, 5e-8, (where + "w").c_str());
    expect_near(device.first[i].get(), reference.first[i], 1e-6, 2e-8, (where + "m").c_str());
    expect_near(device.second[i].get(), reference.second[i], 2e-6, 1e-12, (where + "v").c_str());
    expect(is_copied(list[i], device.values[i].get(), device.narrow[i].get()), "%scopy",
           where.c_str());
  }
  expect(device.margins_are_untouched(), "nothing behind a tensor is written");
}

bool same_bits(const OnDevice& a, const OnDevice& b) {
  for (size_t i = 0; i < a.values.size(); ++i) {
    const std::vector<float> x = a.values[i].get(), y = b.values[i].get();
    if (std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) != 0) return false;
  }
  return true;
}

// The same bits again, and from a graph that finds rates and addresses in pinned memory.
void check_repeats(const std::vector<Start>& list, const Case& c) {
  OnDevice one(list, c.divisor), again(list, c.divisor), replayed(list, c.divisor);
  for (int step = 0; step < kSteps; ++step) {
    one.step(c, step, rate_of(step));
    again.step(c, step, rate_of(step));
  }
  expect(same_bits(one, again), "steps have the same bits each time");

  FusedRates* rates;
  const float** pointers;
  CUDA_OK(cudaMallocHost(&rates, sizeof *rates));
  CUDA_OK(cudaMallocHost(&pointers, list.size() * sizeof *pointers));
  Replay replay([&](cudaStream_t stream) {
    CUDA_OK(set_rates(replayed.table, rates, stream));
    CUDA_OK(set_gradients(replayed.table, pointers, stream));
    replayed.launch(c, stream);
  });
  for (int step = 0; step < kSteps; ++step) {
    *rates = fused_rates(c.rule, rate_of(step), step + 1);
    std::copy(replayed.pointers[step].begin(), replayed.pointers[step].end(), pointers);
    replay.run();
  }
  expect(same_bits(one, replayed), "a graph's replays have the same bits");
  CUDA_OK(cudaFreeHost(rates));
  CUDA_OK(cudaFreeHost(pointers));
}

void check_not_finite(std::vector<Start> list, const Case& c) {
  for (const float bad : {NAN, INFINITY}) {
    list[2].gradients[0][999'999] = bad;
    OnDevice device(list, c.divisor);
    device.step(c, 0, rate_of(0));
    expect(!std::isfinite(device.norm()), "a gradient of %f shows in the norm", bad);
  }
}

// As many tensors and parameters as the paper's language model has: matrices, each with its bias.
void time_rule(const char* name, bool lamb, double clip, bool narrow, double bytes_per_parameter) {
  constexpr int64_t kMatrix = 955'856, kBias = 1280, kPairs = 210;
  const int64_t all = kPairs * (kMatrix + kBias);
  DeviceArray value(kF32, all), gradient(kF32, all), first(kF32, all), second(kF32, all);
  value.set(random_values(1 << 20, 0, 0.05f));
  gradient.set(random_values(1 << 20, 0, 0.1f));
  first.set({0.0f});
  second.set({0.0f});
  const DeviceArray copy(kBf16, narrow ? all : 0);
  std::vector<FusedTensor> tensors;
  for (int64_t at = 0; at < all;) {
    const int64_t count = tensors.size() % 2 == 0 ? kMatrix : kBias;
    tensors.push_back({value.floats() + at, gradient.floats() + at, first.floats() + at,
                       second.floats() + at, count, count == kMatrix,
                       narrow ? static_cast<uint16_t*>(copy.data()) + at : nullptr});
    at += count;
  }
  const DeviceArray memory(kF32, static_cast<int64_t>(fused_table_bytes(tensors) / 4));
  FusedTable table;
  CUDA_OK(build_fused_table(tensors, memory.data(), &table, nullptr));
  const FusedRule rule = {.clip = clip};
  const FusedRates rates = fused_rates(rule, 1e-3, 10);
  CUDA_OK(set_rates(table, &rates, nullptr));
  CUDA_OK(cudaDeviceSynchronize());
  const double time = microseconds(3, [&](int, cudaStream_t stream) {
    CUDA_OK(lamb ? lamb_step(table, rule, nullptr, stream)
                 : adamw_step(table, rule, nullptr, stream));
  });
  print_time(name, time, bytes_per_parameter * all);
}

}  // namespace

bool check_optimizer() {
  const std::vector<Start> list = make_list();
  const FusedRule rule = {.weight_decay = 0.1};
  bool good = true;
  for (const bool lamb : {true, false}) {
    begin_section(lamb ? "LAMB" : "AdamW");
    for (const double clip : {0.0, 1.0, 1e6}) {
      for (const float divisor : {0.0f, 3.0f}) {
        Case c = {lamb, rule, divisor};
        c.rule.clip = clip;
        check_case(list, c);
      }
    }
    const Case clipped = {lamb, {.weight_decay = 0.1, .clip = 1.0}, 3.0f};
    check_repeats(list, clipped);
    check_not_finite(list, clipped);
    if (lamb) {
      const Case plain = {lamb, rule, 3.0f};
      const std::vector<Start> large = make_large_list();
      check_case(large, plain);
      check_repeats(large, plain);
    }
    good = end_section() && good;
  }
  return good;
}

void time_optimizer() {
  // w, g, m, v read, w, m, v written: 7 floats; g read for the norm; a copy is half of one.
  time_rule("LAMB 420 tensors, 201M parameters", true, 0, false, 28);
  time_rule("LAMB, clipped", true, 1, false, 32);
  time_rule("LAMB, with copies", true, 0, true, 30);
  time_rule("AdamW 420 tensors, 201M parameters", false, 0, false, 28);
  time_rule("AdamW, clipped", false, 1, false, 32);
  time_rule("AdamW, with copies", false, 0, true, 30);
}

}  // namespace perceiver::bench
