//===- sample.cuh - Drawing a token from a row of logits --------*- C++ -*-===//
//
// sinter.sample: an id of each row by temperature, top-k and top-p, which are data.
//
// Versions:
//
//   bisected  A block draws from one row. The first pass over it finds the largest logit and its
//             first id, which is all that a greedy choice needs. What top-k and top-p keep is what
//             is above a threshold and some of what equals it; a threshold is bisected as an
//             integer: each pass weighs the upper half of the range that it can be in, and moves
//             both ends on to logits that are there. The drawn id is looked for by 16 warps, each
//             in a part of the row, and then by the one whose part has it. Weights are whole
//             numbers, so that a sum does not depend on who adds in which order.
//
//             As many logits as the block has threads are not below the least of what is each
//             thread's largest. A second pass collects what is above that in shared memory, a few
//             thousand of them, and nearly always the threshold is there: a row is then read three
//             times, from the L2 cache but for the first, four where there is no top-k and all
//             weights are summed. Where too many are equal, or top-p keeps more, all passes are over
//             the row.
//
// (Sorting moves each logit many times over to learn what a handful of comparisons tells; a
// histogram of all leading bits needs atomics for every logit, where nearly all are in no range
// after the first passes.)
//
// Parameters:
//
//   batch, vocabulary   (int) rows, and logits of a row; at most 2^20
//
// Arguments: logits (f32 [batch, vocabulary]), temperature (f32 [batch]), topK (i32 [batch]), topP
// (f32 [batch]), seed (i32 [batch, 2]), start, count (i32 [batch]), result (i32 [batch]).
//
// Launch: sample_grid<P>() = batch blocks of 512 threads.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device.cuh"

