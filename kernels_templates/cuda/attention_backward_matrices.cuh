//===- attention_backward_matrices.cuh - By warps ---------------*- C++ -*-===//
//
// attention_backward.cuh with matrix instructions of warps (mma.sync).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "attention_backward_parts.cuh"

namespace sinter {
namespace attention {

template <class P, bool KEYS, bool FIRST = true, bool SECOND = KEYS>
SINTER_DEVICE void backward_matrices(const BackwardOperands<P> &operands,
                                     typename P::Result *firstResult,
                                     typename P::Result *secondResult) {
  using T = typename P::Element;
  constexpr int kRows = backward_rows<P, KEYS>(), kPassing = backward_passing<P>();
  constexpr int kThreads = backward_block<P, KEYS>(), kSplits = backward_splits<P, KEYS>();
  constexpr int kPitch = pitch_of(P::headSize), kSteps = P::headSize / 16;
  // A warp's rows, 16 at a time, and those that pass by that it computes with at a time.
  constexpr int kTiles = backward_is_tall<P, KEYS>() ? 2 : 1, kWarpRows = 16 * kTiles;
  constexpr int kTogether = kTiles > 1 ? 32 : kPassing, kScores = kTogether / 8;
  // A warp's columns of the results, 16 at a time; the last of its parts may not exist.
  constexpr int kParts = static_cast<int>(divide_up(kSteps, kSplits));

  QueryInfo *infos = dynamic_shared<QueryInfo>();
  T *stay1 = reinterpret_cast<T *>(infos + (KEYS ? 2 * kPassing : kRows));
  T *stay2 = stay1 + kRows * kPitch, *stages = stay2 + kRows * kPitch;

  BackwardTile<P, KEYS, kRows, kPassing> tile;
  tile.template find<kThreads>(operands);
  const int lane = lane_index(), ownRow = warp_index() / kSplits * kWarpRows;
  const int firstPart = warp_index() % kSplits * kParts;
  const Seed<P> seed(operands.seeds);

  using Place = typename decltype(tile)::Place;
  auto copy_tile = [&](Place place, int stage) {
    T *to = stages + stage * 2 * kPassing * kPitch;
    tile.template copy_passing<kThreads>(operands, to, to + kPassing * kPitch, place);
  };

  Place place = tile.first_place();
  tile.template copy_staying<kThreads>(operands, stay1, stay2);
  tile.write_infos(operands, infos);
  if (tile.is_place(place))
    copy_tile(place, 0);
  cp_async_commit();

  float first[kTiles][kParts][2][4] = {}, second[kTiles][kParts][2][4] = {};
  for (int stage = 0; tile.is_place(place); stage ^= 1) {
    const auto [head, at] = place;
    const float slope = slope_of<P>(operands.slopes, head);
    // This tile is there, and everybody is done with the one before.
    cp_async_wait<0>();
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

    const T *pass1 = stages + stage * 2 * kPassing * kPitch, *pass2 = pass1 + kPassing * kPitch;
#pragma unroll 1
    for (int part = 0; part < kPassing; part += kTogether) {
      // Rows that stay, and those that pass by, of element i of product j.
      auto row_of = [&](int m, int i) { return ownRow + m * 16 + i / 2 * 8 + lane / 4; };
      auto passing_of = [&](int j, int i) { return part + j * 8 + lane % 4 * 2 + i % 2; };
      auto info_of = [&](int m, int j, int i) -> const QueryInfo & {
        return infos[KEYS ? stage * kPassing + passing_of(j, i) : row_of(m, i)];
      };
      // What is seen from nowhere is not computed.
      Sight sight;
      if constexpr (KEYS) {
        for (int i = lane; i < kTogether; i += kWarp)
          sight.look(infos[stage * kPassing + part + i].keys, tile.row + ownRow, kWarpRows);
      } else {
#pragma unroll
        for (int m = 0; m < kTiles; ++m)
#pragma unroll
          for (int half = 0; half < 2; ++half)
            sight.look(infos[row_of(m, 2 * half)].keys, at + part, kTogether);
      }
      if (!__any_sync(0xffffffffu, sight.seen))
        continue;

      float scores[kTiles][kScores][4] = {}, products[kTiles][kScores][4] = {};
#pragma unroll(kTiles > 1 ? kSteps : 2)
      for (int step = 0; step < kSteps; ++step) {
        unsigned a1[kTiles][4], a2[kTiles][4];
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
          load_rows_as_a<kPitch>(a1[m], stay1 + (ownRow + m * 16) * kPitch + step * 16, lane);
          if constexpr (FIRST)
            load_rows_as_a<kPitch>(a2[m], stay2 + (ownRow + m * 16) * kPitch + step * 16, lane);
        }
#pragma unroll
        for (int j = 0; j < kScores; j += 2) {
          unsigned b1[4], b2[4];
          load_rows_as_b<kPitch>(b1, pass1 + (part + j * 8) * kPitch + step * 16, lane);
          if constexpr (FIRST)
            load_rows_as_b<kPitch>(b2, pass2 + (part + j * 8) * kPitch + step * 16, lane);
#pragma unroll
          for (int m = 0; m < kTiles; ++m) {
            mma_m16n8k16<T>(scores[m][j], a1[m], b1[0], b1[1]);
            mma_m16n8k16<T>(scores[m][j + 1], a1[m], b1[2], b1[3]);
            if constexpr (FIRST) {
              mma_m16n8k16<T>(products[m][j], a2[m], b2[0], b2[1]);
              mma_m16n8k16<T>(products[m][j + 1], a2[m], b2[2], b2[3]);
            }
          }
        }
      }

      auto key_of = [&](int m, int j, int i) {
        return KEYS ? tile.row + row_of(m, i) : at + passing_of(j, i);
      };
      auto query_of = [&](int m, int j, int i) {
        return KEYS ? at + passing_of(j, i) : tile.row + row_of(m, i);
      };
      differentiate_scores<P>(scores, products, __any_sync(0xffffffffu, sight.crossed), tile.slot,
                              head, tile.start, slope, seed, info_of, query_of, key_of);

#pragma unroll
      for (int j = 0; j < kScores; j += 2) {
        unsigned change[kTiles][4], weight[kTiles][4];
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
          if constexpr (FIRST)
            pack_as_a<T>(change[m], products[m][j], products[m][j + 1]);
          if constexpr (SECOND)
            pack_as_a<T>(weight[m], scores[m][j], scores[m][j + 1]);
        }
#pragma unroll
        for (int c = 0; c < kParts; ++c) {
          if (kSteps % kSplits != 0 && firstPart + c >= kSteps)
            break;
          const int from = (part + j * 8) * kPitch + (firstPart + c) * 16;
          unsigned b[4];
          if constexpr (FIRST) {
            load_columns_as_b<kPitch>(b, pass1 + from, lane);
#pragma unroll
            for (int m = 0; m < kTiles; ++m) {
              mma_m16n8k16<T>(first[m][c][0], change[m], b[0], b[1]);
              mma_m16n8k16<T>(first[m][c][1], change[m], b[2], b[3]);
            }
          }
          if constexpr (SECOND) {
            load_columns_as_b<kPitch>(b, pass2 + from, lane);
#pragma unroll
            for (int m = 0; m < kTiles; ++m) {
              mma_m16n8k16<T>(second[m][c][0], weight[m], b[0], b[1]);
              mma_m16n8k16<T>(second[m][c][1], weight[m], b[2], b[3]);
            }
          }
        }
      }
    }
    if constexpr (KEYS)
      if (threadIdx.x < kPassing)
        infos[(stage ^ 1) * kPassing + threadIdx.x] = next;
  }
  cp_async_wait<0>();

#pragma unroll
  for (int m = 0; m < kTiles; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int r = ownRow + m * 16 + half * 8 + lane / 4;
      if (r >= tile.rows)
        break;
      const long long to = tile.result_row(r);
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        if (kSteps % kSplits != 0 && firstPart + part >= kSteps)
          break;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const long long column = to + (firstPart + part) * 16 + i * 8 + lane % 4 * 2;
          if constexpr (FIRST)
            write_pair(firstResult + column, first[m][part][i][half * 2],
                       first[m][part][i][half * 2 + 1], static_cast<float>(P::scale));
          if constexpr (SECOND)
            write_pair(secondResult + column, second[m][part][i][half * 2],
                       second[m][part][i][half * 2 + 1], 1.0f);
        }
      }
    }
}

} // namespace attention
} // namespace sinter
