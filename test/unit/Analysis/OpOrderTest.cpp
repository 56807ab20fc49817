#include "compiler/Analysis/OpOrder.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace sinter;

namespace {
/// The ops of @f by name, in order.
std::vector<std::string> namesOf(Block &block) {
  std::vector<std::string> names;
  for (Operation &op : block)
    names.push_back(op.getName().stripDialect().str());
  return names;
}

TEST(OpOrder, MovesUpWhatIsNeededAndNothingElse) {
  MLIRContext context;
  context.loadDialect<SinterDialect, func::FuncDialect>();
  auto module = parseSourceString<ModuleOp>(R"(
    func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %0 = sinter.exp %x : (tensor<4xf32>) -> tensor<4xf32>
      %1 = sinter.tanh %0 : (tensor<4xf32>) -> tensor<4xf32>
      %2 = sinter.relu %x : (tensor<4xf32>) -> tensor<4xf32>
      %3 = sinter.neg %2 : (tensor<4xf32>) -> tensor<4xf32>
      %4 = sinter.silu %x : (tensor<4xf32>) -> tensor<4xf32>
      return %1, %3 : tensor<4xf32>, tensor<4xf32>
    })",
                                            &context);
  ASSERT_TRUE(module);
  Block &block = (*module->getOps<func::FuncOp>().begin()).front();
  std::vector<std::string> before = namesOf(block);
  orderByNeed(block);
  EXPECT_EQ(namesOf(block), before);

  // tanh now needs silu, which stands behind it; relu and neg stay where they were.
  Operation *tanh = &*std::next(block.begin()), *silu = &*std::next(block.begin(), 4);
  tanh->setOperand(0, silu->getResult(0));
  orderByNeed(block);
  EXPECT_EQ(namesOf(block),
            (std::vector<std::string>{"exp", "silu", "tanh", "relu", "neg", "return"}));
}

TEST(OpOrder, MovesDownWhatWaits) {
  MLIRContext context;
  context.loadDialect<SinterDialect, func::FuncDialect>();
  auto module = parseSourceString<ModuleOp>(R"(
    func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %0 = sinter.exp %x : (tensor<4xf32>) -> tensor<4xf32>
      %1 = sinter.tanh %0 : (tensor<4xf32>) -> tensor<4xf32>
      %2 = sinter.gelu %1 : (tensor<4xf32>) -> tensor<4xf32>
      %3 = sinter.relu %x : (tensor<4xf32>) -> tensor<4xf32>
      %4 = sinter.silu %x : (tensor<4xf32>) -> tensor<4xf32>
      %5 = sinter.neg %3 : (tensor<4xf32>) -> tensor<4xf32>
      return %2, %5 : tensor<4xf32>, tensor<4xf32>
    })",
                                            &context);
  ASSERT_TRUE(module);
  Block &block = (*module->getOps<func::FuncOp>().begin()).front();
  std::vector<std::string> before = namesOf(block);
  orderByAvailability(block);
  EXPECT_EQ(namesOf(block), before);

  // tanh now needs silu, and gelu waits with it; neg, behind silu, stays there.
  Operation *tanh = &*std::next(block.begin()), *silu = &*std::next(block.begin(), 4);
  tanh->setOperand(0, silu->getResult(0));
  orderByAvailability(block);
  EXPECT_EQ(namesOf(block),
            (std::vector<std::string>{"exp", "relu", "silu", "tanh", "gelu", "neg", "return"}));
}
} // namespace
