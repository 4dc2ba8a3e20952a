#include "perceiver/tasks/arrays/starter_data.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace perceiver {
namespace {

constexpr double kTau = 2.0 * std::numbers::pi;

using Point = std::array<double, 3>;

// Spread evenly over the surface of a sphere, a cube, a cylinder, a cone or a torus, each within 1.
Point on_solid(int64_t solid, Rng& rng) {
  const double a = rng.uniform(0.0, kTau), u = rng.uniform(-1.0, 1.0);
  switch (solid) {
    case 0: {
      const double r = std::sqrt(1.0 - u * u);
      return {r * std::cos(a), r * std::sin(a), u};
    }
    case 1: {
      Point p = {rng.uniform(-0.6, 0.6), rng.uniform(-0.6, 0.6), rng.uniform(-0.6, 0.6)};
      p[rng.integer(3)] = rng.chance(0.5) ? 0.6 : -0.6;
      return p;
    }
    case 2: {
      if (rng.chance(0.7)) return {0.6 * std::cos(a), 0.6 * std::sin(a), 0.8 * u};
      const double r = 0.6 * std::sqrt(rng.uniform());
      return {r * std::cos(a), r * std::sin(a), rng.chance(0.5) ? 0.8 : -0.8};
    }
    case 3: {
      const double r = 0.7 * std::sqrt(rng.uniform());
      return {r * std::cos(a), r * std::sin(a), rng.chance(0.7) ? 0.9 - 1.8 * r / 0.7 : -0.9};
    }
    default: {
      const double b = rng.uniform(0.0, kTau), r = 0.7 + 0.25 * std::cos(b);
      return {r * std::cos(a), r * std::sin(a), 0.25 * std::sin(b)};
    }
  }
}

// Of a random quaternion.
std::array<Point, 3> random_rotation(Rng& rng) {
  std::array<double, 4> q;
  double length = 0.0;
  for (double& x : q) {
    x = rng.normal();
    length += x * x;
  }
  for (double& x : q) x /= std::sqrt(length);
  const auto [w, x, y, z] = q;
  return {{{1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)},
           {2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)},
           {2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)}}};
}

}  // namespace

NamedTensors generated_points(int64_t examples, Rng& rng) {
  constexpr int64_t kSolids = 5, kPoints = 400;
  Tensor points = at::empty({examples, kPoints, 3}), solids = at::empty({examples}, at::kLong);
  auto* value = points.mutable_data_ptr<float>();
  for (int64_t i = 0; i < examples; ++i) {
    const int64_t solid = rng.integer(kSolids);
    solids.mutable_data_ptr<int64_t>()[i] = solid;
    const std::array<Point, 3> turn = random_rotation(rng);
    const double size = rng.uniform(0.7, 1.3);
    for (int64_t n = 0; n < kPoints; ++n) {
      const Point p = on_solid(solid, rng);
      for (const Point& row : turn) {
        const double turned = row[0] * p[0] + row[1] * p[1] + row[2] * p[2];
        *value++ = static_cast<float>(size * turned + 0.03 * rng.normal());
      }
    }
  }
  return {{"points", points}, {"solid", solids}};
}

// Three bumps on a square: its height at some places is seen, that at others is asked for.
NamedTensors generated_field(int64_t examples, Rng& rng) {
  constexpr int64_t kSeen = 48, kAsked = 128, kBumps = 3;
  Tensor seen = at::empty({examples, kSeen, 3}), places = at::empty({examples, kAsked, 2});
  Tensor heights = at::empty({examples, kAsked});
  auto* s = seen.mutable_data_ptr<float>();
  auto* p = places.mutable_data_ptr<float>();
  auto* h = heights.mutable_data_ptr<float>();
  for (int64_t i = 0; i < examples; ++i) {
    std::array<std::array<double, 4>, kBumps> bumps;
    for (auto& bump : bumps) {
      bump = {rng.uniform(-1, 1), rng.uniform(-1, 1), rng.uniform(0.2, 0.6), rng.uniform(-1, 1)};
    }
    const auto height = [&](double y, double x) {
      double sum = 0.0;
      for (const auto& [by, bx, wide, high] : bumps) {
        sum += high * std::exp(-((y - by) * (y - by) + (x - bx) * (x - bx)) / (2 * wide * wide));
      }
      return sum;
    };
    for (int64_t n = 0; n < kSeen + kAsked; ++n) {
      const double y = rng.uniform(-1, 1), x = rng.uniform(-1, 1);
      float*& at = n < kSeen ? s : p;
      *at++ = static_cast<float>(y);
      *at++ = static_cast<float>(x);
      (n < kSeen ? *s++ : *h++) = static_cast<float>(height(y, x));
    }
  }
  return {{"seen", seen}, {"places", places}, {"height", heights}};
}

