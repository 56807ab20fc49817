#include "compiler/Analysis/Target.h"
#include "test/unit/Codegen/DifferentialTest.h"
#include <cmath>
#include <random>

using namespace mlir;
using namespace sinter;
using namespace sinter::jit;
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

double sinter::test::getRelativeError(const ReferenceTensor &actual,
                                      const ReferenceTensor &reference) {
  double difference = 0, norm = 0;
  for (int64_t e = 0; e < actual.getNumElements(); ++e) {
    difference += (actual[e] - reference[e]) * (actual[e] - reference[e]);
    norm += reference[e] * reference[e];
  }
  return std::sqrt(difference / std::max(norm, 1e-30));
}

void sinter::test::expectError(StringRef text, StringRef message, StringRef target) {
  KernelJit jit(getContext(), text, *parseTarget(&getContext(), target, 2));
  EXPECT_NE(jit.getError().find(message.str()), std::string::npos)
      << "got \"" << jit.getError() << "\" for\n"
      << text.str();
}
