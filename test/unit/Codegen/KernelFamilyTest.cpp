// A family of kernels that another dialect brings: no pass knows of it, and all of them take it.

#include "compiler/Analysis/Target.h"
#include "compiler/Codegen/Cpu/Passes.h"
#include "compiler/Codegen/Loops/Kernels.h"
#include "compiler/Fusion/Passes.h"
#include "compiler/Pipelines/Registration.h"
#include "dialects/Check/CheckDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace sinter;

namespace {
/// Each relu is a kernel of its own.
struct LoneRelu : KernelFamily {
  LoneRelu() : KernelFamily("lone_relu") {}

  bool isRoot(Operation *op) const override { return isa<ReluOp>(op); }

  StringRef findObstacle(const OpSet &ops, Operation *) const override {
    return ops.size() > 1 ? "a relu is alone" : "";
  }

  FailureOr<int64_t> lowerToLoops(func::FuncOp tensorKernel, func::FuncOp loopKernel,
                                  const TargetAttr &) const override {
    return lowerRowsKernel(tensorKernel, loopKernel, RowsOptions());
  }
};

struct BringsLoneRelu : KernelFamilyInterface {
  using KernelFamilyInterface::KernelFamilyInterface;

  ArrayRef<const KernelFamily *> getFamilies() const override {
    static const LoneRelu family;
    static const KernelFamily *const families[] = {&family};
    return families;
  }
};

class KernelFamilyTest : public testing::Test {
protected:
  KernelFamilyTest() {
    DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  void bringLoneRelu() {
    context.getLoadedDialect<check::CheckDialect>()->addInterfaces<BringsLoneRelu>();
  }

  /// The families of the kernels that three elementwise ops become, by name of the kernel; each has
  /// its code.
  std::map<std::string, std::string> compile() {
    auto module = parseSourceString<ModuleOp>(R"(
func.func @decode(%x: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {sinter.entry} {
  %0 = sinter.exp %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = sinter.relu %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = sinter.neg %1 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
})",
                                              ParserConfig(&context));
    module->getOperation()->setAttr(SinterDialect::kTarget,
                                    *parseTarget(&context, "cpu:x86-64-v3", 2));
    PassManager manager(&context);
    buildFusionPipeline(manager);
    manager.addPass(createLowerKernelsPass());
    EXPECT_TRUE(succeeded(manager.run(*module)));
    std::map<std::string, std::string> families;
    for (auto function : module->getOps<func::FuncOp>())
      if (auto family = function->getAttrOfType<StringAttr>(SinterDialect::kKernel)) {
        EXPECT_TRUE(function->hasAttr(kGridAttribute));
        EXPECT_TRUE(lookupKernels(*module).lookupSymbol(function.getName()));
        families[function.getName().str()] = family.str();
      }
    return families;
  }

  MLIRContext context;
};

TEST_F(KernelFamilyTest, OpsWithoutARootAreRows) {
  EXPECT_EQ(compile(), (std::map<std::string, std::string>{{"exp_relu_neg", "rows"}}));
}

TEST_F(KernelFamilyTest, AnotherDialectBringsOne) {
  bringLoneRelu();
  EXPECT_EQ(compile(), (std::map<std::string, std::string>{
                           {"exp", "rows"}, {"relu", "lone_relu"}, {"neg", "rows"}}));
}

TEST_F(KernelFamilyTest, NamesAreLookedUp) {
  EXPECT_EQ(KernelFamilies(&context).lookup("lone_relu"), nullptr);
  bringLoneRelu();
  KernelFamilies families(&context);
  ASSERT_NE(families.lookup("lone_relu"), nullptr);
  EXPECT_EQ(families.lookup(kRowsFamily)->getName(), "rows");
  EXPECT_EQ(families.lookup("columns"), nullptr);
}
} // namespace
