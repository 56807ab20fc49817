//===- attention_backward_plain.cuh - Its plain version ---------*- C++ -*-===//
//
// attention_backward.cuh for any types and sizes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "attention_backward_parts.cuh"

namespace sinter {
namespace attention {

template <class P, bool KEYS>
SINTER_DEVICE void backward_plain(const BackwardOperands<P> &operands,
                                  typename P::Result *firstResult,
                                  typename P::Result *secondResult) {
  constexpr int kRows = backward_rows<P, KEYS>(), kPassing = backward_passing<P>();
  constexpr int kThreads = backward_block<P, KEYS>();
  constexpr int kColumns = round_up(P::headSize, 32), kPitch = float_pitch_of(kColumns);
  constexpr int kWeightPitch = float_pitch_of(kPassing);
  constexpr int kOwn = 8 * kRows / kThreads, kScores = kPassing / 8, kParts = kColumns / 32;

  QueryInfo *infos = dynamic_shared<QueryInfo>();
  float *stay1 = reinterpret_cast<float *>(infos + (KEYS ? 2 * kPassing : kRows));
  float *stay2 = stay1 + kRows * kPitch;
  float *pass1 = stay2 + kRows * kPitch, *pass2 = pass1 + kPassing * kPitch;
  float *changes = pass2 + kPassing * kPitch, *weights = changes + kRows * kWeightPitch;

  BackwardTile<P, KEYS, kRows, kPassing> tile;
  tile.template find<kThreads>(operands);
  const int lane = threadIdx.x % 8, ownRow = threadIdx.x / 8 * kOwn;
  const Seed<P> seed(operands.seeds);

  tile.template copy_staying<kThreads>(operands, stay1, stay2);
  if constexpr (!KEYS)
    tile.write_infos(operands, infos);

  Vector<float, 4> first[kOwn][kParts] = {}, second[KEYS ? kOwn : 1][KEYS ? kParts : 1] = {};
  for (auto place = tile.first_place(); tile.is_place(place); place = tile.after(place)) {
    const auto [head, at] = place;
    const float slope = slope_of<P>(operands.slopes, head);
    // Everybody is done with the tile before.
    __syncthreads();
    tile.template copy_passing<kThreads>(operands, pass1, pass2, place);
    if constexpr (KEYS)
      if (threadIdx.x < kPassing)
        infos[threadIdx.x] = tile.passing_info(operands, place);
    __syncthreads();

    float scores[kOwn][kScores] = {}, products[kOwn][kScores] = {};
    auto multiply = [&](int d) {
      Vector<float, 4> b1[kScores], b2[kScores];
#pragma unroll
      for (int j = 0; j < kScores; ++j) {
        b1[j] = load<float, 4>(pass1 + (lane + 8 * j) * kPitch + d);
        b2[j] = load<float, 4>(pass2 + (lane + 8 * j) * kPitch + d);
      }
#pragma unroll
      for (int r = 0; r < kOwn; ++r) {
        const Vector<float, 4> a1 = load<float, 4>(stay1 + (ownRow + r) * kPitch + d);
        const Vector<float, 4> a2 = load<float, 4>(stay2 + (ownRow + r) * kPitch + d);
#pragma unroll
        for (int j = 0; j < kScores; ++j)
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            scores[r][j] = fma(a1[i], b1[j][i], scores[r][j]);
            products[r][j] = fma(a2[i], b2[j][i], products[r][j]);
          }
      }
    };
    if constexpr (has_wide_heads<P>()) {
// Their results leave few registers for what is read ahead.
#pragma unroll 1
      for (int d = 0; d < P::headSize; d += 4)
        multiply(d);
    } else {
      for (int d = 0; d < P::headSize; d += 4)
        multiply(d);
    }
#pragma unroll
    for (int r = 0; r < kOwn; ++r)
#pragma unroll
      for (int j = 0; j < kScores; ++j) {
        const int query = KEYS ? lane + 8 * j : ownRow + r;
        const int t = (KEYS ? at : tile.row) + query;
        const int key = KEYS ? tile.row + ownRow + r : at + lane + 8 * j;
        bool isKept = true;
        if constexpr (P::dropout > 0)
          isKept = seed.keeps(seed.number_row(tile.slot, head, t) + key);
        differentiate_score<P>(scores[r][j], products[r][j], infos[query], slope, tile.start + t,
                               key, infos[query].sees(key), isKept);
        changes[(ownRow + r) * kWeightPitch + lane + 8 * j] = products[r][j];
        if constexpr (KEYS)
          weights[(ownRow + r) * kWeightPitch + lane + 8 * j] = scores[r][j];
      }
    // A row's threads are of one warp.
    __syncwarp();

    for (int j = 0; j < kPassing; ++j) {
      float change[kOwn], weight[kOwn];
#pragma unroll
      for (int r = 0; r < kOwn; ++r) {
        change[r] = changes[(ownRow + r) * kWeightPitch + j];
        if constexpr (KEYS)
          weight[r] = weights[(ownRow + r) * kWeightPitch + j];
      }
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        const Vector<float, 4> b1 = load<float, 4>(pass1 + j * kPitch + 4 * lane + 32 * part);
#pragma unroll
        for (int r = 0; r < kOwn; ++r)
#pragma unroll
          for (int c = 0; c < 4; ++c)
            first[r][part][c] = fma(change[r], b1[c], first[r][part][c]);
        if constexpr (KEYS) {
          const Vector<float, 4> b2 = load<float, 4>(pass2 + j * kPitch + 4 * lane + 32 * part);
#pragma unroll
          for (int r = 0; r < kOwn; ++r)
#pragma unroll
            for (int c = 0; c < 4; ++c)
              second[r][part][c] = fma(weight[r], b2[c], second[r][part][c]);
        }
      }
    }
  }

#pragma unroll
  for (int r = 0; r < kOwn; ++r) {
    if (ownRow + r >= tile.rows)
      break;
    const long long to = tile.result_row(ownRow + r);
#pragma unroll
    for (int part = 0; part < kParts; ++part)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (int column = 4 * lane + 32 * part + i; column < P::headSize) {
          firstResult[to + column] =
              from_float<typename P::Result>(first[r][part][i] * static_cast<float>(P::scale));
          if constexpr (KEYS)
            secondResult[to + column] = from_float<typename P::Result>(second[r][part][i]);
        }
  }
}

} // namespace attention
} // namespace sinter
