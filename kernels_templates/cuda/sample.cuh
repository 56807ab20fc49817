//===- sample.cuh - Drawing a token from a row of logits --------*- C++ -*-===//
//
// sinter.sample: an id of each row by temperature, top-k and top-p, which are data.
//
// Versions:
//
//   bisected  Blocks look at parts of a row, and the one that arrives last draws from it. A greedy
//             choice needs the largest logit of each part and its first id, and nothing else. What
//             top-k and top-p keep is what is above a threshold and some of what equals it; a
//             threshold is bisected as an integer: each pass weighs the upper half of the range
//             that it can be in, and moves both ends on to logits that are there. The drawn id is
//             looked for by 16 warps, each in some of the logits, and then by the one whose part
//             has it. Weights are whole numbers, so that a sum does not depend on who adds in which
//             order.
//
//             Nearly always all that is kept is among few logits, and passes over these cost
//             little. A block writes those of its part that are not below the least of what groups
//             of its threads have found as their largest: as many as there are groups, and a few
//             times that. Of all parts' bounds the largest is that of the row. Where all weights
//             are summed, or top-k keeps more than groups are sure to have, every block looks at
//             the whole row first: the largest logit is in every weight, and so each can weigh its
//             part. Where too many are equal, or top-p keeps more, passes are over the row, of one
//             block.
//
// (Sorting moves each logit many times over to learn what a handful of comparisons tells; a
// histogram of all leading bits needs atomics for every logit, where nearly all are in no range
// after the first passes.)
//
// Parameters:
//
//   batch, vocabulary   (int) rows, and logits of a row; at most 2^20
//
// Arguments: logits (f32 [batch, vocabulary]), temperature (f32 [batch]), topK (i32 [batch]), topP,
// minP (f32 [batch]), seed (i32 [batch, 2]), start, count (i32 [batch]), result (i32 [batch]), scratch.
// `scratch` has sample_scratch<P>() bytes, aligned to 16, that are this kernel's alone, or whose
// first sample_tickets<P>() bytes are zero before each launch. They are zero before the first one,
// and the kernel leaves them so.
//
// Launch: sample_grid<P>() blocks of 512 threads.
//
//   blocks     = min(16, ceil(vocabulary / 2048), floor(132 / batch)), at least 1
//   grid       = batch blocks
//   candidates = min(8192, 4 ceil(ceil((vocabulary + 3) / 4) / blocks))
//   tickets    = 4 batch rounded up to 16
//   scratch    = tickets + batch blocks (144 + 8 candidates)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device.cuh"

