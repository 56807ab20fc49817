//===- PartitionTest.cpp - Split over ranks, the same result ----------------===//
//
// Every op that may be split is made the program of one rank of 2, 3 and 4, with each dimension of
// each of its operands and results split in turn, and all ranks are run side by side: together they
// hold the very numbers that the whole op computes. Sums over ranks follow the tree.
//
//===----------------------------------------------------------------------===//

#include "compiler/Reference/Evaluator.h"
#include "compiler/Sharding/Passes.h"
#include "compiler/Sharding/Resharding.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "test/unit/Dialects/ShardableOps.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace sinter;

namespace {

class Partition : public testing::Test {
protected:
  Partition() { context.loadDialect<SinterDialect, func::FuncDialect>(); }

  ArrayAttr axes(ArrayRef<StringRef> names) { return Builder(&context).getStrArrayAttr(names); }

  GridAttr makeGrid(int64_t ranks) {
    return GridAttr::get(&context, {StringAttr::get(&context, "tensor")}, {ranks});
  }

  ShardingAttr splitAlong(int64_t rank, int64_t dim) {
    SmallVector<Attribute> dims(rank, axes({}));
    dims[dim] = axes({"tensor"});
    return ShardingAttr::get(&context, ArrayAttr::get(&context, dims), nullptr);
  }

  /// A module for a grid with an entry that runs `op` on its arguments and returns its results.
  OwningOpRef<ModuleOp> makeEntry(Operation *op, GridAttr grid) {
    OpBuilder builder(&context);
    OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
    (*module)->setAttr(SinterDialect::kGrid, grid);
    auto type = builder.getFunctionType(op->getOperandTypes(), op->getResultTypes());
    auto function = func::FuncOp::create(builder.getUnknownLoc(), "entry", type);
    function->setAttr(SinterDialect::kEntry, builder.getUnitAttr());
    module->push_back(function);
    Block *block = function.addEntryBlock();
    builder.setInsertionPointToEnd(block);
    IRMapping mapping;
    mapping.map(op->getOperands(), block->getArguments());
    func::ReturnOp::create(builder, op->getLoc(), builder.clone(*op, mapping)->getResults());
    return module;
  }

  func::FuncOp partition(ModuleOp module) {
    PassManager manager(&context);
    manager.addPass(createPartitionPass());
    manager.addPass(createVerifyShardingPass());
    EXPECT_TRUE(succeeded(manager.run(module)));
    EXPECT_TRUE(succeeded(verify(module)));
    return module.lookupSymbol<func::FuncOp>("entry");
  }

  ShardingAttr shardingOf(DictionaryAttr attributes, RankedTensorType whole) {
    auto sharding = attributes ? attributes.getAs<ShardingAttr>(SinterDialect::kSharding) : nullptr;
    return sharding ? sharding : ShardingAttr::getReplicated(&context, whole.getRank());
  }

  /// What ranks compute together.
  SmallVector<ReferenceTensor> runRanks(func::FuncOp function, GridAttr grid,
                                        ArrayRef<ReferenceTensor> arguments,
                                        ArrayRef<RankedTensorType> results) {
    SmallVector<SmallVector<ReferenceTensor>> parts(grid.getRanks());
    for (auto [rank, own] : llvm::enumerate(parts))
      for (auto [i, whole] : llvm::enumerate(arguments))
        own.push_back(
            takeShard(whole, shardingOf(function.getArgAttrDict(i), whole.getType()), grid, rank));
    auto computed = evaluateRanks(function, grid, parts);
    SmallVector<ReferenceTensor> joined;
    for (auto [i, type] : llvm::enumerate(results)) {
      auto held = llvm::map_to_vector(computed, [&](auto &of) { return of[i]; });
      std::string reason;
      auto whole =
          joinShards(held, type, shardingOf(function.getResultAttrDict(i), type), grid, reason);
      EXPECT_TRUE(succeeded(whole)) << reason;
      joined.push_back(succeeded(whole) ? *whole : ReferenceTensor(type));
    }
    return joined;
  }

