#include "compiler/Memory/Packer.h"
#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>
#include <numeric>
#include <queue>

using namespace sinter;

namespace {

/// A buffer in the packer's own terms: aligned bytes, half-open life in compressed time.
struct Box {
  int64_t bytes;
  int32_t begin, end;
  int64_t length() const { return end - begin; }
};

/// One placement of all boxes.
struct Placement {
  std::vector<int64_t> offsets;
  int64_t height = std::numeric_limits<int64_t>::max();
};

int64_t alignUp(int64_t bytes, int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Boxes with time compressed to the points at which a life begins or ends.
std::vector<Box> makeBoxes(std::span<const LiveBuffer> buffers, int64_t alignment) {
  std::vector<int64_t> points;
  points.reserve(2 * buffers.size());
  for (const LiveBuffer &buffer : buffers) {
    assert(buffer.bytes >= 0 && buffer.first <= buffer.last && "a buffer lives at least once");
    points.push_back(buffer.first);
    points.push_back(buffer.last + 1);
  }
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  auto compress = [&](int64_t time) {
    return static_cast<int32_t>(std::lower_bound(points.begin(), points.end(), time) -
                                points.begin());
  };
  std::vector<Box> boxes;
  boxes.reserve(buffers.size());
  for (const LiveBuffer &buffer : buffers)
    boxes.push_back(
        {alignUp(buffer.bytes, alignment), compress(buffer.first), compress(buffer.last + 1)});
  return boxes;
}

int64_t peakOf(const std::vector<Box> &boxes) {
  std::vector<int64_t> change(2 * boxes.size() + 1);
  for (const Box &box : boxes) {
    change[box.begin] += box.bytes;
    change[box.end] -= box.bytes;
  }
  int64_t live = 0, peak = 0;
  for (int64_t delta : change)
    peak = std::max(peak, live += delta);
  return peak;
}

/// The boxes not yet placed, as a tree over (begin, end): finds the one of least rank whose life
/// lies within a stretch of time.
class BoxTree {
public:
  /// `rank[i]` is the place of box `i` in the order of preference.
  BoxTree(const std::vector<Box> &boxes, const std::vector<int32_t> &rank)
      : boxes(boxes), rank(rank), items(boxes.size()), leafOf(boxes.size()) {
    std::iota(items.begin(), items.end(), 0);
    nodes.reserve(boxes.size());
    if (!items.empty())
      build(0, items.size(), -1, /*byBegin=*/true);
  }

  /// The box of least rank with begin <= box.begin and box.end <= end, or -1.
  int32_t find(int32_t begin, int32_t end) {
    best = -1;
    bestRank = kNone;
    if (!nodes.empty())
      search(0, begin, end);
    return best;
  }

  /// Takes a box out.
  void erase(int32_t box) {
    int32_t node = leafOf[box];
    Node &leaf = nodes[node];
    auto position = std::find(&items[leaf.from], &items[leaf.to], box);
    std::swap(*position, items[--leaf.to]);
    for (; node >= 0; node = nodes[node].parent)
      summarize(node);
  }

  int64_t steps = 0;

private:
  static constexpr int32_t kNone = std::numeric_limits<int32_t>::max();
  static constexpr size_t kLeafSize = 8;

  struct Node {
    int32_t maxBegin,
        minEnd; ///< over its boxes: no box fits unless maxBegin >= begin, minEnd <= end
    int32_t minRank;
    int32_t parent, left = -1, right = -1;
    int32_t from, to; ///< items of a leaf
  };

  int32_t build(size_t from, size_t to, int32_t parent, bool byBegin) {
    int32_t index = nodes.size();
    Node node{};
    node.parent = parent;
    node.left = node.right = -1;
    node.from = from;
    node.to = to;
    nodes.push_back(node);
    if (to - from <= kLeafSize) {
      for (size_t i = from; i < to; ++i)
        leafOf[items[i]] = index;
    } else {
      size_t middle = (from + to) / 2;
      auto key = [&](int32_t box) {
        return std::pair(byBegin ? boxes[box].begin : boxes[box].end, box);
      };
      std::nth_element(items.begin() + from, items.begin() + middle, items.begin() + to,
                       [&](int32_t a, int32_t b) { return key(a) < key(b); });
      int32_t left = build(from, middle, index, !byBegin);
      int32_t right = build(middle, to, index, !byBegin);
      nodes[index].left = left;
      nodes[index].right = right;
    }
    summarize(index);
    return index;
  }

  void summarize(int32_t index) {
    Node &node = nodes[index];
    node.maxBegin = -1;
    node.minEnd = node.minRank = kNone;
    auto include = [&](int32_t begin, int32_t end, int32_t boxRank) {
      node.maxBegin = std::max(node.maxBegin, begin);
      node.minEnd = std::min(node.minEnd, end);
      node.minRank = std::min(node.minRank, boxRank);
    };
    if (node.left < 0) {
      for (int32_t i = node.from; i < node.to; ++i)
        include(boxes[items[i]].begin, boxes[items[i]].end, rank[items[i]]);
      return;
    }
    for (int32_t child : {node.left, node.right})
      include(nodes[child].maxBegin, nodes[child].minEnd, nodes[child].minRank);
  }

  void search(int32_t index, int32_t begin, int32_t end) {
    ++steps;
    const Node &node = nodes[index];
    if (node.minRank >= bestRank || node.maxBegin < begin || node.minEnd > end)
      return;
    if (node.left < 0) {
      for (int32_t i = node.from; i < node.to; ++i) {
        int32_t box = items[i];
        if (boxes[box].begin >= begin && boxes[box].end <= end && rank[box] < bestRank) {
          best = box;
          bestRank = rank[box];
        }
      }
      return;
    }
    bool leftFirst = nodes[node.left].minRank <= nodes[node.right].minRank;
    search(leftFirst ? node.left : node.right, begin, end);
    search(leftFirst ? node.right : node.left, begin, end);
  }

  const std::vector<Box> &boxes;
  const std::vector<int32_t> &rank;
  std::vector<int32_t> items, leafOf;
  std::vector<Node> nodes;
  int32_t best = -1, bestRank = kNone;
};

/// The upper outline of what is placed: flat stretches of time, a doubly linked list.
class Skyline {
public:
  Skyline(const std::vector<Box> &boxes, int64_t &budget) : boxes(boxes), budget(budget) {}

  /// Lays all boxes, preferring those of least rank.
  Placement run(const std::vector<int32_t> &rank) {
    int32_t end = 0;
    for (const Box &box : boxes)
      end = std::max(end, box.end);
    BoxTree tree(boxes, rank);
    Placement placement;
    placement.offsets.resize(boxes.size());
    placement.height = 0;
    stretches.clear();
    lowest = {};
    push({0, end, 0, -1, -1, true});
    for (size_t left = boxes.size(); left > 0;) {
      Entry entry = lowest.top();
      lowest.pop();
      if (!stretches[entry.stretch].alive || stretches[entry.stretch].height != entry.height ||
          stretches[entry.stretch].begin != entry.begin)
        continue;
      Stretch stretch = stretches[entry.stretch];
      int32_t box = tree.find(stretch.begin, stretch.end);
      if (box < 0) {
        rise(entry.stretch);
        continue;
      }
      tree.erase(box);
      placement.offsets[box] = stretch.height;
      placement.height = std::max(placement.height, stretch.height + boxes[box].bytes);
      place(entry.stretch, boxes[box]);
      --left;
    }
    budget -= 2 * (tree.steps + static_cast<int64_t>(8 * boxes.size()));
    return placement;
  }

private:
  struct Stretch {
    int32_t begin, end;
    int64_t height;
    int32_t previous, next;
    bool alive;
  };
  struct Entry {
    int64_t height;
    int32_t begin, stretch;
    bool operator<(const Entry &other) const { // lowest first, then leftmost
      return std::pair(height, begin) > std::pair(other.height, other.begin);
    }
  };

  int32_t push(Stretch stretch) {
    int32_t index = stretches.size();
    stretches.push_back(stretch);
    lowest.push({stretch.height, stretch.begin, index});
    return index;
  }

  /// Puts a box on a stretch: what is left and right of it stays low.
  void place(int32_t index, const Box &box) {
    Stretch low = stretches[index];
    stretches[index].alive = false;
    int32_t previous = low.previous;
    auto append = [&](int32_t begin, int32_t end, int64_t height) {
      if (begin == end)
        return;
      int32_t added = push({begin, end, height, previous, low.next, true});
      if (previous >= 0)
        stretches[previous].next = added;
      if (low.next >= 0)
        stretches[low.next].previous = added;
      previous = added;
    };
    append(low.begin, box.begin, low.height);
    append(box.begin, box.end, low.height + box.bytes);
    append(box.end, low.end, low.height);
  }

  /// Nothing fits: the stretch becomes part of its lower neighbour (of both, if they are level).
  void rise(int32_t index) {
    Stretch low = stretches[index];
    auto heightOf = [&](int32_t neighbour) {
      return neighbour < 0 ? std::numeric_limits<int64_t>::max() : stretches[neighbour].height;
    };
    int64_t left = heightOf(low.previous), right = heightOf(low.next);
    Stretch merged{low.begin, low.end, std::min(left, right), low.previous, low.next, true};
    stretches[index].alive = false;
    if (left <= right) {
      merged.begin = stretches[low.previous].begin;
      merged.previous = stretches[low.previous].previous;
      stretches[low.previous].alive = false;
    }
    if (right <= left) {
      merged.end = stretches[low.next].end;
      merged.next = stretches[low.next].next;
      stretches[low.next].alive = false;
    }
    int32_t added = push(merged);
    if (merged.previous >= 0)
      stretches[merged.previous].next = added;
    if (merged.next >= 0)
      stretches[merged.next].previous = added;
  }

  const std::vector<Box> &boxes;
  int64_t &budget;
  std::vector<Stretch> stretches;
  std::priority_queue<Entry> lowest;
};

/// For each box the boxes whose lives overlap with its own, where these are few.
class Overlaps {
public:
  /// Finds all overlaps, unless there are more than `limit` pairs.
  Overlaps(const std::vector<Box> &boxes, int64_t limit) {
    if (countPairs(boxes) > limit)
      return;
    std::vector<int32_t> byBegin(boxes.size());
    std::iota(byBegin.begin(), byBegin.end(), 0);
    std::sort(byBegin.begin(), byBegin.end(), [&](int32_t a, int32_t b) {
      return std::pair(boxes[a].begin, a) < std::pair(boxes[b].begin, b);
    });
    std::vector<std::pair<int32_t, int32_t>> pairs;
    std::vector<int32_t> alive;
    for (int32_t box : byBegin) {
      std::erase_if(alive, [&](int32_t other) { return boxes[other].end <= boxes[box].begin; });
      for (int32_t other : alive)
        pairs.push_back({box, other});
      alive.push_back(box);
    }
    starts.resize(boxes.size() + 1);
    for (auto [a, b] : pairs) {
      ++starts[a + 1];
      ++starts[b + 1];
    }
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    others.resize(2 * pairs.size());
    std::vector<int32_t> fill(starts.begin(), starts.end() - 1);
    for (auto [a, b] : pairs) {
      others[fill[a]++] = b;
      others[fill[b]++] = a;
    }
  }

  /// Twice the pairs.
  int64_t count() const { return others.size(); }
  /// Whether there were few enough.
  bool known() const { return !starts.empty(); }
  /// The boxes that overlap with a box.
  std::span<const int32_t> of(int32_t box) const {
    return std::span(others).subspan(starts[box], starts[box + 1] - starts[box]);
  }

private:
  /// Each box overlaps with those that are alive when it begins, and those that begin later.
  static int64_t countPairs(const std::vector<Box> &boxes) {
    std::vector<int64_t> begins(2 * boxes.size()), ends(2 * boxes.size());
    for (const Box &box : boxes) {
      ++begins[box.begin];
      ++ends[box.end];
    }
    int64_t alive = 0, pairs = 0;
    for (size_t time = 0; time < begins.size(); ++time) {
      alive -= ends[time];
      pairs += begins[time] * alive + begins[time] * (begins[time] - 1) / 2;
      alive += begins[time];
    }
    return pairs;
  }

  std::vector<int32_t> starts, others;
};

/// First fit: each box, in a given order, at the lowest offset that is free for its whole life.
class FirstFit {
public:
  FirstFit(const std::vector<Box> &boxes, int64_t &budget)
      : boxes(boxes), budget(budget), overlaps(boxes, kMaxPairs) {}

  /// Lays the boxes in `order`; gives up (infinite height) when the budget is spent.
  Placement run(const std::vector<int32_t> &order) {
    Placement placement;
    placement.offsets.assign(boxes.size(), -1);
    placed.clear();
    int64_t height = 0;
    for (int32_t index : order) {
      int64_t offset = overlaps.known() ? fitAmongOverlaps(index, placement.offsets)
                                        : fitAmongPlaced(boxes[index]);
      if (budget < 0)
        return {};
      placement.offsets[index] = offset;
      height = std::max(height, offset + boxes[index].bytes);
    }
    placement.height = height;
    return placement;
  }

  /// What run() takes of the budget, roughly.
  int64_t cost() const {
    return overlaps.known() ? 6 * overlaps.count() : boxes.size() * boxes.size() / 2;
  }

  /// Whether overlapsOf() and fitAmongOverlaps() may be asked.
  bool knowsOverlaps() const { return overlaps.known(); }
  std::span<const int32_t> overlapsOf(int32_t box) const { return overlaps.of(box); }

  /// The lowest offset for a box given those of others (-1: not placed).
  int64_t fitAmongOverlaps(int32_t index, const std::vector<int64_t> &offsets) {
    placed.clear();
    for (int32_t other : overlaps.of(index))
      if (offsets[other] >= 0)
        placed.push_back({offsets[other], offsets[other] + boxes[other].bytes, boxes[other].begin,
                          boxes[other].end});
    std::sort(placed.begin(), placed.end());
    budget -= static_cast<int64_t>(overlaps.of(index).size() + 10 * placed.size());
    return firstGap(placed, boxes[index]);
  }

private:
  static constexpr int64_t kMaxPairs = 1'000'000;

  struct Placed {
    int64_t offset, top;
    int32_t begin, end;
    bool operator<(const Placed &other) const { return offset < other.offset; }
  };

  /// The lowest gap of `bytes` bytes below, between or above `busy`, which is sorted by offset.
  int64_t firstGap(const std::vector<Placed> &busy, const Box &box) {
    int64_t free = 0;
    size_t scanned = 0;
    for (; scanned < busy.size(); ++scanned) {
      const Placed &other = busy[scanned];
      if (other.begin >= box.end || box.begin >= other.end)
        continue;
      if (other.offset - free >= box.bytes)
        break;
      free = std::max(free, other.top);
    }
    budget -= static_cast<int64_t>(scanned + 8);
    return free;
  }

  int64_t fitAmongPlaced(const Box &box) {
    int64_t offset = firstGap(placed, box);
    Placed added{offset, offset + box.bytes, box.begin, box.end};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), added), added);
    return offset;
  }

  const std::vector<Box> &boxes;
  int64_t &budget;
  Overlaps overlaps;
  std::vector<Placed> placed; ///< by offset
};

