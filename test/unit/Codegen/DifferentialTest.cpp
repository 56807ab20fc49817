#include "test/unit/Codegen/DifferentialTest.h"
#include "compiler/Reference/Evaluator.h"
#include <cmath>
#include <cstring>
#include <random>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

ReferenceTensor sinter::test::makeNormal(RankedTensorType type, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  ReferenceTensor tensor(type);
  for (double &value : tensor.data())
    value = normal(generator);
  tensor.round();
  return tensor;
}

void sinter::test::expectSameAsReference(StringRef text, double tolerance, TargetAttr target,
                                         MakeArgument make, bool speedPasses) {
  KernelJit jit(getContext(), text, target ? target : getHostTarget(), speedPasses);
  ASSERT_EQ(jit.getError(), "") << text.str();
  func::FuncOp kernel = jit.getKernel();
  SmallVector<ReferenceTensor> arguments;
  std::vector<GuardedStorage> storage;
  SmallVector<void *> slices;
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    arguments.push_back(make ? make(i, tensor) : makeNormal(tensor, i + 1));
    storage.emplace_back(tensor).write(arguments.back());
    slices.push_back(storage.back().data());
  }
  // A result in the place of an argument has its memory.
  SmallVector<size_t> places;
  for (auto [i, type] : llvm::enumerate(kernel.getResultTypes())) {
    BlockArgument inPlace = findInPlaceArgument(kernel.front(), i);
    places.push_back(inPlace ? inPlace.getArgNumber() : storage.size());
    if (!inPlace)
      storage.emplace_back(cast<RankedTensorType>(type));
    slices.push_back(storage[places.back()].data());
  }
  SmallVector<ReferenceTensor> expected = evaluateFunction(kernel, arguments);

  jit.run(slices, 0, jit.getGrid());
  SmallVector<std::vector<char>> bits;
  for (auto [i, reference] : llvm::enumerate(expected)) {
    const GuardedStorage &result = storage[places[i]];
    ReferenceTensor actual = result.read();
    double difference = 0, norm = 0;
    for (int64_t e = 0; e < actual.getNumElements(); ++e) {
      difference += (actual[e] - reference[e]) * (actual[e] - reference[e]);
      norm += reference[e] * reference[e];
    }
    double error = std::sqrt(difference / std::max(norm, 1e-30));
    EXPECT_TRUE(error <= tolerance) << "relative error " << error << " of result " << i << "\n"
                                    << text.str();
    const char *data = static_cast<const char *>(result.data());
    bits.emplace_back(data, data + result.size());
    if (places[i] < arguments.size())
      storage[places[i]].write(arguments[places[i]]);
    else
      memset(result.data(), 0xff, result.size());
  }
  // One item at a time, from the back.
  for (int64_t item = jit.getGrid() - 1; item >= 0; --item)
    jit.run(slices, item, item + 1);
  for (auto [i, before] : llvm::enumerate(bits)) {
    const GuardedStorage &result = storage[places[i]];
    EXPECT_EQ(memcmp(result.data(), before.data(), before.size()), 0)
        << "result " << i << " depends on how work is split\n"
        << text.str();
  }
}

void sinter::test::expectError(StringRef text, StringRef message) {
  KernelJit jit(getContext(), text, getHostTarget());
  EXPECT_NE(jit.getError().find(message.str()), std::string::npos)
      << "got \"" << jit.getError() << "\" for\n"
      << text.str();
}