// A movement and a sound that both tell the machine's state, each badly; one of them may be
// missing.
NamedTensors generated_sensors(int64_t examples, Rng& rng) {
  constexpr int64_t kStates = 4, kTimes = 64;
  Tensor motion = at::empty({examples, kTimes, 2}), sound = at::empty({examples, kTimes});
  Tensor states = at::empty({examples}, at::kLong);
  auto* m = motion.mutable_data_ptr<float>();
  auto* s = sound.mutable_data_ptr<float>();
  for (int64_t i = 0; i < examples; ++i) {
    const int64_t state = rng.integer(kStates);
    states.mutable_data_ptr<int64_t>()[i] = state;
    const double slow = 2.0 + static_cast<double>(state % 2), quick = state < 2 ? 9.0 : 11.0;
    const double phase = rng.uniform(0.0, kTau), other = rng.uniform(0.0, kTau);
    // In a fifth of the examples a sensor has failed.
    const bool no_motion = rng.chance(0.1), no_sound = !no_motion && rng.chance(0.1);
    for (int64_t t = 0; t < kTimes; ++t) {
      const double time = kTau * static_cast<double>(t) / kTimes;
      const double both = 0.5 * std::sin(quick * time + phase);
      const auto noise = [&] { return 0.5 * rng.normal(); };
      *m++ = static_cast<float>(no_motion ? NAN : std::sin(slow * time + phase) + noise());
      *m++ = static_cast<float>(no_motion ? NAN : std::cos(slow * time + phase) + both + noise());
      *s++ = static_cast<float>(
          no_sound ? NAN : std::sin(quick * time + other) + 0.5 * std::sin(slow * time) + noise());
    }
  }
  return {{"motion", motion}, {"sound", sound}, {"state", states}};
}

// Neurons that fire for a direction of movement each, and the movement.
NamedTensors generated_events(int64_t examples, Rng& rng) {
  constexpr int64_t kNeurons = 30, kEvents = 160, kAsked = 20;
  Tensor neuron = at::zeros({examples, kEvents}, at::kLong);
  Tensor time = at::zeros({examples, kEvents}), there = at::zeros({examples, kEvents}, at::kBool);
  Tensor when = at::empty({examples, kAsked, 1}), velocity = at::empty({examples, kAsked, 2});
  for (int64_t i = 0; i < examples; ++i) {
    const double turn = rng.uniform(-4.0, 4.0), start = rng.uniform(0.0, kTau);
    const auto angle = [&](double t) { return start + turn * t; };
    int64_t count = 0;
    // A hundred slices of a second, each neuron at a rate that its direction gives.
    for (int64_t slice = 0; slice < 100; ++slice) {
      const double t = (static_cast<double>(slice) + rng.uniform()) / 100.0;
      for (int64_t n = 0; n < kNeurons && count < kEvents; ++n) {
        const double preferred = kTau * static_cast<double>(n) / kNeurons;
        const double rate = 10.0 * std::exp(2.0 * (std::cos(angle(t) - preferred) - 1.0));
        if (!rng.chance(rate / 100.0)) continue;
        neuron.mutable_data_ptr<int64_t>()[i * kEvents + count] = n;
        time.mutable_data_ptr<float>()[i * kEvents + count] = static_cast<float>(t);
        there.mutable_data_ptr<bool>()[i * kEvents + count] = true;
        ++count;
      }
    }
    for (int64_t k = 0; k < kAsked; ++k) {
      const double t = rng.uniform();
      when.mutable_data_ptr<float>()[i * kAsked + k] = static_cast<float>(t);
      auto* v = velocity.mutable_data_ptr<float>() + (i * kAsked + k) * 2;
      v[0] = static_cast<float>(std::cos(angle(t)));
      v[1] = static_cast<float>(std::sin(angle(t)));
    }
  }
  return {
      {"neuron", neuron}, {"time", time}, {"there", there}, {"when", when}, {"velocity", velocity}};
}

// Hours: a day's and a week's course, and chance that lasts.
std::string generated_series(int64_t rows, Rng& rng) {
  std::string text = "hour,load,temperature,price\n";
  double drift = 0.0, weather = 0.0;
  for (int64_t hour = 0; hour < rows; ++hour) {
    const double day = kTau * static_cast<double>(hour % 24) / 24.0;
    const double week = kTau * static_cast<double>(hour % 168) / 168.0;
    drift = 0.97 * drift + 0.25 * rng.normal();
    weather = 0.99 * weather + 0.4 * rng.normal();
    const double temperature = 12.0 - 5.0 * std::cos(day) + weather;
    const double load = 50.0 - 12.0 * std::cos(day) + 6.0 * std::sin(week) -
                        0.8 * (temperature - 12.0) + 2.0 * drift;
    const double price = 30.0 + 0.02 * load * load / 2.0 + rng.normal();
    text += fmt::format("{},{:.2f},{:.2f},{:.2f}\n", hour, load, temperature, price);
  }
  return text;
}

// Whether a loan was paid back: numbers, words, and fields that are missing.
std::string generated_table(int64_t rows, Rng& rng) {
  constexpr std::array kJobs = {"clerk", "doctor", "farmer", "student"};
  constexpr std::array kHomes = {"own", "rent", "family"};
  constexpr std::array kOfJob = {0.2, 1.2, 0.0, -1.0};
  constexpr std::array kOfHome = {0.6, -0.2, 0.1};
  std::string text = "age,income,years,job,home,paid\n";
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t job = rng.integer(kJobs.size()), home = rng.integer(kHomes.size());
    const double age = job == 3 ? rng.uniform(18.0, 30.0) : rng.uniform(20.0, 70.0);
    const double income = std::exp(3.0 + 0.5 * kOfJob[job] + 0.4 * rng.normal());
    const double years = rng.uniform(1.0, 20.0);
    // Young people with long loans, and high incomes with any.
    const double sum = kOfJob[job] + kOfHome[home] + 0.05 * (income - 20.0) -
                       (age < 35.0 ? 0.15 * years : 0.03 * years) + 0.8 + 0.7 * rng.normal();
    const std::string shown = rng.chance(0.05) ? "" : fmt::format("{:.1f}", income);
    text +=
        fmt::format("{:.0f},{},{:.1f},{},{},{}\n", age, shown, years,
                    rng.chance(0.03) ? "?" : kJobs[job], kHomes[home], sum > 0.0 ? "yes" : "no");
  }
  return text;
}

}  // namespace perceiver
