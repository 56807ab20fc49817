#include "compiler/Reference/Evaluator.h"
#include "mlir/Parser/Parser.h"
#include "test/unit/Codegen/DifferentialTest.h"
#include "llvm/Support/FormatVariadic.h"
#include <random>

using namespace mlir;
using namespace sinter;
using namespace sinter::jit;
using namespace sinter::test;

namespace {

// Weights are computed again as 2^(score - logsumexp), both rounded to f32: for scores of some ten
// units that is a relative error of a few 1e-7. dS multiplies them with a difference of sums of the
// same size, which loses another factor of some. Nothing in bf16 is rounded but the operands,
// unless all of them are and a matrix unit multiplies them: weights and dS are then rounded, too,
// by 2e-3 at the most.
constexpr double kTolerance = 3e-6;

struct GradCase {
  int64_t batch, length, heads, keyHeads, headSize;
  std::string attributes = "causal";
  int64_t keys = 0; // 0: length
  bool start = false, first = false, alibi = false;
  double dropout = 0;
  /// Of query, key and value.
  std::string element = "f32";
  /// Of the result's gradient; that of the other operands if empty.
  std::string gradient = {};

  int64_t getKeys() const { return keys ? keys : length; }
};

void PrintTo(const GradCase &c, std::ostream *out) {
  *out << "batch=" << c.batch << ",length=" << c.length << ",heads=" << c.heads << "/" << c.keyHeads
       << ",size=" << c.headSize;
}

std::string tensor(std::initializer_list<int64_t> shape, const std::string &element) {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + element + ">";
}

/// Attention and its gradient: `@forward` of (q, k, v, others) and `@kernel` of
/// (q, k, v, gradient, logsumexp, delta, others), everything but q, k and v of type `element`.
std::string makeModule(const GradCase &c, const std::string &element = "f32") {
  std::string q = tensor({c.batch, c.length, c.heads, c.headSize}, c.element);
  std::string k = tensor({c.batch, c.getKeys(), c.keyHeads, c.headSize}, c.element);
  std::string o = tensor({c.batch, c.length, c.heads, c.headSize}, element);
  std::string g =
      tensor({c.batch, c.length, c.heads, c.headSize}, c.gradient.empty() ? element : c.gradient);
  std::string dk = tensor({c.batch, c.getKeys(), c.keyHeads, c.headSize}, element);
  std::string l = tensor({c.batch, c.length, c.heads}, element);
  std::string parameters, names, types;
  auto add = [&](bool wanted, const std::string &name, const std::string &type) {
    if (!wanted)
      return;
    parameters += ", " + name + ": " + type;
    names += ", " + name;
    types += ", " + type;
  };
  add(c.start, "%s", tensor({c.batch}, "i32"));
  add(c.first, "%f", tensor({c.batch, c.length}, "i32"));
  add(c.alibi, "%a", tensor({c.heads}, element));
  add(c.dropout > 0, "%r", "tensor<2xi32>");
  std::string sizes = llvm::formatv("{0}, {1}, {2}, {3}", c.start ? 1 : 0, c.first ? 1 : 0,
                                    c.alibi ? 1 : 0, c.dropout > 0 ? 1 : 0);
  std::string attributes = "scale = 0.3" + (c.attributes.empty() ? "" : ", " + c.attributes);
  if (c.dropout > 0)
    attributes += llvm::formatv(", dropout = {0:F3}, stream = 5", c.dropout).str();
  return llvm::formatv(R"(
    func.func private @forward(%q: {0}, %k: {1}, %v: {1}{2}) -> ({3}, {4}) {{
      %0:2 = sinter.attention %q, %k, %v{5}
        {{{6}, operandSegmentSizes = array<i32: 1, 1, 1, {7}, 0, 0>} : ({0}, {1}, {1}{8}) -> ({3}, {4})
      return %0#0, %0#1 : {3}, {4}
    }
    func.func private @kernel(%q: {0}, %k: {1}, %v: {1}, %g: {10}, %l: {4}, %d: {4}{2})
        -> ({3}, {9}, {9}) attributes {{sinter.kernel = "attention_grad"} {{
      %0:3 = sinter.attention_grad %q, %k, %v, %g, %l, %d{5}
        {{{6}, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, {7}>}
        : ({0}, {1}, {1}, {10}, {4}, {4}{8}) -> ({3}, {9}, {9})
      return %0#0, %0#1, %0#2 : {3}, {9}, {9}
    })",
                       q, k, parameters, o, l, names, attributes, sizes, types, dk, g)
      .str();
}

/// A module and operands that fit together.
struct Problem {
  explicit Problem(const GradCase &c, const std::string &element = "f32")
      : module(parseSourceString<ModuleOp>(makeModule(c, element), &getContext())) {
    forward = module->lookupSymbol<func::FuncOp>("forward");
    backward = module->lookupSymbol<func::FuncOp>("kernel");
    SmallVector<ReferenceTensor> others;
    for (auto [i, type] : llvm::enumerate(forward.getArgumentTypes())) {
      inputs.push_back(makeNormal(cast<RankedTensorType>(type), i + 1));
      if (i >= 3)
        fill(inputs.back(), c, c.dropout > 0 && i + 1 == forward.getNumArguments());
    }
    others.assign(inputs.begin() + 3, inputs.end());
    SmallVector<ReferenceTensor> outputs = evaluateFunction(forward, inputs);
    operands.assign(inputs.begin(), inputs.begin() + 3);
    operands.push_back(makeNormal(cast<RankedTensorType>(backward.getArgumentTypes()[3]), 17));
    operands.push_back(outputs[1]);
    ReferenceTensor delta(outputs[1].getType());
    for (int64_t i = 0; i < outputs[0].getNumElements(); ++i)
      delta[i / c.headSize] += operands[3][i] * outputs[0][i];
    operands.push_back(std::move(delta));
    llvm::append_range(operands, others);
  }

  /// Starts with room for the chunk; documents of some five tokens; positive slopes; a seed that
  /// uses all bits.
  static void fill(ReferenceTensor &values, const GradCase &c, bool isSeed) {
    bool slopes = !values.getType().getElementType().isInteger(32);
    for (int64_t i = 0; i < values.getNumElements(); ++i) {
      int64_t t = i % c.length;
      if (isSeed)
        values[i] = i == 0 ? -1234567 : 891011;
      else if (slopes)
        values[i] = 0.5 / static_cast<double>(i + 1);
      else if (values.getType().getRank() == 1)
        values[i] = static_cast<double>((i + 1) * 3 % (c.getKeys() - c.length + 1));
      else
        values[i] = static_cast<double>(t / (5 + i / c.length) * (5 + i / c.length));
    }
  }

  OwningOpRef<ModuleOp> module;
  func::FuncOp forward, backward;
  SmallVector<ReferenceTensor> inputs, operands;
};

void checkGradient(const GradCase &c, double tolerance = kTolerance, TargetAttr target = {}) {
  Problem problem(c);
  expectSameAsReference(makeModule(c), tolerance, target,
                        [&](unsigned index, RankedTensorType) { return problem.operands[index]; });
}

class AttentionGradShapes : public testing::TestWithParam<GradCase> {};

TEST_P(AttentionGradShapes, F32) {
  for (TargetAttr target : getHostTargets())
    checkGradient(GetParam(), kTolerance, target);
}
TEST_P(AttentionGradShapes, Bf16) {
  GradCase c = GetParam();
  c.element = "bf16";
  checkGradient(c);
}

TEST_P(AttentionGradShapes, AllInBf16) {
  GradCase c = GetParam();
  c.element = c.gradient = "bf16";
  checkGradient(c, 6e-3);
}

INSTANTIATE_TEST_SUITE_P(AttentionGrad, AttentionGradShapes,
                         testing::Values(GradCase{1, 64, 2, 2, 64}, GradCase{2, 130, 2, 1, 64},
                                         GradCase{1, 1, 1, 1, 1}, GradCase{1, 3, 2, 2, 20},
                                         GradCase{1, 70, 6, 2, 48}, GradCase{1, 100, 2, 2, 8},
                                         GradCase{1, 40, 2, 1, 256}, GradCase{2, 33, 3, 3, 80},
                                         GradCase{1, 20, 2, 1, 100}));

// Scores are larger, the more elements heads have.
void checkWide(GradCase c) {
  for (TargetAttr target : getHostTargets())
    checkGradient(c, 2 * kTolerance, target);
  c.element = "bf16";
  checkGradient(c, 2 * kTolerance);
  c.gradient = "bf16";
  checkGradient(c, 6e-3);
}

TEST(AttentionGrad, WideHeads) { checkWide({1, 70, 2, 1, 512}); }
TEST(AttentionGrad, WideHeadsThatAreNoWholeVectors) { checkWide({1, 37, 3, 3, 330}); }
TEST(AttentionGrad, WideHeadsOf1024) { checkGradient({1, 9, 1, 1, 1024}, 3 * kTolerance); }

TEST(AttentionGrad, Full) { checkGradient({2, 70, 4, 2, 32, ""}); }
TEST(AttentionGrad, FullOfOtherKeys) { checkGradient({1, 30, 4, 2, 32, "", 77}); }
TEST(AttentionGrad, Window) { checkGradient({1, 150, 4, 2, 32, "causal, window = 17 : i64"}); }
TEST(AttentionGrad, WindowNotCausal) { checkGradient({1, 90, 2, 2, 32, "window = 5 : i64"}); }
TEST(AttentionGrad, Softcap) { checkGradient({1, 80, 4, 2, 24, "causal, softcap = 2.0 : f64"}); }

TEST(AttentionGrad, Alibi) {
  GradCase c{1, 80, 4, 2, 24};
  c.alibi = true;
  checkGradient(c);
}

TEST(AttentionGrad, First) {
  GradCase c{2, 150, 4, 2, 24};
  c.first = true;
  checkGradient(c);
}

TEST(AttentionGrad, Start) {
  GradCase c{2, 20, 4, 2, 24, "causal", 75};
  c.start = true;
  checkGradient(c);
}

TEST(AttentionGrad, Dropout) {
  GradCase c{2, 70, 4, 2, 24};
  c.dropout = 0.25;
  for (TargetAttr target : getHostTargets())
    checkGradient(c, kTolerance, target);
}

TEST(AttentionGrad, Everything) {
  GradCase c{2, 90, 4, 2, 24, "causal, softcap = 5.0 : f64, window = 33 : i64", 131};
  c.start = c.first = c.alibi = true;
  checkGradient(c);
  c.dropout = 0.5;
  checkGradient(c);
}

// What scores have beside products, on a matrix unit: rows that are no whole tiles, groups of query
// heads, tiles of which a row sees nothing.
TEST(AttentionGrad, EverythingInBf16) {
  GradCase c{2, 90, 4, 2, 32, "causal, softcap = 5.0 : f64, window = 33 : i64", 131};
  c.element = c.gradient = "bf16";
  c.start = c.first = c.alibi = true;
  checkGradient(c, 6e-3);
  c.dropout = 0.5;
  checkGradient(c, 6e-3);
  checkGradient({1, 200, 2, 2, 64, "causal", 0, false, /*first=*/true, false, 0, "bf16", "bf16"},
                6e-3);
  checkGradient({1, 33, 3, 1, 96, "", 70, false, false, false, 0, "bf16", "bf16"}, 6e-3);
}

TEST(AttentionGrad, RandomShapes) {
  std::mt19937 generator(3);
  auto choose = [&](int64_t most) { return 1 + static_cast<int64_t>(generator() % most); };
  for (int i = 0; i < 8; ++i) {
    GradCase c{choose(2), choose(120), 1, choose(2), choose(90), "causal"};
    c.heads = c.keyHeads * choose(3);
    if (generator() % 2)
      c.attributes += llvm::formatv(", window = {0} : i64", choose(60)).str();
    if (generator() % 2)
      c.attributes += ", softcap = 3.0 : f64";
    c.first = generator() % 2;
    c.alibi = generator() % 2;
    SCOPED_TRACE(makeModule(c));
    checkGradient(c);
  }
}

TEST(AttentionGrad, OperandsInsideMergedProduct) {
  // Query, key and value of each head stand side by side; their gradients do not.
  GradCase c{1, 20, 2, 2, 8};
  Problem problem(c);
  auto merged = RankedTensorType::get({20, 48}, Float32Type::get(&getContext()));
  ReferenceTensor rows(merged);
  for (int64_t t = 0; t < 20; ++t)
    for (int64_t part = 0; part < 3; ++part)
      for (int64_t i = 0; i < 16; ++i)
        rows.at({t, part * 16 + i}) = problem.operands[part][t * 16 + i];
  SmallVector<ReferenceTensor> operands{rows, problem.operands[3], problem.operands[4],
                                        problem.operands[5]};
  expectSameAsReference(R"(
    func.func private @kernel(%x: tensor<20x48xf32>, %g: tensor<1x20x2x8xf32>,
                              %l: tensor<1x20x2xf32>, %d: tensor<1x20x2xf32>)
        -> (tensor<1x20x2x8xf32>, tensor<1x20x2x8xf32>)
        attributes {sinter.kernel = "attention_grad"} {
      %0 = sinter.slice %x {offsets = array<i64: 0, 0>} : (tensor<20x48xf32>) -> tensor<20x16xf32>
      %1 = sinter.slice %x {offsets = array<i64: 0, 16>} : (tensor<20x48xf32>) -> tensor<20x16xf32>
      %2 = sinter.slice %x {offsets = array<i64: 0, 32>} : (tensor<20x48xf32>) -> tensor<20x16xf32>
      %q = sinter.reshape %0 : (tensor<20x16xf32>) -> tensor<1x20x2x8xf32>
      %k = sinter.reshape %1 : (tensor<20x16xf32>) -> tensor<1x20x2x8xf32>
      %v = sinter.reshape %2 : (tensor<20x16xf32>) -> tensor<1x20x2x8xf32>
      %3:3 = sinter.attention_grad %q, %k, %v, %g, %l, %d
        {scale = 0.3, causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
        : (tensor<1x20x2x8xf32>, tensor<1x20x2x8xf32>, tensor<1x20x2x8xf32>,
           tensor<1x20x2x8xf32>, tensor<1x20x2xf32>, tensor<1x20x2xf32>)
        -> (tensor<1x20x2x8xf32>, tensor<1x20x2x8xf32>, tensor<1x20x2x8xf32>)
      return %3#2, %3#0 : tensor<1x20x2x8xf32>, tensor<1x20x2x8xf32>
    })",
                        kTolerance, {},
                        [&](unsigned index, RankedTensorType) { return operands[index]; });
}

/// sum of gradient * attention(inputs).
double getObjective(Problem &problem) {
  ReferenceTensor result = evaluateFunction(problem.forward, problem.inputs)[0];
  double sum = 0;
  for (int64_t i = 0; i < result.getNumElements(); ++i)
    sum += problem.operands[3][i] * result[i];
  return sum;
}

/// The definition itself, in double precision: differences over 2e-5 err by their third derivative
/// times 1e-10 / 6 and by 1e-16 / 1e-5 of the objective's size, some ten.
void checkDifferences(GradCase c) {
  c.element = "f64";
  Problem problem(c, "f64");
  SmallVector<ReferenceTensor> gradients = evaluateFunction(problem.backward, problem.operands);
  constexpr double step = 1e-5;
  for (auto [i, gradient] : llvm::enumerate(gradients))
    for (int64_t e = 0; e < gradient.getNumElements(); ++e) {
      double &element = problem.inputs[i][e], before = element;
      element = before + step;
      double above = getObjective(problem);
      element = before - step;
      double below = getObjective(problem);
      element = before;
      EXPECT_NEAR(gradient[e], (above - below) / (2 * step), 2e-8)
          << "element " << e << " of gradient " << i << " of\n"
          << makeModule(c, "f64");
    }
}

TEST(AttentionGradDifferences, Full) { checkDifferences({1, 3, 4, 2, 3, "", 5}); }
TEST(AttentionGradDifferences, Causal) { checkDifferences({2, 4, 2, 1, 3}); }
TEST(AttentionGradDifferences, Window) { checkDifferences({1, 6, 2, 2, 2, "causal, window = 2"}); }
TEST(AttentionGradDifferences, Softcap) { checkDifferences({1, 4, 2, 1, 3, "softcap = 0.7"}); }
TEST(AttentionGradDifferences, FirstAlibiStart) {
  GradCase c{2, 7, 2, 1, 2, "causal, softcap = 1.5", 9};
  c.start = c.first = c.alibi = true;
  checkDifferences(c);
}

TEST(AttentionGradDifferences, Dropout) {
  GradCase c{2, 4, 2, 1, 3};
  c.dropout = 0.4;
  checkDifferences(c);
}

TEST(AttentionGradErrors, TooManyWeightsToDrop) {
  GradCase c{32, 8192, 4, 1, 8};
  c.dropout = 0.4;
  expectError(makeModule(c), "expected 2^32 weights at the most for a dropout");
}

TEST(AttentionGradErrors, HeadTooWide) {
  expectError(makeModule({1, 1, 1, 1, 1025}), "expected heads of 1024 elements at the most");
}

TEST(AttentionGradErrors, GradientsNotInF32) {
  expectError(makeModule({1, 4, 1, 1, 8}, "bf16"), "expected logsumexp of f32");
}

TEST(AttentionGradErrors, OperandsInF16) {
  GradCase c{1, 4, 1, 1, 8};
  c.element = "f16";
  expectError(makeModule(c), "expected queries of f32 or bf16");
}

TEST(AttentionGradErrors, TransposedGradient) {
  expectError(R"(
    func.func private @kernel(%x: tensor<1x4x5x8xf32>, %y: tensor<1x5x4x8xf32>,
                              %l: tensor<1x5x4xf32>)
        -> tensor<1x5x4x8xf32> attributes {sinter.kernel = "attention_grad"} {
      %0 = sinter.transpose %x {permutation = array<i64: 0, 2, 1, 3>}
        : (tensor<1x4x5x8xf32>) -> tensor<1x5x4x8xf32>
      %1:3 = sinter.attention_grad %y, %y, %y, %0, %l, %l
        {scale = 0.3, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
        : (tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32>,
           tensor<1x5x4xf32>, tensor<1x5x4xf32>)
        -> (tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32>)
      return %1#0 : tensor<1x5x4x8xf32>
    })",
              "expected an input of the kernel, or a strided part of one");
}

TEST(AttentionGradErrors, ResultCast) {
  expectError(R"(
    func.func private @kernel(%y: tensor<1x5x4x8xf32>, %l: tensor<1x5x4xf32>)
        -> tensor<20x8xf32> attributes {sinter.kernel = "attention_grad"} {
      %0:3 = sinter.attention_grad %y, %y, %y, %y, %l, %l
        {scale = 0.3, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
        : (tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32>,
           tensor<1x5x4xf32>, tensor<1x5x4xf32>)
        -> (tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32>)
      %1 = sinter.reshape %0#0 : (tensor<1x5x4x8xf32>) -> tensor<20x8xf32>
      return %1 : tensor<20x8xf32>
    })",
              "expected the results of an attention_grad kernel to be the op's");
}

} // namespace
