//===- FusionGraph.h - Kernels while they are being formed ------*- C++ -*-===//
//
// A partition of an entry's ops into groups, each of which will be one kernel. It starts with an
// op a group and merges two of them at a time, the pair that gains the most first:
//
//   gain = cost(a) + cost(b) - cost(a and b)
//
// What only moves elements, or widens a bias, joins its consumer before that, and products and
// attentions take their epilogues next: a consumer of the epilogue would run anyway, so that
// leaving an op to the product saves more than giving it to the consumer, though each of the two
// steps looks alike.
//
// A queue holds the pairs that may be merged now and gain something; a merge invalidates the pairs
// of both groups (each group counts its changes) and adds those of the new one. Two groups are not
// merged where a third one needs the first and is needed by the second: together they would wait
// for themselves. Ties go to the pair that stands first, so that equal layers are cut alike and a
// run repeats exactly.
//
// Constants are in no group; aliases (reshapes) cost nothing and join their consumer.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Fusion/FusionRules.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <queue>
#include <vector>

namespace sinter {

class FusionGraph {
public:
  /// Ops that are or become one kernel.
  struct Group {
    OpSet ops; ///< in the block's order; empty once merged away
    Cost cost;
    const KernelFamily *family = nullptr; ///< null where the ops cannot be a kernel, even alone
    mlir::Operation *root = nullptr;      ///< that a kernel of them is made around, if any
    unsigned changes = 0;
    /// Whether ops that compute, and do not only move elements, are of the forward pass, and of
    /// later stages. Where the forward pass did what belongs to a later one, its results would be
    /// kept till then, and what is to be done again would be done at once.
    bool hasForward = false, hasLater = false;
    bool isFree = true;      ///< aliases alone
    bool moves = true;       ///< moves elements or widens biases, and does nothing else
    bool hasNumbers = false; ///< some of its ops compute single numbers
  };

  FusionGraph(mlir::Block &block, const CostModel &costs, const KernelFamilies &families);

  /// Merges producers with consumers until no pair gains.
  void mergeProducers();

  /// Merges groups that read the same computed value and do not depend on each other.
  void mergeSiblings();

  llvm::ArrayRef<Group> getGroups() const { return groups; }

  /// Visits each pair of a producer and a consumer that stayed apart, with the cost that one
  /// kernel would have (whether or not there can be such a kernel), and why.
  void forEachDeclined(llvm::function_ref<void(const Group &producer, const Group &consumer,
                                               const Cost &together, llvm::StringRef reason)>
                           visit) const;

private:
  using Pair = std::pair<unsigned, unsigned>;

  /// What merging two groups would make.
  struct Merged {
    Classification classification;
    Cost cost;
    double gain = 0;
  };

  /// In the order in which they are merged.
  enum class Stage { Movement, Epilogue, Other };

  struct Candidate {
    Stage stage;
    double gain;
    Pair pair;
    unsigned firstChanges, secondChanges;
    const KernelFamily *family; ///< of the two as one, as is the cost
    Cost cost;
    bool operator<(const Candidate &other) const {
      if (stage != other.stage)
        return stage > other.stage;
      return gain != other.gain ? gain < other.gain : pair > other.pair;
    }
  };

  /// The ops of both groups, in the block's order.
  OpSet join(Pair pair) const;
  /// Why two groups are no kernel, as far as that is seen without looking at their ops.
  llvm::StringRef findObstacle(const Group &first, const Group &second) const;
  /// @param onlyKernels leaves cost and gain out where there can be no such kernel.
  Merged evaluate(Pair pair, bool onlyKernels = false) const;
  /// Whether a third group lies on a path between the two.
  bool wouldCycle(unsigned first, unsigned second) const;
  /// Whether `to` is reached from `from` through another group.
  bool reachesIndirectly(unsigned from, unsigned to) const;
  /// What ops cost as a kernel of a family, or of none.
  Cost getCost(const OpSet &ops, const KernelFamily *family) const;
  /// Whether all that the second group, which computes more than numbers, reads of the first are
  /// numbers that others read too, such as the factor that clips all gradients: together, the
  /// updates of all layers would become one kernel that nothing shares.
  bool givesNumbersToMany(Pair pair) const;
  static Stage getStage(const Group &producer);
  void enqueue(Pair pair);
  void enqueueNeighbours(unsigned group);
  void merge(Pair pair, const KernelFamily *family, const Cost &cost);
  /// Gives what is merged one place in the order: behind all that the two need, before what needs
  /// either.
  void reorder(Pair pair);
  /// Groups that use results of a group, in order.
  llvm::SmallVector<unsigned> getConsumers(unsigned group) const;
  llvm::SmallVector<unsigned> getProducers(unsigned group) const;

  const CostModel &costs;
  const KernelFamilies &families;
  std::vector<Group> groups;
  llvm::DenseMap<mlir::Operation *, unsigned> groupOf;
  /// A topological order of the groups, and the place of each in it.
  std::vector<unsigned> order, rank;
  std::priority_queue<Candidate> queue;
  Stage current = Stage::Movement; ///< what is merged now: this and what comes before it
};

} // namespace sinter
