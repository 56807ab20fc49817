//===- CudaProgramTest.cpp - Kernels in units of compilation ----------------===//

#include "compiler/Codegen/Cuda/CudaProgram.h"
#include "compiler/Codegen/Cuda/CudaExpression.h"
#include "compiler/Codegen/Cuda/Kernels.h"
#include "mlir/Parser/Parser.h"
#include "tools/kernel-jit/KernelJit.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::jit;

namespace {
/// A module with empty kernels k0, k1, ... and one from a template of this header.
std::string makeModule(int kernels, const std::string &header) {
  std::string code = "module @kernels {\n", tensors;
  auto add = [&](const std::string &name, const std::string &declaration) {
    code += declaration;
    tensors += "func.func private @" + name +
               "(%x: tensor<4xf32>) -> tensor<4xf32> attributes {sinter.block = 64 : i64, "
               "sinter.grid = 3 : i64, sinter.kernel = \"rows\", sinter.shared = 128 : i64} {\n"
               "  return %x : tensor<4xf32>\n}\n";
  };
  for (int i = 0; i < kernels; ++i) {
    std::string name = "k" + std::to_string(i);
    add(name, "func.func @" + name + "(%x: memref<4xf32>, %y: memref<4xf32>) {\n  return\n}\n");
  }
  if (!header.empty())
    add("instance", "func.func private @instance(memref<4xf32>, memref<4xf32>) attributes "
                    "{sinter.template = {header = \"" +
                        header + "\", function = \"f\", parameters = {}}}\n");
  return code + "}\n" + tensors;
}

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}
} // namespace

TEST(CudaProgram, KernelsAreDividedAmongProgramsThatStandAlone) {
  auto module = parseSourceString<ModuleOp>(makeModule(5, "attention_forward.cuh"),
                                            ParserConfig(&getContext()));
  ASSERT_TRUE(module);
  auto programs = emitCudaPrograms(*module, /*kernelsPerProgram=*/2);
  ASSERT_TRUE(succeeded(programs));
  ASSERT_EQ(programs->size(), 4u);
  const SmallVector<size_t> kernels = {1, 2, 2, 1};
  for (auto [program, expected] : llvm::zip_equal(*programs, kernels)) {
    EXPECT_EQ(program.kernels.size(), expected);
    EXPECT_EQ(program.kernels[0].block, 64);
    EXPECT_EQ(program.kernels[0].sharedBytes, 128);
    EXPECT_EQ(count(program.source, "#include \""), 0u);
    EXPECT_EQ(count(program.source, "constexpr int kWarp = 32;"), 1u);
    for (const CudaKernel &kernel : program.kernels)
      EXPECT_EQ(count(program.source, "\n" + kernel.name + "("), 1u);
  }
  // What takes longest is started first.
  EXPECT_EQ((*programs)[0].kernels[0].name, "instance");
  EXPECT_EQ((*programs)[1].kernels[1].name, "k3");
  EXPECT_EQ((*programs)[3].kernels[0].name, "k2");
  EXPECT_EQ(count((*programs)[0].source, "sinter::f<instance_parameters>(x0, y0);"), 1u);
}

TEST(CudaProgram, AHeaderThatThereIsNotIsSaid) {
  std::string error;
  ScopedDiagnosticHandler handler(&getContext(), [&](Diagnostic &diagnostic) {
    error = diagnostic.str();
    return success();
  });
  auto module =
      parseSourceString<ModuleOp>(makeModule(1, "nothing.cuh"), ParserConfig(&getContext()));
  ASSERT_TRUE(module);
  EXPECT_TRUE(failed(emitCudaPrograms(*module)));
  EXPECT_EQ(error, "expected a header of kernels_templates/cuda, got \"nothing.cuh\"");
}

TEST(CudaExpression, LiteralsMeanTheirNumbers) {
  auto print = [](float value) { return makeFloatLiteral(APFloat(value)); };
  EXPECT_EQ(print(0.0f), "0.0f");
  EXPECT_EQ(print(-0.0f), "-0.0f");
  EXPECT_EQ(print(0.1f), "0.1f");
  EXPECT_EQ(print(1.0f / 3), "0.333333343f");
  EXPECT_EQ(print(1e30f), "1e+30f");
  EXPECT_EQ(print(-HUGE_VALF), "-sinter::kInfinity");
  EXPECT_EQ(makeFloatLiteral(APFloat(0.1)), "0.1");
  EXPECT_EQ(makeFloatLiteral(APFloat(1.0 / 3)), "0.33333333333333331");
  for (float value : {3.14159274f, 1.17549435e-38f, 16777217.0f, 1e-45f})
    EXPECT_EQ(strtof(print(value).c_str(), nullptr), value);
}

TEST(CudaExpression, ParenthesesStandWhereTheyAreNeeded) {
  CudaExpression a{"a"}, b{"b"}, c{"c"};
  CudaExpression sum = makeBinary(a, "+", b, Binding::Sum);
  EXPECT_EQ(makeBinary(sum, "+", c, Binding::Sum).text, "a + b + c");
  EXPECT_EQ(makeBinary(c, "-", sum, Binding::Sum).text, "c - (a + b)");
  EXPECT_EQ(makeBinary(sum, "*", c, Binding::Product).text, "(a + b) * c");
  CudaExpression product = makeBinary(a, "*", b, Binding::Product);
  EXPECT_EQ(makeBinary(c, "/", product, Binding::Product).text, "c / (a * b)");
  EXPECT_EQ(makeCall("f", {sum.text, "1"}).text, "f(a + b, 1)");
}