namespace sinter {

namespace sampling {
constexpr int kThreads = 512, kWarps = kThreads / kWarp;
/// What dialects/Sinter/Sampling.h says of weights.
constexpr float kWeightBits = 33.0f, kNegligible = 24.0f;
/// Logits that a block keeps in shared memory.
constexpr int kCollected = 8192;
constexpr float kNaN = __builtin_bit_cast(float, 0x7FC00000u);
constexpr float kLargest = 3.402823466e38f, kSmallestNormal = 1.175494351e-38f;

/// A sum of weights.
using Mass = unsigned long long;

/// The numbers from `least` to `most`.
struct Range {
  float least, most;
  SINTER_DEVICE bool contains(float x) const { return x >= least && x <= most; }
};

/// A threshold, and what is above it weighs.
struct Threshold {
  float logit;
  Mass above;
};

/// What a pass over a range finds: what its upper part weighs, the least logit of that, and the
/// largest of the lower part.
struct Halves {
  Mass mass;
  float least, most;
};

/// A logit and where it is.
struct Place {
  float logit;
  int id;
  SINTER_DEVICE bool isBefore(Place other) const {
    return logit > other.logit || (logit == other.logit && id < other.id);
  }
};

/// The order of numbers as an order of integers, and back: the one function is its own inverse.
SINTER_DEVICE int reorder(int bits) { return bits ^ ((bits >> 31) & 0x7FFFFFFF); }
/// Adding zero makes one of both zeros.
SINTER_DEVICE int to_key(float x) { return reorder(__builtin_bit_cast(int, x + 0.0f)); }
SINTER_DEVICE float from_key(int key) { return __builtin_bit_cast(float, reorder(key)); }
SINTER_DEVICE float next_above(float x) { return from_key(to_key(x) + 1); }
SINTER_DEVICE float next_below(float x) { return from_key(to_key(x) - 1); }
/// Half way between two numbers, above the lower one.
SINTER_DEVICE float middle_of(Range range) {
  long long sum = static_cast<long long>(to_key(range.least)) + to_key(range.most);
  return from_key(static_cast<int>((sum + 1) >> 1));
}

/// Every logit counts as one.
struct Count {
  SINTER_DEVICE Mass operator()(float) const { return 1; }
};

/// What a logit weighs: floor(2^33 e^((x - largest) / temperature)).
struct Weigh {
  float largest, inverse;
  SINTER_DEVICE Mass operator()(float x) const {
    return static_cast<Mass>(exp2(fma(x - largest, inverse, kWeightBits)));
  }
};

/// Logits in memory, gone over by a block; a multiple of TOGETHER, which a thread reads together.
template <int TOGETHER> struct Logits {
  const float *data;
  int count;

  template <class Body> SINTER_DEVICE void for_each(Body body) const {
#pragma unroll 2
    for (int first = threadIdx.x * TOGETHER; first < count; first += kThreads * TOGETHER) {
      const Vector<float, TOGETHER> x = load<float, TOGETHER>(data + first);
#pragma unroll
      for (int i = 0; i < TOGETHER; ++i)
        body(x[i], first + i);
    }
  }

  template <class Weight> SINTER_DEVICE Mass sum_over(Range range, Weight weigh) const {
    Mass sum = 0;
    for_each([&](float x, int) {
      if (range.contains(x))
        sum += weigh(x);
    });
    return block_reduce_sum<kThreads>(sum);
  }

  /// The largest threshold with which what is not below it reaches the target. `range` has it; its
  /// least number need not be a logit. Minus infinity where all together do not reach it.
  template <class Weight>
  SINTER_DEVICE Threshold find_threshold(Mass target, Range range, Mass above,
                                         Weight weigh) const {
    while (range.least < range.most) {
      const float middle = middle_of(range);
      Halves halves = {0, kInfinity, -kInfinity};
      for_each([&](float x, int) {
        if (!range.contains(x))
          return;
        if (x >= middle) {
          halves.mass += weigh(x);
          halves.least = min_of(halves.least, x);
        } else {
          halves.most = max_of(halves.most, x);
        }
      });
      halves = {warp_reduce_sum(halves.mass), -warp_reduce_max(-halves.least),
                warp_reduce_max(halves.most)};
      halves = detail::combine_warps<kThreads>(halves, [](Halves a, Halves b) {
        return Halves{a.mass + b.mass, min_of(a.least, b.least), max_of(a.most, b.most)};
      });
      if (above + halves.mass >= target) {
        range.least = halves.least;
      } else {
        range.most = halves.most;
        above += halves.mass;
      }
    }
    return {range.most, above};
  }
};

/// A row of logits.
template <int WIDTH> struct Row {
  /// Neighbours that a thread reads together; rows follow each other without gaps.
  static constexpr int kTogether = WIDTH % 4 == 0 ? 4 : WIDTH % 2 == 0 ? 2 : 1;
  /// Logits of a warp's part, a multiple of what it reads at a time.
  static constexpr int kStep = kWarp * kTogether;
  static constexpr int kPart = static_cast<int>(round_up(divide_up(WIDTH, kWarps), kStep));

  const float *logits;

  SINTER_DEVICE Logits<kTogether> whole() const { return {logits, WIDTH}; }

  /// The largest logit and its first id; NaNs count as infinity. As many logits as there are threads,
  /// or all, are not below `bound`: it is the least of what is the largest of each thread's.
  SINTER_DEVICE Place find_largest(float &bound) const {
    Place best = {-kInfinity, 0x7FFFFFFF};
    whole().for_each([&](float x, int id) {
      if (const Place place = {x < kInfinity ? x : kInfinity, id}; place.isBefore(best))
        best = place;
    });
    bound = -block_reduce_max<kThreads>(-best.logit);
#pragma unroll
    for (int step = kWarp / 2; step > 0; step /= 2) {
      const Place other = {__shfl_xor_sync(0xFFFFFFFFu, best.logit, step),
                           __shfl_xor_sync(0xFFFFFFFFu, best.id, step)};
      if (other.isBefore(best))
        best = other;
    }
    return detail::combine_warps<kThreads>(
        best, [](Place a, Place b) { return b.isBefore(a) ? b : a; });
  }

  /// Puts the logits that are not below `least` into shared memory, in any order; whether they fit.
  SINTER_DEVICE bool collect(float least, Logits<kTogether> &collected) const {
    __shared__ __align__(16) float kept[kCollected];
    __shared__ int count;
    if (threadIdx.x == 0)
      count = 0;
    __syncthreads();
    whole().for_each([&](float x, int) {
      if (!(x >= least))
        return;
      if (const int place = atomicAdd(&count, 1); place < kCollected)
        kept[place] = x;
    });
    __syncthreads();
    const int total = count, end = static_cast<int>(round_up(total, kTogether));
    if (total > kCollected)
      return false;
    if (const int rest = total + threadIdx.x; rest < end)
      kept[rest] = kNaN; // in no range
    __syncthreads();
    collected = {kept, end};
    return true;
  }

  /// Writes the first id of a range at which the running sum of weights, which begins with `sum`,
  /// is above `drawn`. The warps sum their parts; the one whose part has it goes over it again.
  template <class Weight>
  SINTER_DEVICE void write_id(Range range, Mass sum, Mass drawn, Weight weigh, int *result) const {
    __shared__ Mass sums[kWarps];
    const int lane = lane_index(), warp = warp_index();
    const int begin = warp * kPart + lane * kTogether, end = min_of((warp + 1) * kPart, WIDTH);
    auto weigh_at = [&](int first, Mass (&weights)[kTogether]) {
      Mass mass = 0;
      if (first < end) {
        const Vector<float, kTogether> x = load<float, kTogether>(logits + first);
#pragma unroll
        for (int i = 0; i < kTogether; ++i) {
          weights[i] = range.contains(x[i]) ? weigh(x[i]) : 0;
          mass += weights[i];
        }
      }
      return mass;
    };
    Mass weights[kTogether], mass = 0;
    for (int first = begin; first < end; first += kStep)
      mass += weigh_at(first, weights);
    mass = warp_reduce_sum(mass);
    if (lane == 0)
      sums[warp] = mass;
    __syncthreads();
    for (int other = 0; other < warp; ++other)
      sum += sums[other];
    if (sum > drawn || sum + mass <= drawn)
      return;
    for (int base = warp * kPart; base < end; base += kStep) {
      const int first = base + lane * kTogether;
      const Mass own = weigh_at(first, weights);
      Mass until = own;
#pragma unroll
      for (int step = 1; step < kWarp; step *= 2) {
        const Mass before = __shfl_up_sync(0xFFFFFFFFu, until, step);
        until += lane >= step ? before : 0;
      }
      const unsigned reached = __ballot_sync(0xFFFFFFFFu, sum + until > drawn);
      if (reached != 0) {
        if (lane == __ffs(static_cast<int>(reached)) - 1) {
          sum += until - own;
          int id = first;
          for (int i = 0; i < kTogether && sum + weights[i] <= drawn; ++i) {
            sum += weights[i];
            ++id;
          }
          *result = id;
        }
        return;
      }
      sum += __shfl_sync(0xFFFFFFFFu, until, kWarp - 1);
    }
  }
};
} // namespace sampling

template <class P> SINTER_CONSTEXPR int sample_block() { return sampling::kThreads; }
template <class P> SINTER_CONSTEXPR long long sample_grid() { return P::batch; }
template <class P> SINTER_CONSTEXPR int sample_shared() { return 0; }

template <class P>
SINTER_DEVICE void sample(const float *logits, const float *temperature, const int *topK,
                          const float *topP, const int *seed, const int *start, const int *count,
                          int *result) {
  using namespace sampling;
  const int slot = blockIdx.x;
  const Row<P::vocabulary> row = {logits + static_cast<long long>(slot) * P::vocabulary};
  float bound;
  const Place first = row.find_largest(bound);
  const float largest = first.logit, heat = temperature[slot];
  const int wanted = topK[slot];
  const bool isInfinite = abs(largest) == kInfinity;
  if (!(heat > 0.0f) || wanted == 1 || isInfinite) {
    if (threadIdx.x == 0)
      result[slot] = isInfinite ? -1 : first.id;
    return;
  }

  // Between the smallest and the largest normal number, so that no product with it is NaN.
  const Weigh weigh = {largest, min_of(max_of(kLog2E / heat, kSmallestNormal), kLargest)};
  // Below the largest, however low the temperature: what is found is a logit that was seen.
  const float least = min_of(largest - kNegligible * heat, next_below(largest));
  // Nearly always the threshold is among the few logits from `bound` on.
  bound = max_of(bound, least);
  auto candidates = row.whole();
  const bool isCollected = row.collect(bound, candidates);

  Threshold kept = {-kInfinity, 0};
  Mass ties = 0;
  if (wanted > 0) {
    const bool isAmong = isCollected && wanted <= kThreads;
    kept = (isAmong ? candidates : row.whole())
               .find_threshold(wanted, {least, largest}, 0, Count());
    ties = wanted - kept.above;
  }
  const bool isAmong = isCollected && max_of(kept.logit, least) >= bound;
  kept.above = (isAmong ? candidates : row.whole())
                   .sum_over({next_above(kept.logit), largest}, weigh);
  if (const float share = topP[slot]; share < 1.0f) {
    const Mass all = kept.above + ties * weigh(kept.logit);
    const Mass target = static_cast<Mass>(
        ::ceil(static_cast<double>(max_of(share, 0.0f)) * static_cast<double>(all)));
    const Range range = {max_of(least, kept.logit), largest};
    const bool isReached =
        isAmong || (isCollected && candidates.sum_over({bound, largest}, weigh) >= target);
    kept = (isReached ? candidates : row.whole()).find_threshold(target, range, 0, weigh);
    const Mass weight = weigh(kept.logit);
    ties = max_of((target - kept.above + weight - 1) / weight, Mass(1));
  }

  const uint4 counter = make_uint4(static_cast<unsigned>(start[slot]) + count[slot], 0, 0, 0);
  const uint4 words =
      philox(counter, make_uint2(static_cast<unsigned>(seed[2 * slot]),
                                 static_cast<unsigned>(seed[2 * slot + 1])));
  const double uniform =
      ((words.x >> 5) * 67108864.0 + (words.y >> 6)) * (1.0 / 9007199254740992.0);
  const Mass all = kept.above + ties * weigh(kept.logit);
  const Mass drawn = static_cast<Mass>(uniform * static_cast<double>(all));
  const bool isTie = drawn >= kept.above;
  row.write_id(isTie ? Range{kept.logit, kept.logit} : Range{next_above(kept.logit), largest},
               isTie ? kept.above : 0, drawn, weigh, result + slot);
}

} // namespace sinter