  ReferenceTensor makeRandom(RankedTensorType type) {
    ReferenceTensor value(type);
    std::normal_distribution<double> normal;
    std::uniform_int_distribution<int> integer(0, 3); // rows that every table has
    bool isInteger = type.getElementType().isInteger();
    for (double &element : value.data())
      element = isInteger ? integer(random) : std::abs(normal(random)) + 0.1;
    return value;
  }

  /// Splits one dimension of argument or result `index` and compares with the whole op.
  void compare(Operation *op, int64_t ranks, bool result, unsigned index, int64_t dim) {
    GridAttr grid = makeGrid(ranks);
    OwningOpRef<ModuleOp> module = makeEntry(op, grid);
    auto function = module->lookupSymbol<func::FuncOp>("entry");
    auto types = result ? function.getResultTypes() : function.getArgumentTypes();
    int64_t rank = cast<RankedTensorType>(types[index]).getRank();
    ShardingAttr sharding = splitAlong(rank, dim);
    if (result)
      function.setResultAttr(index, SinterDialect::kSharding, sharding);
    else
      function.setArgAttr(index, SinterDialect::kSharding, sharding);
    SmallVector<ReferenceTensor> arguments;
    for (Type type : op->getOperandTypes())
      arguments.push_back(makeRandom(cast<RankedTensorType>(type)));
    SmallVector<ReferenceTensor> whole = evaluateFunction(function, arguments);
    auto resultTypes = llvm::map_to_vector(op->getResultTypes(),
                                           [](Type type) { return cast<RankedTensorType>(type); });
    SmallVector<ReferenceTensor> together =
        runRanks(partition(*module), grid, arguments, resultTypes);
    for (auto [i, expected] : llvm::enumerate(whole))
      for (int64_t j = 0; j < expected.getNumElements(); ++j)
        ASSERT_TRUE(together[i][j] == expected[j] ||
                    (std::isnan(together[i][j]) && std::isnan(expected[j])))
            << op->getName().getStringRef().str() << " over " << ranks << ", "
            << (result ? "result " : "operand ") << index << ", dimension " << dim << ", result "
            << i << "[" << j << "]: " << together[i][j] << " instead of " << expected[j];
  }