namespace sinter {

namespace sampling {
constexpr int kThreads = 512, kWarps = kThreads / kWarp;
/// What dialects/Sinter/Sampling.h says of weights.
constexpr float kWeightBits = 33.0f, kNegligible = 24.0f;
/// Candidates that a block keeps in shared memory.
constexpr int kCollected = 8192;
/// Neighbouring threads whose largest logit is one, where a block looks at its part alone, and how
/// many of such are in a block: as many logits at the least are candidates.
constexpr int kGroup = 8, kGroups = kThreads / kGroup;
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
  Mass mass = 0;
  float least = kInfinity, most = -kInfinity;
  SINTER_DEVICE Halves of_warp() const;
};

/// A logit and where it is.
struct Place {
  float logit;
  int id;
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

constexpr unsigned kAllLanes = 0xFFFFFFFFu;
/// The largest number of a warp's, the smallest, and the first of the largest.
SINTER_DEVICE float warp_largest(float x) {
  return from_key(__reduce_max_sync(kAllLanes, to_key(x)));
}
SINTER_DEVICE float warp_least(float x) {
  return from_key(__reduce_min_sync(kAllLanes, to_key(x)));
}
SINTER_DEVICE Place warp_first(Place place) {
  const float largest = warp_largest(place.logit);
  return {largest, __reduce_min_sync(kAllLanes, place.logit == largest ? place.id : 0x7FFFFFFF)};
}
/// The sum of a warp's; all sums have 53 bits at the most.
SINTER_DEVICE Mass warp_sum(Mass mass) {
  constexpr int kBits = 27; // 32 of them fit a word
  const auto low = static_cast<unsigned>(mass) & ((1u << kBits) - 1);
  const auto high = static_cast<unsigned>(mass >> kBits);
  return (static_cast<Mass>(__reduce_add_sync(kAllLanes, high)) << kBits) +
         __reduce_add_sync(kAllLanes, low);
}
SINTER_DEVICE Halves Halves::of_warp() const {
  return {warp_sum(mass), warp_least(least), warp_largest(most)};
}
/// What each lane gets of what the warps of a block have found, `none` if there is no such warp.
template <class T> SINTER_DEVICE T exchange(T found, T none) {
  __shared__ T all[kWarps];
  if (lane_index() == 0)
    all[warp_index()] = found;
  __syncthreads();
  const T result = lane_index() < kWarps ? all[lane_index()] : none;
  // Whoever exchanges next writes the same memory.
  __syncthreads();
  return result;
}
SINTER_DEVICE Mass block_sum(Mass mass) { return warp_sum(exchange(warp_sum(mass), Mass(0))); }

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

/// Weights below `fewest` are none.
struct WeighLarge {
  Weigh weigh;
  Mass fewest;
  SINTER_DEVICE Mass operator()(float x) const {
    const Mass weight = weigh(x);
    return weight >= fewest ? weight : 0;
  }
};

/// What a block tells the last one of its part of a row: the largest logit that it knows of and the
/// first id of it, and that all of its logits from `bound` on are candidates, `count` of them.
struct Found {
  Place best = {-kInfinity, 0x7FFFFFFF};
  float bound = -kInfinity;
  int count = 0;
};

/// Logits side by side, which threads read four at a time. The first four begin `skew` before
/// `data` where that is not aligned to 16 bytes.
struct Logits {
  const float *data;
  int count, skew;

  SINTER_DEVICE static Logits of(const float *data, int count) {
    return {data, count, static_cast<int>(reinterpret_cast<unsigned long long>(data) / 4 % 4)};
  }
  /// One of two, in registers.
  SINTER_DEVICE static Logits pick(bool isFirst, const Logits &first, const Logits &second) {
    return {isFirst ? first.data : second.data, isFirst ? first.count : second.count,
            isFirst ? first.skew : second.skew};
  }

  SINTER_DEVICE int fours() const { return (count + skew + 3) / 4; }
  /// The four that one of so many parts begins with; parts differ by one at the most.
  SINTER_DEVICE int begin_of(int part, int parts) const { return fours() * part / parts; }

  /// The logits from 4 `four` - skew on, minus infinity where there are none.
  SINTER_DEVICE Vector<float, 4> read(int four) const {
    const int first = 4 * four - skew;
    if (first >= 0 && first + 4 <= count)
      return load<float, 4>(data + first);
    Vector<float, 4> x;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      x[i] = first + i >= 0 && first + i < count ? data[first + i] : -kInfinity;
    return x;
  }

  /// Calls `body(logit, place)` for every `stride`-th four from `begin` on; TOGETHER are read
  /// before the first is used.
  template <int TOGETHER, class Body>
  SINTER_DEVICE void for_each(int begin, int end, int stride, Body body) const {
    // Fours before this one are whole, but for the first.
    const int whole = min_of(end, (count + skew) / 4);
    for (int four = begin; four < end;) {
      if ((four > 0 || skew == 0) && four + (TOGETHER - 1) * stride < whole) {
        Vector<float, 4> x[TOGETHER];
#pragma unroll
        for (int j = 0; j < TOGETHER; ++j)
          x[j] = load<float, 4>(data + 4 * (four + j * stride) - skew);
#pragma unroll
        for (int j = 0; j < TOGETHER; ++j)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            body(x[j][i], 4 * (four + j * stride) - skew + i);
        four += TOGETHER * stride;
      } else {
        const Vector<float, 4> x = read(four);
#pragma unroll
        for (int i = 0; i < 4; ++i)
          body(x[i], 4 * four - skew + i);
        four += stride;
      }
    }
  }
  /// The same of all of them, by a block.
  template <class Body> SINTER_DEVICE void for_each(Body body) const {
    for_each<2>(threadIdx.x, fours(), kThreads, body);
  }