/// For each box the most bytes alive at once during its life.
std::vector<int64_t> crowding(const std::vector<Box> &boxes) {
  std::vector<int64_t> live(2 * boxes.size() + 1);
  for (const Box &box : boxes) {
    live[box.begin] += box.bytes;
    live[box.end] -= box.bytes;
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  // levels[k][i] is the maximum of live[i, i + 2^k).
  std::vector<std::vector<int64_t>> levels = {live};
  for (size_t width = 1; 2 * width <= live.size(); width *= 2) {
    const std::vector<int64_t> &half = levels.back();
    std::vector<int64_t> level(live.size() - 2 * width + 1);
    for (size_t i = 0; i < level.size(); ++i)
      level[i] = std::max(half[i], half[i + width]);
    levels.push_back(std::move(level));
  }
  std::vector<int64_t> result;
  for (const Box &box : boxes) {
    int level = std::bit_width(static_cast<uint64_t>(box.length())) - 1;
    result.push_back(std::max(levels[level][box.begin], levels[level][box.end - (1 << level)]));
  }
  return result;
}

/// Box numbers sorted by `key`, largest first; ties by number.
template <typename Key> std::vector<int32_t> orderBy(size_t count, Key key) {
  std::vector<int32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    auto keyOfA = key(a), keyOfB = key(b);
    return keyOfA != keyOfB ? keyOfA > keyOfB : a < b;
  });
  return order;
}

