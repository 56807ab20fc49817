// Many matrices one after another.
#include "test/kernels/KernelCases.h"

using namespace sinter;
using namespace sinter::kernels;

namespace {
struct Stack {
  std::string element, out;
  int parts, size;

  Parameters getParameters() const {
    return {{"Element", element},
            {"Out", out},
            {"parts", std::to_string(parts)},
            {"size", std::to_string(size)}};
  }
};

void expectStack(TestKernels &kernels, const std::string &name, const Stack &stack,
                 simt::Schedule::Order order) {
  std::mt19937 engine(5);
  std::vector<HostTensor> parts;
  std::vector<double> expected;
  for (int i = 0; i < stack.parts; ++i) {
    parts.push_back(HostTensor::random(stack.element, size_t(stack.size), engine, 8));
    expected.insert(expected.end(), parts.back().values.begin(), parts.back().values.end());
  }
  HostTensor out = HostTensor::unwritten(stack.out, expected.size());
  std::vector<HostTensor *> tensors = {&out};
  for (HostTensor &part : parts)
    tensors.push_back(&part);
  auto report = kernels.run(name, tensors, order);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->clean()) << report->text();
  if (stack.out == stack.element || stack.out == kF32)
    EXPECT_EQ(out.values, expected);
  else
    EXPECT_LT(distance(out.values, expected), stack.out == kBf16 ? 4e-3 : 5e-4);
}

/// Of one part and of hundreds; parts of several blocks, and of single elements.
std::map<std::string, Stack> makeStacks() {
  return {
      {"one", {kF32, kF32, 1, 1}},          {"bf16", {kBf16, kBf16, 256, 72}},
      {"rounded", {kF32, kBf16, 40, 5000}}, {"rounded_unaligned", {kF32, kF16, 17, 1031}},
      {"widened", {kF16, kF32, 19, 4100}},  {"bytes", {"signed char", "signed char", 33, 16400}}};
}
} // namespace

TEST(Stack, PutsPartsOneBehindTheOther) {
  forEachKernel("stack", makeStacks(), /*checked=*/false, expectStack);
}

TEST(Stack, TouchesOnlyWhatItMay) {
  forEachKernel("stack", makeStacks(), /*checked=*/true, expectStack);
}