  MLIRContext context;
  std::mt19937_64 random{1};
};

TEST_F(Partition, RanksComputeTheWhole) {
  auto ops = parseSourceString<ModuleOp>(test::kOps, &context);
  ASSERT_TRUE(ops);
  unsigned compared = 0;
  ops->walk([&](ShardableOpInterface op) {
    for (int64_t ranks : {2, 3, 4}) {
      for (auto [i, type] : llvm::enumerate(op->getOperandTypes()))
        for (int64_t dim = 0; dim < cast<RankedTensorType>(type).getRank(); ++dim, ++compared)
          compare(op, ranks, /*result=*/false, i, dim);
      for (auto [i, type] : llvm::enumerate(op->getResultTypes()))
        for (int64_t dim = 0; dim < cast<RankedTensorType>(type).getRank(); ++dim, ++compared)
          compare(op, ranks, /*result=*/true, i, dim);
    }
  });
  EXPECT_GT(compared, 1000u);
}

/// Every way to split two dimensions along axes a and b, in either order.
SmallVector<ShardingAttr> listShardings(MLIRContext *context) {
  Builder builder(context);
  SmallVector<ShardingAttr> all;
  for (int a = -1; a < 2; ++a)
    for (int b = -1; b < 2; ++b)
      for (bool aFirst : {true, false}) {
        SmallVector<StringRef> dims[2];
        for (auto [dim, axis] : {std::pair(aFirst ? a : b, aFirst ? "a" : "b"),
                                 std::pair(aFirst ? b : a, aFirst ? "b" : "a")})
          if (dim >= 0)
            dims[dim].push_back(axis);
        auto sharding = ShardingAttr::get(context,
                                          builder.getArrayAttr({builder.getStrArrayAttr(dims[0]),
                                                                builder.getStrArrayAttr(dims[1])}),
                                          nullptr);
        if (!llvm::is_contained(all, sharding))
          all.push_back(sharding);
      }
  return all;
}

// Of tensors that divide, and of some that do not.
TEST_F(Partition, EveryShardingBecomesEveryOther) {
  SmallVector<ShardingAttr> shardings = listShardings(&context);
  EXPECT_EQ(shardings.size(), 11u);
  GridAttr grid = GridAttr::get(
      &context, {StringAttr::get(&context, "a"), StringAttr::get(&context, "b")}, {2, 3});
  for (const SmallVector<int64_t> &shape :
       std::vector<SmallVector<int64_t>>{{6, 12}, {12, 7}, {11, 13}}) {
    auto type = RankedTensorType::get(shape, Float64Type::get(&context));
    ReferenceTensor value = makeRandom(type);
    for (ShardingAttr from : shardings)
      for (ShardingAttr to : shardings) {
        OpBuilder builder(&context);
        Block block;
        block.addArgument(type, builder.getUnknownLoc());
        builder.setInsertionPointToEnd(&block);
        auto op = ShardOp::create(builder, builder.getUnknownLoc(), type, block.getArgument(0), to);
        OwningOpRef<ModuleOp> module = makeEntry(op, grid);
        auto function = module->lookupSymbol<func::FuncOp>("entry");
        function.setArgAttr(0, SinterDialect::kSharding, from);
        function.setResultAttr(0, SinterDialect::kSharding, to);
        auto moved = runRanks(partition(*module), grid, {value}, {type});
        std::string text;
        llvm::raw_string_ostream(text) << type << " from " << from << " to " << to;
        ASSERT_EQ(moved[0].data(), value.data()) << text;
      }
  }
}

// ((0 + 1) + (2 + 3)) + (4 + 5), and the last one where there is no pair for it.
TEST_F(Partition, TermsAreAddedInTheOrderOfTheTree) {
  for (int64_t ranks = 2; ranks <= 9; ++ranks) {
    GridAttr grid = makeGrid(ranks);
    auto module = parseSourceString<ModuleOp>(R"(
      !m = tensor<5x3xf64>
      #terms = #sinter.sharding<[[], []] unreduced ["tensor"]>
      #rows = #sinter.sharding<[["tensor"], []]>
      module attributes {sinter.grid = #sinter.grid<tensor = )" +
                                                  std::to_string(ranks) + R"(>} {
        func.func @entry(%g: !m {sinter.input = "g", sinter.sharding = #terms})
            -> (!m {sinter.output = "whole"}, !m {sinter.output = "rows", sinter.sharding = #rows})
            attributes {sinter.entry} {
          return %g, %g : !m, !m
        }
      })",
                                              &context);
    ASSERT_TRUE(module);
    func::FuncOp function = partition(*module);
    // Terms of which every order of addition has other bits.
    SmallVector<SmallVector<ReferenceTensor>> terms;
    std::lognormal_distribution<double> wild(0, 20);
    auto type = RankedTensorType::get({5, 3}, Float64Type::get(&context));
    for (int64_t rank = 0; rank < ranks; ++rank) {
      ReferenceTensor &term = terms.emplace_back().emplace_back(type);
      for (double &element : term.data())
        element = wild(random);
    }
    SmallVector<std::pair<int64_t, double>> counter;
    auto add = [&](double later, int64_t count) {
      counter.push_back({count, later});
      while (counter.size() > 1 && counter.back().first == std::prev(counter.end(), 2)->first) {
        auto last = counter.pop_back_val();
        counter.back() = {2 * last.first, counter.back().second + last.second};
      }
    };
    ReferenceTensor expected(type);
    for (int64_t i = 0; i < expected.getNumElements(); ++i) {
      counter.clear();
      for (int64_t rank = 0; rank < ranks; ++rank)
        add(terms[rank][0][i], 1);
      double sum = counter.pop_back_val().second;
      while (!counter.empty())
        sum = counter.pop_back_val().second + sum;
      expected[i] = sum;
    }
    auto results = evaluateRanks(function, grid, terms);
    for (unsigned i : {0u, 1u}) {
      std::string reason;
      auto held = llvm::map_to_vector(results, [&](auto &of) { return of[i]; });
      auto sum =
          joinShards(held, type, shardingOf(function.getResultAttrDict(i), type), grid, reason);
      ASSERT_TRUE(succeeded(sum)) << reason;
      EXPECT_EQ(sum->data(), expected.data()) << ranks << " ranks, result " << i;
    }
  }
}

} // namespace
