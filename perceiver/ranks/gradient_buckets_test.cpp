#include "perceiver/ranks/gradient_buckets.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "perceiver/ranks/backends.h"
#include "perceiver/ranks/ranks_test.h"

namespace perceiver {
namespace {

// A small network: `shared` is used three times, `unused` never.
struct Net {
  Tensor in, shared, bias, out, unused;

  static Net random() {
    auto generator = at::detail::createCPUGenerator(1);  // its own: ranks are threads
    Net net;
    for (Tensor* t : {&net.in, &net.shared, &net.out, &net.unused}) {
      *t = at::randn({40, 40}, generator);
    }
    net.bias = at::randn({40}, generator);
    for (Tensor* t : {&net.in, &net.shared, &net.bias, &net.out, &net.unused}) {
      t->mul_(0.2).set_requires_grad(true);
    }
    return net;
  }
  std::vector<Tensor> leaves() const { return {in, shared, bias, out, unused}; }
  Tensor loss(const Tensor& x) const {
    Tensor y = at::tanh(at::mm(x, in));
    for (int i = 0; i < 3; ++i) y = at::tanh(at::mm(y, shared) + bias);
    return at::mm(y, out).square().sum();
  }
};

Tensor examples(int64_t rank, int64_t part) {
  auto generator = at::detail::createCPUGenerator(10 * rank + part);
  return at::randn({7, 40}, generator);
}

// What PyTorch's DistributedDataParallel has of one pass: means, not sums; undefined where no rank
// reaches a leaf.
std::vector<Tensor> means_by_reducer(const c10::intrusive_ptr<c10d::Store>& store, int64_t rank,
                                     int64_t size, int64_t bucket_bytes) {
  const auto gloo = gloo_backend({store, rank, size, std::chrono::seconds(60)}, "127.0.0.1");
  auto group = c10::make_intrusive<c10d::ProcessGroup>(store, rank, size);
  group->setBackend(at::kCPU, c10d::ProcessGroup::GLOO, gloo);
  group->setDefaultBackend(c10d::ProcessGroup::GLOO);
  group->setGroupName("reducer");
  const Net net = Net::random();
  const std::vector<Tensor> leaves = net.leaves();
  const auto bytes = static_cast<size_t>(bucket_bytes);
  auto [buckets, limits] = c10d::compute_bucket_assignment_by_size(leaves, {bytes});
  std::reverse(buckets.begin(), buckets.end());
  c10d::Reducer reducer(leaves, buckets, group, std::vector<bool>(leaves.size(), false),
                        bucket_bytes, /*find_unused_parameters=*/true,
                        /*gradient_as_bucket_view=*/false, {}, bucket_bytes,
                        /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false, {});
  const Tensor loss = net.loss(examples(rank, 0));
  reducer.prepare_for_backward({loss});
  loss.backward();
  std::vector<Tensor> means;
  for (const Tensor& leaf : leaves) means.push_back(leaf.grad());
  return means;
}

std::vector<Tensor> sums_by_buckets(Ranks& ranks, int64_t parts, int64_t bytes) {
  const Net net = Net::random();
  GradientBuckets buckets(net.leaves(), ranks, bytes);
  std::vector<Tensor> sums;
  for (int step = 0; step < 2; ++step) {  // the second as the first
    buckets.begin();
    for (int64_t part = 0; part < parts; ++part) {
      if (part == parts - 1) buckets.begin_last_pass();
      net.loss(examples(ranks.rank(), part)).backward();
    }
    sums.clear();
    for (const Tensor& sum : buckets.finish()) sums.push_back(sum.clone());
    for (const Tensor& leaf : net.leaves()) EXPECT_FALSE(leaf.grad().defined());
  }
  return sums;
}

TEST(GradientBuckets, AreThoseOfTheReducerOfPyTorch) {
  for (const int64_t size : {2, 3}) {
    for (const int64_t bytes : {100, 7000, 1 << 20}) {  // a leaf each, two, and all in one
      const auto store = c10::make_intrusive<c10d::HashStore>();
      as_ranks(size, [&](Ranks& ranks) {
        const std::vector<Tensor> means = means_by_reducer(store, ranks.rank(), size, bytes);
        const std::vector<Tensor> sums = sums_by_buckets(ranks, 1, bytes);
        ASSERT_EQ(sums.size(), means.size());
        for (size_t i = 0; i < sums.size(); ++i) {
          if (!means[i].defined()) {
            EXPECT_TRUE(sums[i].eq(0.0).all().item<bool>());
          } else if (size == 2) {  // halving is exact
            EXPECT_TRUE(sums[i].mul(0.5).equal(means[i])) << i;
          } else {
            EXPECT_TRUE(sums[i].div(3.0).allclose(means[i], 1e-5, 1e-6)) << i;
          }
        }
      });
    }
  }
}

TEST(GradientBuckets, PassesOfAStepAreAddedUp) {
  as_ranks(2, [](Ranks& ranks) {
    const std::vector<Tensor> sums = sums_by_buckets(ranks, 3, 7000);
    const Net net = Net::random();
    std::vector<Tensor> all;
    for (int64_t rank = 0; rank < 2; ++rank) {
      for (const Tensor& leaf : net.leaves()) leaf.mutable_grad() = Tensor();
      for (int64_t part = 0; part < 3; ++part) net.loss(examples(rank, part)).backward();
      for (size_t i = 0; i < 5; ++i) {
        const Tensor gradient = net.leaves()[i].grad();
        const Tensor mine = gradient.defined() ? gradient : at::zeros_like(net.unused);
        if (rank == 0) all.push_back(mine);
        if (rank == 1) all[i] = all[i] + mine;
      }
    }
    for (size_t i = 0; i < 5; ++i) EXPECT_TRUE(sums[i].equal(all[i])) << i;
  });
}

// A rank may have no pass of its own, or leave one: the others' sums come all the same.
TEST(GradientBuckets, ARankThatHasNothingSendsZeros) {
  as_ranks(2, [](Ranks& ranks) {
    const Net net = Net::random();
    GradientBuckets buckets(net.leaves(), ranks, 7000);
    buckets.begin();
    if (ranks.is_first()) {
      buckets.begin_last_pass();
      net.loss(examples(0, 0)).backward();
    }
    const std::vector<Tensor> sums = buckets.finish();
    EXPECT_TRUE(ranks.all_have(sums[1].sum().item().toDouble() != 0.0));
    EXPECT_NE(sums[1].sum().item<float>(), 0.0f);
  });
}

TEST(GradientBuckets, LeaveNothingBehind) {
  as_ranks(1, [](Ranks& ranks) {
    const Net net = Net::random();
    { const GradientBuckets buckets(net.leaves(), ranks); }
    net.loss(examples(0, 0)).backward();
    EXPECT_TRUE(net.in.grad().defined());
  });
}

}  // namespace
}  // namespace perceiver