/// Bytes for which the search may take ten times as long.
constexpr int64_t kWorthTime = 1 << 20;

/// The whole search over one set of boxes.
class Search {
public:
  Search(const std::vector<Box> &boxes, int64_t bound, int64_t budget)
      : boxes(boxes), bound(bound), budget(budget), firstFit(boxes, this->budget) {}

  Placement run() {
    std::vector<int64_t> crowds = crowding(boxes);
    auto area = [&](int32_t i) { return double(boxes[i].length()) * boxes[i].bytes; };
    const std::vector<std::vector<int32_t>> orders = {
        orderBy(boxes.size(), area),
        orderBy(boxes.size(),
                [&](int32_t i) { return std::pair(boxes[i].bytes, boxes[i].length()); }),
        orderBy(boxes.size(),
                [&](int32_t i) { return std::pair<double, double>(crowds[i], area(i)); }),
    };
    Skyline skyline(boxes, budget);
    const int64_t before = budget;
    for (const auto &order : orders)
      if (keep(skyline.run(rankOf(order))))
        return best;
    const int64_t skylineCost = (before - budget) / static_cast<int64_t>(orders.size());
    for (const auto &order : orders)
      if (firstFit.cost() < budget / 4 && keep(firstFit.run(order)))
        return best;
    if (firstFit.knowsOverlaps()) {
      repair(orders);
      return best;
    }
    // Too crowded to repair: more skylines, each with other preferences near the first criterion.
    while (budget > skylineCost && best.height > bound) {
      std::vector<double> keys;
      for (size_t i = 0; i < boxes.size(); ++i)
        keys.push_back(area(i) * (1 + 3 * double(next() >> 11) * 0x1p-53));
      keep(skyline.run(rankOf(orderBy(boxes.size(), [&](int32_t i) { return keys[i]; }))));
    }
    return best;
  }

