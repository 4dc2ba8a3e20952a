#include "perceiver/kernels/attention/attention_map.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cmath>

#include "perceiver/core/error.h"
#include "perceiver/kernels/attention/query_blocks.h"

namespace perceiver {
namespace {

constexpr int64_t kMostCells = 256;  // of a row, for comparing rows

// Rows [begin, begin + count) of the map: float [count, M].
Tensor rows(const AttentionInputs& in, int64_t begin, int64_t count, const MapOptions& options) {
  Tensor q = in.q.select(0, options.row).narrow(1, begin, count).to(at::kFloat);
  Tensor k = in.k.select(0, options.row).to(at::kFloat);
  if (options.head) {
    if (*options.head < 0 || *options.head >= q.size(0)) {
      fail("head {} is not among the {} of this attention", *options.head, q.size(0));
    }
    q = q.narrow(0, *options.head, 1);
    k = k.narrow(0, *options.head, 1);
  }
  Tensor scores = at::matmul(q, k.transpose(-2, -1)) / std::sqrt(static_cast<double>(q.size(-1)));
  if (in.kv_mask.defined()) scores.masked_fill_(in.kv_mask[options.row].logical_not(), -INFINITY);
  // A query with no key sees nothing.
  return scores.softmax(-1).nan_to_num(0.0).mean(0);
}

// Calls see(begin, rows [count, M]) for all rows, a block at a time.
template <typename See>
void for_rows(const AttentionInputs& in, const MapOptions& options, const See& see) {
  const int64_t heads = options.head ? 1 : in.q.size(1);
  for_each_block(
      in.q.size(2), queries_of_block(kScoresOfLook, heads * in.k.size(2)),
      [&](int64_t begin, int64_t count) { see(begin, rows(in, begin, count, options)); });
}

// rows [n, M] -> [n, cells]: sums over at most kMostCells cells of the grid, so that neighbouring
// places count as alike.
Tensor in_cells(const Tensor& rows, const ClusterOptions& o) {
  const int64_t elements = c10::multiply_integers(o.grid);
  std::vector<int64_t> shape = {rows.size(0), 1};
  shape.insert(shape.end(), o.grid.begin(), o.grid.end());
  const Tensor grid = rows.narrow(1, o.first, elements).reshape(shape);
  const auto side = static_cast<int64_t>(
      std::pow(static_cast<double>(kMostCells), 1.0 / static_cast<double>(o.grid.size())));
  std::vector<int64_t> cells;
  for (const int64_t size : o.grid) cells.push_back(std::min(size, side));
  if (cells.size() == 1) return at::adaptive_avg_pool1d(grid, cells).flatten(1);
  if (cells.size() == 2) return at::adaptive_avg_pool2d(grid, cells).flatten(1);
  return at::adaptive_avg_pool3d(grid, cells).flatten(1);
}

// points [N, F] -> the group of each, int64 [N]. Starts are drawn far apart (k-means++).
Tensor k_means(const Tensor& points, int64_t groups, uint64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  Tensor centres = points.narrow(0, at::randint(points.size(0), {1}, generator).item<int64_t>(), 1);
  while (centres.size(0) < groups) {
    const Tensor nearest = std::get<0>(at::cdist(points, centres).min(1)).square();
    if (nearest.sum().item<double>() == 0.0) break;  // fewer different rows than groups
    centres =
        at::cat({centres, points.index_select(0, at::multinomial(nearest, 1, false, generator))});
  }
  Tensor group;
  for (int round = 0; round < 50; ++round) {
    const Tensor now = at::cdist(points, centres).argmin(1);
    if (group.defined() && now.equal(group)) break;
    group = now;
    const Tensor member = at::one_hot(group, centres.size(0)).to(at::kFloat);  // [N, K]
    const Tensor count = member.sum(0).clamp_min(1.0).unsqueeze(1);
    centres = at::matmul(member.t(), points) / count;
  }
  return group;
}

}  // namespace

Tensor mix_attention(const AttentionInputs& in, const Tensor& weights, const MapOptions& options) {
  check_shape(weights, {kAny, in.q.size(2)}, "weights");
  const Tensor mixed = weights.to(in.q.device(), at::kFloat);
  Tensor maps = at::zeros({weights.size(0), in.k.size(2)}, mixed.options());
  for_rows(in, options, [&](int64_t begin, const Tensor& rows) {
    maps.addmm_(mixed.narrow(1, begin, rows.size(0)), rows);
  });
  return maps.cpu();
}

Clusters cluster_attention(const AttentionInputs& in, const ClusterOptions& clusters,
                           const MapOptions& options) {
  std::vector<Tensor> blocks;
  for_rows(in, options,
           [&](int64_t, const Tensor& rows) { blocks.push_back(in_cells(rows, clusters).cpu()); });
  const Tensor points = at::cat(blocks);
  const Tensor group = k_means(points, std::min(clusters.groups, points.size(0)), clusters.seed);

  const Tensor member = at::one_hot(group).to(at::kFloat).t();  // [K, N]
  const Tensor count = member.sum(1);
  const Tensor order = count.argsort(/*stable=*/true, 0, /*descending=*/true);
  Tensor place = at::empty_like(order);
  place.scatter_(0, order, at::arange(order.size(0)));
  const Tensor kept = order.masked_select(count.index_select(0, order) > 0);
  const Tensor weights = member.index_select(0, kept) / count.index_select(0, kept).unsqueeze(1);
  return {place.index_select(0, group), weights};
}

}  // namespace perceiver