  template <class Weight> SINTER_DEVICE Mass sum_over(Range range, Weight weigh) const {
    Mass sum = 0;
    for_each([&](float x, int) {
      if (range.contains(x))
        sum += weigh(x);
    });
    return block_sum(sum);
  }

  /// The largest threshold with which what is not below it reaches the target. `range` has it; its
  /// least number need not be a logit. Minus infinity where all together do not reach it.
  template <class Weight>
  SINTER_DEVICE Threshold find_threshold(Mass target, Range range, Mass above, Weight weigh) const {
    while (range.least < range.most) {
      const float middle = middle_of(range);
      Halves halves;
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
      halves = exchange(halves.of_warp(), Halves());
      halves = halves.of_warp();
      if (above + halves.mass >= target) {
        range.least = halves.least;
      } else {
        range.most = halves.most;
        above += halves.mass;
      }
    }
    return {range.most, above};
  }

  /// Sums of weights of a range in so many equal parts, by the warps of a block.
  template <class Weight>
  SINTER_DEVICE void sum_parts(Range range, Weight weigh, int parts, Mass *sums) const {
    for (int part = warp_index(); part < parts; part += kWarps) {
      Mass mass = 0;
      for_each<2>(begin_of(part, parts) + lane_index(), begin_of(part + 1, parts), kWarp,
                  [&](float x, int) {
                    if (range.contains(x))
                      mass += weigh(x);
                  });
      mass = warp_sum(mass);
      if (lane_index() == 0)
        sums[part] = mass;
    }
  }

  /// Where the running sum of a range's weights, which begins with `sum`, is first above `drawn`:
  /// in one lane of a warp, all of which call it; -1 in others. `sums` are those of so many equal
  /// parts.
  template <class Weight>
  SINTER_DEVICE int find_drawn(Range range, Mass sum, Mass drawn, Weight weigh, int parts,
                               const Mass *sums) const {
    const int lane = lane_index();
    // The lanes' running sums, and those of the parts of the lane that has it.
    const int each = (parts + kWarp - 1) / kWarp;
    Mass own = 0;
    for (int part = lane * each; part < min_of((lane + 1) * each, parts); ++part)
      own += sums[part];
    int part = pick_lane(own, sum, drawn) * each;
    for (; part < parts - 1 && sum + sums[part] <= drawn; ++part)
      sum += sums[part];
    const int end = begin_of(part + 1, parts);
    for (int base = begin_of(part, parts); base < end; base += kWarp) {
      const int four = base + lane;
      Vector<float, 4> x = {{-kInfinity, -kInfinity, -kInfinity, -kInfinity}};
      if (four < end)
        x = read(four);
      Mass weights[4], all = 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        weights[i] = range.contains(x[i]) ? weigh(x[i]) : 0;
        all += weights[i];
      }
      const int chosen = pick_lane(all, sum, drawn);
      if (chosen == kWarp)
        continue;
      if (lane != chosen)
        return -1;
      int place = 0;
#pragma unroll
      for (int i = 0; i < 3; ++i)
        if (place == i && sum + weights[i] <= drawn) {
          sum += weights[i];
          ++place;
        }
      return 4 * four - skew + place;
    }
    return -1;
  }

private:
  /// The lane at which the running sum of what lanes have is above `drawn`, or 32; `sum` becomes
  /// what is before it.
  SINTER_DEVICE static int pick_lane(Mass own, Mass &sum, Mass drawn) {
    Mass until = own;
#pragma unroll
    for (int step = 1; step < kWarp; step *= 2) {
      const Mass before = __shfl_up_sync(kAllLanes, until, step);
      until += lane_index() >= step ? before : 0;
    }
    const unsigned reached = __ballot_sync(kAllLanes, sum + until > drawn);
    const int chosen = reached ? __ffs(static_cast<int>(reached)) - 1 : kWarp;
    const Mass before = __shfl_sync(kAllLanes, until - own, chosen % kWarp);
    const Mass all = __shfl_sync(kAllLanes, until, kWarp - 1);
    sum += reached ? before : all;
    return chosen;
  }
};

/// Blocks that share a row: a part has 2048 logits at the least, and all together fill a machine.
template <class P> SINTER_CONSTEXPR int sample_blocks() {
  return static_cast<int>(
      max_of(1ll, min_of(min_of(16ll, divide_up(P::vocabulary, 2048)), 132ll / P::batch)));
}
/// Candidates of a block's part of a row; of more it only says how many.
template <class P> SINTER_CONSTEXPR int sample_candidates() {
  return static_cast<int>(min_of<long long>(
      kCollected, 4 * divide_up(divide_up(P::vocabulary + 3, 4), sample_blocks<P>())));
}

/// What blocks leave for the last one of a row.
template <class P> struct Shared {
  static constexpr int kBlocks = sample_blocks<P>(), kCandidates = sample_candidates<P>();
  Mass sums[kBlocks * kWarps];
  Found found[kBlocks];
  Place candidates[kBlocks][kCandidates];
};
} // namespace sampling

