// The warpgroups of attention_hopper that compute, 64 queries each. A warpgroup starts the scores
// of the next tile before it adds the values of the last, so that its softmax runs beside that
// product.
#pragma once

#include <cstdint>

#include "perceiver/kernels/attention/wide_heads_sm90_finish.h"

namespace perceiver::hopper {

template <class Tile>
struct Warpgroup {
  using Scores = float[Tile::kKeys / 2];

  const KernelArguments& args;
  const SharedLayout<Tile>& shared;
  int group;
  RingPlace<Tile> place;

  // The stage of the next tile, once it is there.
  __device__ __forceinline__ uint32_t take_tile() {
    const uint32_t stage = place.stage;
    barrier_wait(shared.full(stage), place.phase);
    place.next();
    return stage;
  }

  // A warp is done with what is there. Both blocks of a pair have filled a stage.
  __device__ __forceinline__ void release(uint32_t stage) {
    const uint32_t lane = threadIdx.x % 32, empty = shared.empty(stage);
    if constexpr (Tile::kPaired) {
      if (lane < 2) barrier_arrive_at(empty, lane);
    } else {
      if (lane == 0) barrier_arrive(empty);
    }
  }
  __device__ __forceinline__ void release_queries() {
    if (threadIdx.x % 32 == 0) barrier_arrive(shared.queries_empty());
  }

  // Scores that are complete become weights. Where keys are the values too, their stage is needed
  // until these are added.
  __device__ __forceinline__ void weigh(Scores& scores, RunningSoftmax& softmax, uint32_t stage) {
    hold(scores);
    hide<Tile>(scores, shared.mask_of(stage));
    if constexpr (!Tile::kKeysAreValues) release(stage);
    softmax.step(scores, args.scale_log2);
    hold(scores);
  }

  // The wait for a product of values stands at the head of the loop and the softmax at its end: in
  // one piece of code the compiler would move the softmax behind the wait.
  __device__ __forceinline__ void attend(int tiles, ValueSums<Tile>& sums,
                                         RunningSoftmax& softmax) {
    Scores scores;
    uint32_t weights[Tile::kKeys / 16][4];
    uint32_t key_stage = take_tile(), value_stage = key_stage;
    product_fence();
    start_scores<Tile>(scores, shared, group, key_stage);
    product_wait<0>();
    weigh(scores, softmax, key_stage);
    softmax.keep_sums();

#pragma unroll 1
    for (int tile = 1;; ++tile) {
      product_wait<0>();
      sums.hold();
      hold(scores);  // the weights' registers are in use until here
      if (tile > 1) release(value_stage);
      sums.rescale(softmax.rescale);
      pack_weights<Tile>(weights, scores);
      if constexpr (Tile::kKeysAreValues) value_stage = key_stage;
      if (tile == tiles) break;

      key_stage = take_tile();
      wait_for_turn(group);
      product_fence();
      start_scores<Tile>(scores, shared, group, key_stage);
      if constexpr (!Tile::kKeysAreValues) {
        value_stage = take_tile();
        product_fence();
      }
      start_values<Tile>(sums, weights, shared, value_stage, tile > 1);
      pass_turn(group);
      product_wait<1>();
      weigh(scores, softmax, key_stage);
    }

    release_queries();
    if constexpr (!Tile::kKeysAreValues) value_stage = take_tile();
    product_fence();
    start_values<Tile>(sums, weights, shared, value_stage, tiles > 1);
    product_wait<0>();
    sums.hold();
    release(value_stage);
  }
};

}  // namespace perceiver::hopper