  /// The same, from what the large boxes alone come to, laid with half of the budget: where they
  /// lie badly no order of the others helps.
  Placement runFromLarge() {
    if (!firstFit.knowsOverlaps())
      return run();
    std::vector<int32_t> bySize = orderBy(
        boxes.size(), [&](int32_t i) { return std::pair(boxes[i].bytes, boxes[i].length()); });
    std::vector<LiveBuffer> large;
    for (int32_t box : bySize)
      if (boxes[box].bytes >= bound / kLargeParts)
        large.push_back({boxes[box].bytes, boxes[box].begin, boxes[box].end - 1});
    if (large.empty())
      return run();
    budget /= 2;
    std::vector<Box> largeBoxes = makeBoxes(large, /*alignment=*/1);
    Placement placement = Search(largeBoxes, bound, budget).run();
    std::vector<int64_t> offsets(boxes.size(), -1);
    for (size_t i = 0; i < large.size(); ++i)
      offsets[bySize[i]] = placement.offsets[i];
    for (size_t i = large.size(); i < bySize.size(); ++i) {
      offsets[bySize[i]] = firstFit.fitAmongOverlaps(bySize[i], offsets);
      placement.height = std::max(placement.height, offsets[bySize[i]] + boxes[bySize[i]].bytes);
    }
    placement.offsets = std::move(offsets);
    keep(std::move(placement));
    return run();
  }

private:
  /// A box of at least this part of the bound is large.
  static constexpr int64_t kLargeParts = 512;
  /// Times that a window is laid anew before it is given up.
  static constexpr int kRounds = 12;

