#include "runtime/Train/GradientTree.h"
#include <algorithm>
#include <bit>
#include <cassert>

namespace sinter::runtime {
namespace {

uint64_t divideUp(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

/// Whether a rank's microbatches are leaves that make a subtree.
bool fits(uint64_t accumulate, uint64_t leaves, uint64_t ranks) {
  uint64_t count = accumulate / ranks, leaf = divideUp(accumulate, leaves);
  return ranks == 1 ||
         (accumulate % ranks == 0 && count % leaf == 0 && std::has_single_bit(count / leaf));
}

/// What would fit.
std::string proposal(uint64_t accumulate, uint64_t leaves, uint64_t ranks) {
  uint64_t rest = accumulate % ranks, enough = std::max(leaves, ranks);
  std::string byLeaves = "`leaves` " + std::to_string(ranks); // one a rank, whatever its size
  if (leaves < ranks && rest == 0)
    return "give " + byLeaves;
  uint64_t below = accumulate - rest, above = below + ranks, most = 2 * above;
  while (below != 0 && !fits(below, enough, ranks))
    below -= ranks;
  while (above <= most && !fits(above, enough, ranks))
    above += ranks;
  std::string numbers = below == 0 ? "" : std::to_string(below);
  if (above <= most)
    numbers += (numbers.empty() ? "" : " or ") + std::to_string(above);
  return "give `accumulate` " + numbers +
         (rest == 0 ? ", or " + byLeaves : (leaves < ranks ? " and " + byLeaves : ""));
}

} // namespace

Expected<GradientTree> GradientTree::make(uint64_t accumulate, uint64_t leaves, uint64_t ranks,
                                          Sharing sharing) {
  assert(accumulate != 0 && leaves != 0 && ranks != 0);
  if (accumulate % ranks != 0)
    return fail("`accumulate` " + std::to_string(accumulate),
                "the axis data divides a step's microbatches, not their rows, over its " +
                    std::to_string(ranks) + " ranks",
                proposal(accumulate, leaves, ranks));
  if (!fits(accumulate, leaves, ranks))
    return fail("`accumulate` " + std::to_string(accumulate),
                "over " + std::to_string(ranks) + " ranks of the axis data, with `leaves` " +
                    std::to_string(leaves) +
                    ", no rank's gradients are 1, 2, 4, ... leaves of the sum",
                proposal(accumulate, leaves, ranks));
  uint64_t leaf = divideUp(accumulate, leaves);
  if (sharing == Sharing::Interleaved && ranks > 1 && (leaf != 1 || !std::has_single_bit(ranks)))
    return fail(
        "`accumulate` " + std::to_string(accumulate),
        "gradients are summed over " + std::to_string(ranks) +
            " ranks of the axis data after each microbatch, which is the same sum only over "
            "2, 4, 8, ... ranks and with a leaf a microbatch",
        "give `leaves` " + std::to_string(accumulate) +
            (std::has_single_bit(ranks) ? "" : " and another `grid`") + ", or `zero` 1");
  GradientTree tree;
  tree.sharing = sharing;
  tree.ranks = ranks;
  tree.leafCount = accumulate <= 2 ? 1 : divideUp(accumulate, leaf);
  tree.count = accumulate / ranks;
  tree.filled = leaf == 1 ? std::min<uint64_t>(tree.count, 2) : leaf;
  tree.bufferCount =
      1 + static_cast<uint64_t>(std::bit_width(divideUp(tree.count, tree.filled) - 1));
  return tree;
}

uint64_t GradientTree::carriesAfter(uint64_t index) const {
  uint64_t done = index + 1;
  if (done == count)
    return bufferCount - 1;
  if (done % filled != 0)
    return 0;
  return 1 + static_cast<uint64_t>(std::countr_zero(done / filled));
}

} // namespace sinter::runtime
