#include "compiler/Analysis/CostModel.h"
#include "compiler/Schedule/Buffers.h"
#include "compiler/Schedule/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/IR/Remarks.h"
#include <set>

namespace sinter {
#define GEN_PASS_DEF_ORDERCOMMANDSPASS
#include "compiler/Schedule/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {

/// What one op does to memory: the buffers that it needs, those that it makes, and who must run
/// before it.
struct Node {
  Operation *op = nullptr;
  SmallVector<unsigned> buffers;      ///< read, written or made, each once
  SmallVector<unsigned> made;         ///< first written here
  SmallVector<unsigned> predecessors; ///< indices of nodes
  SmallVector<unsigned> successors;
};

/// The graph of one entry's ops, for scheduling.
class Graph {
public:
  explicit Graph(Block &block) {
    for (Operation &op : block.without_terminator())
      add(&op);
    // Returned values have memory outside of the step, if one cares to compute them there.
    for (Value value : block.getTerminator()->getOperands())
      if (auto found = bufferOf.find(roots.get(value)); found != bufferOf.end())
        bytes[found->second] = 0;
    for (auto [index, node] : llvm::enumerate(nodes))
      addReadersBeforeUpdates(index);
    for (auto [index, node] : llvm::enumerate(nodes)) {
      llvm::sort(node.predecessors);
      node.predecessors.erase(llvm::unique(node.predecessors), node.predecessors.end());
      for (unsigned predecessor : node.predecessors)
        nodes[predecessor].successors.push_back(index);
    }
  }

  size_t size() const { return nodes.size(); }
  Operation *getOp(unsigned node) const { return nodes[node].op; }

  /// The peak of live bytes when nodes run in this order.
  int64_t peakOf(ArrayRef<unsigned> order) const {
    SmallVector<unsigned> left = uses;
    int64_t live = 0, peak = 0;
    for (unsigned node : order) {
      live += bytesMade(node);
      peak = std::max(peak, live);
      live -= bytesFreed(node, left);
      for (unsigned buffer : nodes[node].buffers)
        --left[buffer];
    }
    return peak;
  }

  /// Of the ready nodes one that leaves no more bytes alive than before, the one that leaves the
  /// fewest; if there is none, the first in the program's order. Of those that leave more, the
  /// smallest would often be one whose result nobody needs for long: the packing of a weight, what
  /// the backward pass computes again.
  SmallVector<unsigned> schedule() const {
    SmallVector<unsigned> left = uses, waiting, order;
    // By rank, which changes when a buffer has one user left.
    std::set<std::pair<int64_t, unsigned>> ready;
    std::vector<int64_t> rank(nodes.size());
    auto enter = [&](unsigned node) {
      rank[node] = std::min<int64_t>(bytesMade(node) - bytesFreed(node, left), 1);
      ready.insert({rank[node], node});
    };
    for (auto [index, node] : llvm::enumerate(nodes)) {
      waiting.push_back(node.predecessors.size());
      if (node.predecessors.empty())
        enter(index);
    }
    while (!ready.empty()) {
      unsigned node = ready.begin()->second;
      ready.erase(ready.begin());
      order.push_back(node);
      for (unsigned buffer : nodes[node].buffers)
        if (--left[buffer] == 1)
          for (unsigned user : users[buffer])
            if (ready.erase({rank[user], user}))
              enter(user);
      for (unsigned successor : nodes[node].successors)
        if (--waiting[successor] == 0)
          enter(successor);
    }
    return order;
  }

private:
  void add(Operation *op) {
    unsigned index = nodes.size();
    Node node;
    node.op = op;
    auto touch = [&](Value value) {
      auto found = bufferOf.find(roots.get(value));
      if (found != bufferOf.end() && !llvm::is_contained(node.buffers, found->second))
        node.buffers.push_back(found->second);
    };
    for (Value operand : op->getOperands()) {
      touch(operand);
      if (Operation *producer = operand.getDefiningOp())
        node.predecessors.push_back(indexOf.at(producer));
    }
    for (Value result : op->getResults()) {
      // Constants and arguments are not step memory.
      if (roots.get(result) == result && !isa<ConstantOp>(op)) {
        bufferOf[result] = bytes.size();
        node.made.push_back(bytes.size());
        bytes.push_back(getStorageBytes(result.getType()));
        uses.push_back(0);
        users.emplace_back();
      }
      touch(result);
    }
    for (unsigned buffer : node.buffers) {
      ++uses[buffer];
      users[buffer].push_back(index);
    }
    indexOf[op] = index;
    nodes.push_back(std::move(node));
  }

  /// Who reads what a node updates in place runs before it, unless it needs the node's results.
  void addReadersBeforeUpdates(unsigned index) {
    auto inPlace = dyn_cast<InPlaceOpInterface>(nodes[index].op);
    if (!inPlace)
      return;
    for (OpResult result : nodes[index].op->getResults()) {
      OpOperand *operand = inPlace.getInPlaceOperand(result);
      if (!operand)
        continue;
      for (Value value : getReshapes(getVersion(operand->get())))
        for (Operation *user : value.getUsers())
          if (auto found = indexOf.find(user);
              found != indexOf.end() && found->second < index && !isAlias(user))
            nodes[index].predecessors.push_back(found->second);
    }
  }

  int64_t bytesMade(unsigned node) const {
    int64_t sum = 0;
    for (unsigned buffer : nodes[node].made)
      sum += bytes[buffer];
    return sum;
  }

  int64_t bytesFreed(unsigned node, ArrayRef<unsigned> left) const {
    int64_t sum = 0;
    for (unsigned buffer : nodes[node].buffers)
      if (left[buffer] == 1)
        sum += bytes[buffer];
    return sum;
  }

  std::vector<Node> nodes;
  DenseMap<Operation *, unsigned> indexOf;
  BufferRoots roots;
  DenseMap<Value, unsigned> bufferOf;
  SmallVector<int64_t> bytes;                  ///< of each buffer; none if it is returned
  SmallVector<unsigned> uses;                  ///< how many nodes touch each buffer
  std::vector<SmallVector<unsigned, 2>> users; ///< those
};

struct OrderCommandsPass : sinter::impl::OrderCommandsPassBase<OrderCommandsPass> {
  using OrderCommandsPassBase::OrderCommandsPassBase;

  void runOnOperation() override {
    for (func::FuncOp entry : getEntries(getOperation()))
      order(entry);
  }

private:
  void order(func::FuncOp entry) {
    Graph graph(entry.front());
    auto written = llvm::to_vector(llvm::seq<unsigned>(0, graph.size()));
    SmallVector<unsigned> scheduled = graph.schedule();
    int64_t before = graph.peakOf(written), after = graph.peakOf(scheduled);
    remark::RemarkOpts options = remark::RemarkOpts::name("OrderCommands")
                                     .category("sinter-schedule")
                                     .function(entry.getName());
    if (after >= before) {
      remark::missed(entry.getLoc(), options) << remark::reason(
          "list scheduling would live in {0} bytes, the program's order in {1}", after, before);
      return;
    }
    remark::passed(entry.getLoc(), options)
        << remark::add("live bytes {0} instead of {1}", after, before);
    for (unsigned node : scheduled)
      graph.getOp(node)->moveBefore(entry.front().getTerminator());
  }
};
} // namespace