  /// The place of each box in an order.
  static std::vector<int32_t> rankOf(const std::vector<int32_t> &order) {
    std::vector<int32_t> rank(order.size());
    for (size_t i = 0; i < order.size(); ++i)
      rank[order[i]] = i;
    return rank;
  }

  /// Remembers a placement if it is the best so far; whether nothing can be better.
  bool keep(Placement placement) {
    if (placement.height < best.height)
      best = std::move(placement);
    return best.height <= bound;
  }

  int64_t topOf(int32_t box) const { return best.offsets[box] + boxes[box].bytes; }

  /// Takes what lives together with the highest box out and lays it anew, again and again, until
  /// the budget is spent. Windows that did not help grow; small instances are their own window.
  void repair(const std::vector<std::vector<int32_t>> &orders) {
    for (int attempt = 0; budget > 0 && best.height > bound; ++attempt) {
      budget -= static_cast<int64_t>(boxes.size());
      int32_t highest = 0;
      for (size_t i = 1; i < boxes.size(); ++i)
        if (topOf(i) > topOf(highest))
          highest = i;
      std::vector<bool> inWindow(boxes.size(), boxes.size() < 32 || attempt % 5 == 4);
      if (!inWindow[highest])
        chooseWindow(highest, attempt % 5, inWindow);
      std::vector<int32_t> window = {highest};
      for (int32_t box : orders[next() % orders.size()])
        if (inWindow[box] && box != highest)
          window.push_back(box);
      if (relay(std::move(window))) {
        attempt = -1;
        best.height = 0;
        for (size_t i = 0; i < boxes.size(); ++i)
          best.height = std::max(best.height, topOf(i));
      }
    }
  }

