//===- LinearAttentionKernelTest.cpp - Linear attention ---------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "test/unit/Codegen/DifferentialTest.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <cstring>

using namespace sinter::jit;
using namespace sinter::test;

namespace {

struct Sizes {
  int64_t slots, tokens, groups, heads, depth, width;
  const char *rule = ""; ///< ", additive", or of the delta rule
};

/// A kernel with one op, of whole sequences or of chunks.
std::string attend(const Sizes &s, bool isChunk, llvm::StringRef element = "f32") {
  std::string keys =
      llvm::formatv("tensor<{0}x{1}x{2}x{3}x{4}>", s.slots, s.tokens, s.groups, s.depth, element);
  std::string values =
      llvm::formatv("tensor<{0}x{1}x{2}x{3}x{4}>", s.slots, s.tokens, s.heads, s.width, element);
  std::string gates = llvm::formatv("tensor<{0}x{1}x{2}xf32>", s.slots, s.tokens, s.heads);
  std::string state =
      llvm::formatv("tensor<{0}x{1}x{2}x{3}xf32>", s.slots, s.heads, s.depth, s.width);
  std::string slots = llvm::formatv("tensor<{0}xi32>", s.slots);
  std::string more = isChunk ? ", %s: " + state + ", %start: " + slots + ", %count: " + slots : "";
  std::string moreTypes = isChunk ? ", " + state + ", " + slots + ", " + slots : "";
  std::string results = isChunk ? "(" + values + ", " + state + ")" : values;
  return llvm::formatv(R"(
    func.func private @kernel(%q: {0}, %k: {0}, %v: {1}, %d: {2}, %b: {2}{3}) -> {4}
        attributes {{sinter.kernel = "linear_attention"} {{
      %y{5} = sinter.linear_attention %q, %k, %v, %d, %b{6}
        {{scale = 0.25{11}, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, {7}, {7}, {7}>}
        : ({0}, {0}, {1}, {2}, {2}{8}) -> {4}
      return %y{9} : {10}
    })",
                       keys, values, gates, more, results, isChunk ? ":2" : "",
                       isChunk ? ", %s, %start, %count" : "", isChunk ? 1 : 0, moreTypes,
                       isChunk ? "#0, %y#1" : "", isChunk ? values + ", " + state : values, s.rule)
      .str();
}

/// A kernel with the gradients of one op.
std::string differentiate(const Sizes &s, llvm::StringRef element = "f32",
                          llvm::StringRef results = "%0#0, %0#1, %0#2, %0#3, %0#4") {
  std::string keys = llvm::formatv("tensor<{0}x{1}x{2}x{3}x", s.slots, s.tokens, s.groups, s.depth),
              values =
                  llvm::formatv("tensor<{0}x{1}x{2}x{3}x", s.slots, s.tokens, s.heads, s.width),
              gates = llvm::formatv("tensor<{0}x{1}x{2}xf32>", s.slots, s.tokens, s.heads);
  std::string k = llvm::formatv("{0}{1}>", keys, element),
              v = llvm::formatv("{0}{1}>", values, element);
  std::string all[] = {keys + "f32>", keys + "f32>", values + "f32>", gates, gates};
  std::string types;
  for (size_t i = 0; i < 5; ++i)
    if (results.contains("#" + std::to_string(i)))
      types += (types.empty() ? "" : ", ") + all[i];
  return llvm::formatv(R"(
    func.func private @kernel(%q: {0}, %k: {0}, %v: {1}, %d: {2}, %b: {2}, %o: {1}) -> ({3})
        attributes {{sinter.kernel = "linear_attention"} {{
      %0:5 = sinter.linear_attention_grad %q, %k, %v, %d, %b, %o {{scale = 0.25{7}}
        : ({0}, {0}, {1}, {2}, {2}, {1}) -> ({4}, {4}, {5}, {2}, {2})
      return {6} : {3}
    })",
                       k, v, gates, types, all[0], all[2], results, s.rule)
      .str();
}

/// Keys of about unit length, decays below zero, betas between 0 and 1; starts and counts by slot.
MakeArgument withPlaces(std::vector<int64_t> starts, std::vector<int64_t> counts) {
  return [=](unsigned index, mlir::RankedTensorType type) {
    sinter::ReferenceTensor values = makeNormal(type, index + 1);
    for (int64_t i = 0; i < values.getNumElements(); ++i) {
      double x = values[i];
      switch (index) {
      case 0:
      case 1:
        values[i] = x / std::sqrt(static_cast<double>(type.getShape().back()));
        break;
      case 3:
        values[i] = -std::abs(x);
        break;
      case 4:
        values[i] = 1 / (1 + std::exp(x));
        break;
      case 6:
        values[i] = static_cast<double>(starts[static_cast<size_t>(i)]);
        break;
      case 7:
        values[i] = static_cast<double>(counts[static_cast<size_t>(i)]);
        break;
      default:
        break;
      }
    }
    values.round();
    return values;
  };
}

TEST(LinearAttentionKernel, OfWholeSequences) {
  // One column, part of a vector, several vectors and a part, more than an item's columns.
  for (Sizes s : {Sizes{1, 1, 1, 1, 1, 1}, Sizes{2, 5, 1, 3, 6, 7}, Sizes{1, 9, 2, 4, 16, 37},
                  Sizes{1, 33, 1, 2, 24, 130}, Sizes{1, 70, 1, 1, 128, 128}})
    expectSameAsReference(attend(s, /*isChunk=*/false), 1e-6, {}, withPlaces({}, {}));
  expectSameAsReference(attend({1, 9, 2, 4, 16, 37}, false, "bf16"), 4e-3, {}, withPlaces({}, {}));
  for (Sizes s : {Sizes{2, 5, 1, 3, 6, 7, ", additive"}, Sizes{1, 33, 1, 2, 24, 130, ", additive"}})
    expectSameAsReference(attend(s, /*isChunk=*/false), 1e-6, {}, withPlaces({}, {}));
}

TEST(LinearAttentionKernel, OfChunks) {
  // A slot that goes on, one that begins, one that pauses, and one that begins and has nothing.
  expectSameAsReference(attend({4, 6, 2, 6, 12, 21}, /*isChunk=*/true), 1e-6, {},
                        withPlaces({3, 0, 5, 0}, {6, 4, 0, 0}));
  expectSameAsReference(attend({2, 1, 2, 4, 128, 128}, true), 1e-6, {}, withPlaces({9, 0}, {1, 1}));
  for (const char *rule : {"", ", additive"})
    expectSameAsReference(attend({4, 1, 2, 6, 12, 21, rule}, true), 1e-6, {},
                          withPlaces({3, 0, 5, 0}, {1, 1, 0, 0}));
  expectSameAsReference(attend({4, 6, 2, 6, 12, 21, ", additive"}, true), 1e-6, {},
                        withPlaces({3, 0, 5, 0}, {6, 4, 0, 0}));
}

/// Of tensors of one slot, so many tokens as `type` has from token `first` on.
sinter::ReferenceTensor takePart(const sinter::ReferenceTensor &whole, mlir::RankedTensorType type,
                                 int64_t first) {
  sinter::ReferenceTensor part(type);
  int64_t row = whole.getNumElements() / whole.getShape()[1];
  for (int64_t i = 0; i < part.getNumElements(); ++i)
    part[i] = whole[first * row + i];
  return part;
}

void expectBitsOfTheWhole(const char *rule) {
  constexpr int64_t tokens = 11;
  Sizes sizes{1, tokens, 2, 4, 20, 37, rule};
  KernelJit whole(getContext(), attend(sizes, true), getHostTarget());
  ASSERT_EQ(whole.getError(), "");
  MakeArgument make = withPlaces({0}, {tokens});
  std::vector<sinter::ReferenceTensor> arguments;
  for (auto [i, type] : llvm::enumerate(whole.getKernel().getArgumentTypes()))
    arguments.push_back(make(i, mlir::cast<mlir::RankedTensorType>(type)));

  // In the order of the kernel's slices; the state's new value has the place of the old one.
  auto run = [](const KernelJit &jit, const std::vector<sinter::ReferenceTensor> &values) {
    std::vector<GuardedStorage> storage;
    for (auto [value, type] : llvm::zip_equal(values, jit.getKernel().getArgumentTypes()))
      storage.emplace_back(mlir::cast<mlir::RankedTensorType>(type)).write(value);
    storage.emplace_back(mlir::cast<mlir::RankedTensorType>(jit.getKernel().getResultTypes()[0]));
    llvm::SmallVector<void *> slices;
    for (GuardedStorage &each : storage)
      slices.push_back(each.data());
    slices.push_back(storage[5].data());
    jit.run(slices, 0, jit.getGrid());
    return std::pair(storage.back().read(), storage[5].read());
  };
  auto [expected, lastState] = run(whole, arguments);

  sinter::ReferenceTensor state = arguments[5];
  int64_t first = 0;
  for (int64_t count : {4, 1, 1, 5}) {
    sizes.tokens = count;
    KernelJit part(getContext(), attend(sizes, true), getHostTarget());
    std::vector<sinter::ReferenceTensor> values;
    for (auto [i, type] : llvm::enumerate(part.getKernel().getArgumentTypes())) {
      auto tensor = mlir::cast<mlir::RankedTensorType>(type);
      values.push_back(i < 5 ? takePart(arguments[i], tensor, first) : arguments[i]);
    }
    values[5] = state;
    values[6][0] = static_cast<double>(first);
    values[7][0] = static_cast<double>(count);
    auto [result, next] = run(part, values);
    for (int64_t i = 0; i < result.getNumElements(); ++i)
      ASSERT_EQ(result[i], expected[first * sizes.heads * sizes.width + i]) << first << ", " << i;
    state = next;
    first += count;
  }
  for (int64_t i = 0; i < state.getNumElements(); ++i)
    ASSERT_EQ(state[i], lastState[i]) << i;
}

TEST(LinearAttentionKernel, ChunksHaveTheBitsOfTheWhole) {
  expectBitsOfTheWhole("");
  expectBitsOfTheWhole(", additive");
}

TEST(LinearAttentionKernel, Gradients) {
  // A decay's gradient is a sum over later tokens of differences, which cancel out where it is
  // small.
  constexpr double tolerance = 1e-5;
  for (Sizes s : {Sizes{1, 2, 1, 1, 1, 1}, Sizes{2, 5, 1, 3, 6, 7}, Sizes{1, 33, 1, 2, 24, 130},
                  Sizes{1, 70, 1, 1, 128, 128}, Sizes{1, 12, 1, 2, 300, 40},
                  Sizes{2, 5, 1, 3, 6, 7, ", additive"}, Sizes{1, 33, 1, 2, 24, 130, ", additive"}})
    expectSameAsReference(differentiate(s), tolerance, {}, withPlaces({}, {}));
  Sizes sizes{1, 9, 2, 4, 16, 37};
  for (sinter::TargetAttr target : getHostTargets())
    expectSameAsReference(differentiate(sizes), tolerance, target, withPlaces({}, {}));
  expectSameAsReference(differentiate(sizes, "bf16"), tolerance, {}, withPlaces({}, {}));
}

TEST(LinearAttentionKernel, GradientsThatAreWanted) {
  for (const char *results : {"%0#2", "%0#0, %0#2", "%0#1, %0#2, %0#4", "%0#2, %0#3"})
    expectSameAsReference(differentiate({2, 5, 1, 3, 6, 7}, "f32", results), 1e-5, {},
                          withPlaces({}, {}));
}

TEST(LinearAttentionKernel, IsAloneOfNarrowNumbersOnAProcessor) {
  std::string text = attend({1, 2, 1, 1, 4, 4}, /*isChunk=*/false, "f64");
  expectError(text, "expected numbers of at most 32 bits");
  expectError(attend({1, 2, 1, 1, 1025, 4}, false), "expected keys of 1024 elements at the most");
  expectError(differentiate({1, 2, 1, 1, 4, 4}, "f32", "%0#0"),
              "expected the gradient of the value to be a result");
  text = attend({1, 2, 1, 1, 4, 4}, false);
  size_t at = text.find("      return %y");
  text.replace(at, std::string::npos,
               "      %z = sinter.relu %y : (tensor<1x2x1x4xf32>) -> tensor<1x2x1x4xf32>\n"
               "      return %z : tensor<1x2x1x4xf32>\n    }");
  expectError(text, "expected a linear attention to be alone in its kernel");
}

} // namespace
