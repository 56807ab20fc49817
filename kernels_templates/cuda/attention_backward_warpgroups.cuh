//===- attention_backward_warpgroups.cuh - By warpgroups --------*- C++ -*-===//
//
// attention_backward.cuh with matrix instructions of warpgroups (wgmma).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "attention_backward_parts.cuh"

namespace sinter {
namespace attention {

template <class P, bool KEYS>
SINTER_DEVICE void backward_warpgroups(const BackwardOperands<P> &operands,
                                       typename P::Result *firstResult,
                                       typename P::Result *secondResult) {
#if SINTER_HAS_WGMMA
  using T = typename P::Element;
  constexpr int kRows = backward_rows<P, KEYS>(), kPassing = backward_passing<P>();
  constexpr int kThreads = backward_block<P, KEYS>();
  // A warpgroup's rows of those that stay; tiles are of 64 columns.
  constexpr int kGroupRows = 64, kTiles = P::headSize / 64;
  constexpr int kStay = kRows * P::headSize, kPass = kPassing * P::headSize;
  // Rows of a left side in registers, for one product each.
  constexpr int kSteps = kPassing / 16;

  T *stay1 = dynamic_shared_for_wgmma<T>(), *stay2 = stay1 + kStay, *stages = stay2 + kStay;
  QueryInfo *infos = reinterpret_cast<QueryInfo *>(stages + 4 * kPass);

  BackwardTile<P, KEYS, kRows, kPassing> tile;
  tile.template find<kThreads>(operands);
  const int lane = lane_index();
  // Of one warp's threads all are told the same, so that it is known to be the same.
  const int groupRow =
      __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / kWarpgroup, 0) * kGroupRows;
  const int ownRow = groupRow + warp_index() % 4 * 16;
  const WgmmaMatrix ownMatrix = wgmma_matrix(stay1).after(groupRow * 64);
  const WgmmaMatrix stagesMatrix = wgmma_matrix(stages);
  const Seed<P> seed(operands.seeds);

  using Place = typename decltype(tile)::Place;
  auto copy_tile = [&](Place place, int stage) {
    T *to = stages + stage * 2 * kPass;
    tile.template copy_passing<kThreads>(operands, to, to + kPass, place);
  };

  Place place = tile.first_place();
  tile.template copy_staying<kThreads>(operands, stay1, stay2);
  tile.write_infos(operands, infos);
  if (tile.is_place(place))
    copy_tile(place, 0);
  cp_async_commit();

  float first[kTiles][8][4] = {}, second[kTiles][8][4] = {};
  for (int stage = 0; tile.is_place(place); stage ^= 1) {
    const auto [head, at] = place;
    const float slope = slope_of<P>(operands.slopes, head);
    // This tile is there, and everybody is done with the one before.
    cp_async_wait<0>();
    fence_for_wgmma();
    __syncthreads();
    place = tile.after(place);
    const bool isLast = !tile.is_place(place);
    if (!isLast)
      copy_tile(place, stage ^ 1);
    cp_async_commit();
    QueryInfo next = {};
    if constexpr (KEYS)
      if (!isLast && threadIdx.x < kPassing)
        next = tile.passing_info(operands, place);

    // Rows that stay, and those that pass by, of element i of product j.
    auto row_of = [&](int i) { return ownRow + i / 2 * 8 + lane / 4; };
    auto passing_of = [&](int j, int i) { return j * 8 + lane % 4 * 2 + i % 2; };
    auto info_of = [&](int, int j, int i) -> const QueryInfo & {
      return infos[KEYS ? stage * kPassing + passing_of(j, i) : row_of(i)];
    };
    auto key_of = [&](int, int j, int i) {
      return KEYS ? tile.row + row_of(i) : at + passing_of(j, i);
    };
    auto query_of = [&](int, int j, int i) {
      return KEYS ? at + passing_of(j, i) : tile.row + row_of(i);
    };
    // What a warpgroup sees nothing of, it does not compute: its warps look at the same.
    Sight sight;
    for (int i = lane; i < 64; i += kWarp)
      if constexpr (KEYS)
        sight.look(infos[stage * kPassing + i].keys, tile.row + groupRow, kGroupRows);
      else
        sight.look(infos[groupRow + i].keys, at, kPassing);
    if (__any_sync(0xffffffffu, sight.seen)) {
      const WgmmaMatrix pass1 = stagesMatrix.after(stage * 2 * kPass), pass2 = pass1.after(kPass);
      float scores[1][8][4], products[1][8][4];
      wgmma_fence(scores, products);
      auto multiply = [&](float (&d)[8][4], WgmmaMatrix stay, WgmmaMatrix pass) {
#pragma unroll
        for (int k = 0; k < P::headSize; k += 16) {
          const WgmmaMatrix a = stay.after(k / 64 * (kRows * 64) + k % 64);
          const WgmmaMatrix b = pass.after(k / 64 * (kPassing * 64) + k % 64);
          if (k == 0)
            wgmma_rows<T, false>(d, a, b);
          else
            wgmma_rows<T, true>(d, a, b);
        }
      };
      multiply(scores[0], ownMatrix, pass1);
      multiply(products[0], ownMatrix.after(kStay), pass2);
      wgmma_commit();
      wgmma_wait<0>(scores, products);
      differentiate_scores<P>(scores, products, __any_sync(0xffffffffu, sight.crossed), tile.slot,
                              head, tile.start, slope, seed, info_of, query_of, key_of);

      unsigned changes[kSteps][4], weights[kSteps][4];
#pragma unroll
      for (int k = 0; k < kSteps; ++k) {
        pack_as_a<T>(changes[k], products[0][2 * k], products[0][2 * k + 1]);
        if constexpr (KEYS)
          pack_as_a<T>(weights[k], scores[0][2 * k], scores[0][2 * k + 1]);
      }
      auto accumulate = [&](float (&d)[kTiles][8][4], const unsigned (&a)[kSteps][4],
                            WgmmaMatrix pass) {
#pragma unroll
        for (int k = 0; k < kSteps; ++k)
#pragma unroll
          for (int c = 0; c < kTiles; ++c)
            wgmma_columns<T>(d[c], a[k], pass.after((c * kPassing + k * 16) * 64));
      };
      if constexpr (KEYS)
        wgmma_fence(first, changes, second, weights);
      else
        wgmma_fence(first, changes);
      accumulate(first, changes, pass1);
      if constexpr (KEYS)
        accumulate(second, weights, pass2);
      wgmma_commit();
      if constexpr (KEYS)
        wgmma_wait<0>(first, second);
      else
        wgmma_wait<0>(first);
    }
    if constexpr (KEYS)
      if (threadIdx.x < kPassing)
        infos[(stage ^ 1) * kPassing + threadIdx.x] = next;
  }
  cp_async_wait<0>();

#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int r = ownRow + half * 8 + lane / 4;
    if (r >= tile.rows)
      break;
    const long long to = tile.result_row(r) + lane % 4 * 2;
#pragma unroll
    for (int c = 0; c < kTiles; ++c)
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const long long column = to + c * 64 + j * 8;
        write_pair(firstResult + column, first[c][j][half * 2], first[c][j][half * 2 + 1],
                   static_cast<float>(P::scale));
        if constexpr (KEYS)
          write_pair(secondResult + column, second[c][j][half * 2], second[c][j][half * 2 + 1],
                     1.0f);
      }
  }
#else
  static_assert(!P::warpgroups, "products of warpgroups are for sm_90a alone");
#endif
}

} // namespace attention
} // namespace sinter