  /// The box, what overlaps with it, and some of what overlaps with that.
  void chooseWindow(int32_t box, int growth, std::vector<bool> &inWindow) {
    inWindow[box] = true;
    for (; growth >= 0; --growth) {
      std::span<const int32_t> more = firstFit.overlapsOf(box);
      for (int32_t other : more)
        inWindow[other] = true;
      if (!more.empty())
        box = more[next() % more.size()];
    }
  }

  /// Squeaky wheel: lays the window around what stays, in order; who sticks out chooses earlier
  /// next time. Whether everything in the window is now below the height.
  bool relay(std::vector<int32_t> order) {
    std::vector<int64_t> before = best.offsets;
    for (int round = 0; round < kRounds && budget > 0; ++round) {
      for (int32_t box : order)
        best.offsets[box] = -1;
      int64_t top = 0;
      for (int32_t box : order) {
        best.offsets[box] = firstFit.fitAmongOverlaps(box, best.offsets);
        top = std::max(top, topOf(box));
      }
      if (top < best.height)
        return true;
      const int64_t limit = round % 2 ? bound + 1 : best.height;
      std::vector<int32_t> first, rest;
      for (int32_t box : order)
        (topOf(box) >= limit ? first : rest).push_back(box);
      size_t moved = first.size();
      order = std::move(first);
      order.insert(order.end(), rest.begin(), rest.end());
      if (moved == 1) // perhaps the same one again: change something
        for (size_t swaps = order.size() / 8 + 1; swaps > 0; --swaps)
          std::swap(order[next() % order.size()], order[next() % order.size()]);
    }
    best.offsets = std::move(before);
    return false;
  }

  /// A small generator of our own: the standard distributions differ between libraries.
  uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }

  const std::vector<Box> &boxes;
  int64_t bound, budget;
  FirstFit firstFit;
  Placement best;
  uint64_t state = 0x9e3779b97f4a7c15;
};

} // namespace

int64_t Packer::lowerBound(std::span<const LiveBuffer> buffers) const {
  return peakOf(makeBoxes(buffers, alignment));
}

Packing Packer::pack(std::span<const LiveBuffer> buffers) const {
  Packing packing;
  packing.offsets.resize(buffers.size());
  std::vector<LiveBuffer> real;
  std::vector<size_t> indexOf;
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].bytes > 0) {
      real.push_back(buffers[i]);
      indexOf.push_back(i);
    }
  if (real.empty())
    return packing;
  std::vector<Box> boxes = makeBoxes(real, alignment);
  packing.lowerBound = peakOf(boxes);
  Placement placement = Search(boxes, packing.lowerBound, budget).run();
  int64_t excess = placement.height - packing.lowerBound;
  if (excess >= kWorthTime && excess > packing.lowerBound / 64) {
    Placement longer = Search(boxes, packing.lowerBound, 10 * budget).runFromLarge();
    if (longer.height < placement.height)
      placement = std::move(longer);
  }
  for (size_t i = 0; i < real.size(); ++i)
    packing.offsets[indexOf[i]] = placement.offsets[i];
  packing.arenaBytes = placement.height;
  return packing;
}