template <class P> SINTER_CONSTEXPR int sample_block() { return sampling::kThreads; }
template <class P> SINTER_CONSTEXPR long long sample_grid() {
  return static_cast<long long>(P::batch) * sampling::sample_blocks<P>();
}
template <class P> SINTER_CONSTEXPR int sample_shared() { return 0; }
template <class P> SINTER_CONSTEXPR long long sample_tickets() {
  return round_up(4 * P::batch, 16);
}
template <class P> SINTER_CONSTEXPR long long sample_scratch() {
  constexpr long long kBlocks = sampling::sample_blocks<P>();
  return sample_tickets<P>() +
         P::batch * kBlocks * (8 * sampling::kWarps + 16 + 8 * sampling::sample_candidates<P>());
}

namespace sampling {
/// How a slot draws.
struct Settings {
  float temperature;
  int topK;
  bool isGreedy;

  /// Whether a block looks at all logits: to weigh them the largest has to be known. Otherwise it
  /// looks at its part alone.
  SINTER_DEVICE bool weighs_all() const { return !isGreedy && (topK <= 0 || topK > kGroups); }

  /// Below the largest, however low the temperature: what is found is a logit that was seen.
  SINTER_DEVICE float least_of(float largest) const {
    return min_of(largest - kNegligible * temperature, next_below(largest));
  }
  SINTER_DEVICE Weigh weigh(float largest) const {
    // Between the smallest and the largest normal number, so that no product with it is NaN.
    return {largest, min_of(max_of(kLog2E / temperature, kSmallestNormal), kLargest)};
  }
};

/// Looks for the largest logit, and writes a part's candidates and sums of weights.
template <class P>
SINTER_DEVICE void look_at_part(const Logits &row, const Settings &settings, Shared<P> &shared) {
  constexpr int kParts = sample_blocks<P>() * kWarps;
  const int block = blockIdx.x % sample_blocks<P>(), lane = lane_index(), warp = warp_index();
  const int own = block * kWarps + warp;
  const int begin = row.begin_of(own, kParts), end = row.begin_of(own + 1, kParts);
  const bool weighsAll = settings.weighs_all();

  Found found;
  row.for_each<4>(weighsAll ? threadIdx.x : begin + lane, weighsAll ? row.fours() : end,
                  weighsAll ? kThreads : kWarp, [&](float x, int id) {
                    // NaNs count as infinity.
                    x = minnum(x, kInfinity);
                    if (x > found.best.logit)
                      found.best = {x, id};
                  });
  found.bound = found.best.logit;
  if (!weighsAll)
    found.bound = warp_reduce_max<kGroup>(found.bound);
  found = exchange({warp_first(found.best), warp_least(found.bound), 0},
                   Found{{-kInfinity, 0x7FFFFFFF}, kInfinity, 0});
  found = {warp_first(found.best), warp_least(found.bound), 0};
  const float largest = found.best.logit;
  if (!settings.isGreedy && abs(largest) != kInfinity) {
    const float least = settings.least_of(largest);
    found.bound = max_of(found.bound, least);
    const Weigh weigh = settings.weigh(largest);
    Mass mass = 0;
    int count = 0;
    row.for_each<2>(begin + lane, end, kWarp, [&](float x, int) {
      count += x >= found.bound;
      if (weighsAll && x >= least)
        mass += weigh(x);
    });
    __shared__ int counts[kWarps];
    count = __reduce_add_sync(kAllLanes, count);
    mass = warp_sum(mass);
    if (lane == 0) {
      counts[warp] = count;
      shared.sums[own] = mass;
    }
    __syncthreads();
    int at = 0;
    for (int other = 0; other < kWarps; ++other) {
      at += other < warp ? counts[other] : 0;
      found.count += counts[other];
    }
    for (int base = begin; base < end && found.count <= Shared<P>::kCandidates; base += kWarp) {
      Vector<float, 4> x = {{-kInfinity, -kInfinity, -kInfinity, -kInfinity}};
      if (base + lane < end)
        x = row.read(base + lane);
      int before = 0, all = 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const unsigned are = __ballot_sync(kAllLanes, base + lane < end && x[i] >= found.bound);
        before += __popc(are & ((1u << lane) - 1));
        all += __popc(are);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (base + lane < end && x[i] >= found.bound)
          shared.candidates[block][at + before++] = {x[i], 4 * (base + lane) - row.skew + i};
      at += all;
    }
  }
  if (threadIdx.x == 0)
    shared.found[block] = found;
}
} // namespace sampling

