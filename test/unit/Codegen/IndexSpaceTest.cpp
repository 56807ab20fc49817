//===- IndexSpaceTest.cpp - Index arithmetic over known ranges --------------===//

#include "compiler/Codegen/Loops/IndexSpace.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace sinter;

namespace {
class IndexSpaceTest : public testing::Test {
protected:
  MLIRContext context{MLIRContext::Threading::DISABLED};
  IndexSpace space{&context};
};
} // namespace

TEST_F(IndexSpaceTest, QuotientsAndRemaindersOfKnownRangesVanish) {
  AffineExpr h = space.addDim(nullptr, 0, 12), d = space.addDim(nullptr, 0, 64);
  EXPECT_EQ(space.simplify((h * 64 + d).floorDiv(64)), h);
  EXPECT_EQ(space.simplify((h * 64 + d) % 64), d);
  EXPECT_EQ(space.simplify((h * 64 + d) % 768), h * 64 + d);
  EXPECT_EQ(space.simplify((h * 64 + d).floorDiv(768)), space.constant(0));
  EXPECT_EQ(space.simplify((h * 64 + d).floorDiv(128)), h.floorDiv(2));
}

TEST_F(IndexSpaceTest, QuotientAndRemainderRecombine) {
  AffineExpr c = space.addDim(nullptr, 0, 768);
  EXPECT_EQ(space.simplify(c.floorDiv(64) * 64 + c % 64), c);
  AffineExpr t = space.addDim(nullptr, 0, 9);
  EXPECT_EQ(space.simplify(t * 768 + c.floorDiv(64) * 64 + c % 64), t * 768 + c);
}

TEST_F(IndexSpaceTest, ReshapesCompose) {
  AffineExpr b = space.addDim(nullptr, 0, 3), t = space.addDim(nullptr, 0, 5),
             c = space.addDim(nullptr, 0, 128);
  AffineExpr linear = space.linearize({b, t, c}, {3, 5, 128});
  auto heads = space.delinearize(linear, {3, 5, 2, 64});
  EXPECT_EQ(heads[0], b);
  EXPECT_EQ(heads[1], t);
  EXPECT_EQ(heads[2], c.floorDiv(64));
  EXPECT_EQ(heads[3], c % 64);
  EXPECT_EQ(space.linearize(heads, {3, 5, 2, 64}), linear);
}

TEST_F(IndexSpaceTest, RangesOfCutLoopsDecide) {
  AffineExpr low = space.addDim(nullptr, 0, 32), high = space.addDim(nullptr, 32, 64);
  EXPECT_EQ(space.simplify(low.floorDiv(32)), space.constant(0));
  EXPECT_EQ(space.simplify(high % 32), high - 32);
  EXPECT_EQ(space.getRange(high - 32).first, 0);
  EXPECT_EQ(space.getRange(low * -2 + 1).first, -61);
}

TEST_F(IndexSpaceTest, NegativeOffsetsAreRoundedDown) {
  AffineExpr i = space.addDim(nullptr, 0, 8);
  EXPECT_EQ(space.simplify((i - 8).floorDiv(8)), space.constant(-1));
  EXPECT_EQ(space.simplify((i + 8) % 8), i);
}

TEST_F(IndexSpaceTest, WhatDoesNotSimplifyStaysCorrect) {
  AffineExpr i = space.addDim(nullptr, 0, 35), j = space.addDim(nullptr, 0, 6);
  for (AffineExpr expr :
       {(i * 6 + j).floorDiv(10), (i * 6 + j) % 10, (i * 7 + j).floorDiv(14) % 5,
        (i * 6 + j).floorDiv(4).floorDiv(3), (i * 3 - j).floorDiv(5) * 5 + (i * 3 - j) % 5}) {
    AffineExpr simple = space.simplify(expr);
    for (int64_t x = 0; x < 35; ++x)
      for (int64_t y = 0; y < 6; ++y) {
        auto evaluate = [&](AffineExpr e) {
          return cast<AffineConstantExpr>(e.replaceDims({space.constant(x), space.constant(y)}))
              .getValue();
        };
        ASSERT_EQ(evaluate(simple), evaluate(expr));
      }
  }
}
