#include "test/unit/Codegen/DifferentialTest.h"
#include "compiler/Reference/Evaluator.h"
#include <cstring>

using namespace mlir;
using namespace sinter;
using namespace sinter::jit;
using namespace sinter::test;

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
    double error = getRelativeError(result.read(), reference);
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