template <class P>
SINTER_DEVICE void sample(const float *logits, const float *temperature, const int *topK,
                          const float *topP, const float *minP, const int *seed,
                          const int *start, const int *count, int *result, void *scratch) {
  using namespace sampling;
  constexpr int kBlocks = sample_blocks<P>();
  pdl_launch_dependents();
  pdl_wait();
  const int slot = blockIdx.x / kBlocks;
  const Logits row =
      Logits::of(logits + static_cast<long long>(slot) * P::vocabulary, P::vocabulary);
  const float heat = temperature[slot];
  const int wanted = topK[slot];
  const Settings settings = {heat, wanted, !(heat > 0.0f) || wanted == 1};
  auto &shared =
      reinterpret_cast<Shared<P> *>(static_cast<char *>(scratch) + sample_tickets<P>())[slot];
  look_at_part<P>(row, settings, shared);
  if (!arrive_last(static_cast<unsigned *>(scratch) + slot, kBlocks))
    return;

  // All logits from `bound` on are candidates.
  Found found;
  if (lane_index() < kBlocks)
    found = shared.found[lane_index()];
  const Place first = warp_first(found.best);
  const float largest = first.logit;
  const bool isInfinite = abs(largest) == kInfinity;
  if (settings.isGreedy || isInfinite) {
    if (threadIdx.x == 0)
      result[slot] = isInfinite ? -1 : first.id;
    return;
  }
  __shared__ __align__(16) float keptLogits[kCollected];
  __shared__ Mass sums[kBlocks * kWarps];
  __shared__ int ends[kBlocks];
  float bound = warp_largest(found.bound);
  int end = found.count;
#pragma unroll
  for (int step = 1; step < kBlocks; step *= 2) {
    const int before = __shfl_up_sync(kAllLanes, end, step);
    end += lane_index() >= step ? before : 0;
  }
  const int total = __shfl_sync(kAllLanes, end, kBlocks - 1);
  const bool isCollected =
      __all_sync(kAllLanes, found.count <= Shared<P>::kCandidates) && total <= kCollected;
  if (threadIdx.x < kBlocks)
    ends[threadIdx.x] = end;
  __syncthreads();
  if (isCollected) {
    // A part's candidates by some of the warps.
    constexpr int kEach = kWarps / kBlocks;
    const int block = warp_index() % kBlocks, begin = block == 0 ? 0 : ends[block - 1];
    if (warp_index() / kBlocks < kEach)
      for (int i = warp_index() / kBlocks * kWarp + lane_index(); i < ends[block] - begin;
           i += kEach * kWarp)
        keptLogits[begin + i] = shared.candidates[block][i].logit;
  }
  for (int part = threadIdx.x; part < kBlocks * kWarps; part += kThreads)
    sums[part] = shared.sums[part];
  __syncthreads();

  const Logits candidates = Logits::of(keptLogits, isCollected ? total : 0);
  const Weigh weigh = settings.weigh(largest);
  const float least = settings.least_of(largest);
  bound = max_of(bound, least);
  Threshold kept = {-kInfinity, 0};
  Mass ties = 0;
  if (wanted > 0) {
    const bool isAmong = isCollected && wanted <= kThreads;
    kept = Logits::pick(isAmong, candidates, row)
               .find_threshold(wanted, {isAmong ? bound : least, largest}, 0, Count());
    ties = wanted - kept.above;
  }
  // Whether all that is kept is among the candidates; of all logits the sums are there.
  bool isAmong = isCollected && max_of(kept.logit, least) >= bound;
  bool isSummed = wanted <= 0;
  if (isSummed) {
    Mass sum = 0;
    for (int part = threadIdx.x; part < kBlocks * kWarps; part += kThreads)
      sum += sums[part];
    kept.above = block_sum(sum);
  } else {
    kept.above =
        Logits::pick(isAmong, candidates, row).sum_over({next_above(kept.logit), largest}, weigh);
  }
  if (const float share = topP[slot]; share < 1.0f) {
    const Mass all = kept.above + ties * weigh(kept.logit);
    const Mass target = static_cast<Mass>(
        ::ceil(static_cast<double>(max_of(share, 0.0f)) * static_cast<double>(all)));
    const Range range = {max_of(least, kept.logit), largest};
    isAmong = isAmong || (isCollected && candidates.sum_over({bound, largest}, weigh) >= target);
    kept = Logits::pick(isAmong, candidates, row).find_threshold(target, range, 0, weigh);
    const Mass weight = weigh(kept.logit);
    ties = max_of((target - kept.above + weight - 1) / weight, Mass(1));
    isSummed = false;
  }
  // Of a power of two, exact.
  const float share = minP[slot];
  const WeighLarge weighLarge = {
      weigh, static_cast<Mass>(::ceil(static_cast<double>(share) * 8589934592.0))};
  if (share > 0.0f) {
    kept.above = Logits::pick(isAmong, candidates, row)
                     .sum_over({max_of(least, next_above(kept.logit)), largest}, weighLarge);
    isSummed = false;
  }

  const uint4 counter = make_uint4(static_cast<unsigned>(start[slot]) + count[slot], 0, 0, 0);
  const uint4 words = philox(counter, make_uint2(static_cast<unsigned>(seed[2 * slot]),
                                                 static_cast<unsigned>(seed[2 * slot + 1])));
  const double uniform =
      ((words.x >> 5) * 67108864.0 + (words.y >> 6)) * (1.0 / 9007199254740992.0);
  const Mass all = kept.above + ties * weighLarge(kept.logit);
  const Mass drawn = static_cast<Mass>(uniform * static_cast<double>(all));
  const bool isTie = drawn >= kept.above;
  const Range range =
      isTie ? Range{kept.logit, kept.logit} : Range{max_of(least, next_above(kept.logit)), largest};
  isAmong = isAmong && !isSummed;
  const Logits from = Logits::pick(isAmong, candidates, row);
  const int parts = isAmong ? kWarps : kBlocks * kWarps;
  if (!isSummed) {
    from.sum_parts(range, weighLarge, parts, sums);
    __syncthreads();
  }
  if (warp_index() != 0)
    return;
  int place = from.find_drawn(range, isTie ? kept.above : 0, drawn, weighLarge, parts, sums);
  if (place < 0)
    return;
  if (isAmong) {
    int block = 0;
    while (place >= ends[block])
      ++block;
    place = shared.candidates[block][place - (block == 0 ? 0 : ends[block - 1])].id;
  }
  result[slot] = place;
}

} // namespace sinter
