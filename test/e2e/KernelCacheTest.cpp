// Machine code that was kept is that which would be made: executables have the same bytes with it,
// and what a kernel's code depends on is part of what finds it.

#include "compiler/Codegen/Cpu/KernelCache.h"
#include "compiler/Analysis/Target.h"
#include "frontends/Graph/ModelGraph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "test/e2e/CompiledModel.h"
#include "test/unit/Weights/TestFiles.h"
#include "gtest/gtest.h"
#include <fstream>

using namespace sinter;
using namespace sinter::test;
namespace fs = std::filesystem;

namespace {

class KernelCacheTest : public testing::Test {
protected:
  KernelCacheTest() {
    request.graph = makeModelGraph(*loadModelSpec(findModel("llama")));
    request.options.entries = {"logits"};
    request.options.batch = 1;
    request.options.chunk = request.options.maxSequence = 8;
  }

  /// Compiles with the cache; the executable has the bytes of one that is compiled without.
  /// Returns how many kernels were known.
  size_t compileBoth() {
    CompileResult &expected = alone[getCacheKey(request)];
    request.kernelCache.reset();
    if (expected.executable.empty())
      expected = compileOnce();
    EXPECT_EQ(expected.knownKernels, 0u);
    request.kernelCache = Cache(directory.path);
    CompileResult result = compileOnce();
    EXPECT_TRUE(result.executable == expected.executable);
    return result.knownKernels;
  }

  CompileResult compileOnce() {
    Expected<CompileResult> result = compile(request);
    EXPECT_TRUE(result) << result.error().message();
    return std::move(*result);
  }

  std::vector<fs::path> listFiles() const {
    std::vector<fs::path> files;
    for (const CacheFile &file : Cache(directory.path).list())
      files.push_back(file.path);
    return files;
  }

  TemporaryDirectory directory;
  CompileRequest request;
  std::map<std::string, CompileResult> alone; ///< what was compiled without the cache
};

TEST_F(KernelCacheTest, ServesTheSameModelAgain) {
  EXPECT_EQ(compileBoth(), 0u);
  std::vector<fs::path> files = listFiles();
  ASSERT_GT(files.size(), 5u);
  EXPECT_EQ(compileBoth(), files.size());
  EXPECT_EQ(listFiles().size(), files.size());
  // What other kernels read and write changes with the rows of a step, what they are changes not.
  request.options.entries = {"decode"};
  compileBoth();
  size_t known = compileBoth();
  request.options.maxSequence = 16;
  size_t others = compileBoth();
  EXPECT_GT(others, 0u);
  EXPECT_LT(others, known);
}

TEST_F(KernelCacheTest, MakesAgainWhatIsDamaged) {
  compileBoth();
  std::vector<fs::path> files = listFiles();
  ASSERT_GT(files.size(), 3u);
  std::ofstream(files[0], std::ios::trunc).close();
  fs::resize_file(files[1], fs::file_size(files[1]) - 1);
  std::fstream(files[2], std::ios::in | std::ios::out).seekp(200).put('!').put('?');
  fs::remove(files[3]);
  EXPECT_EQ(compileBoth(), files.size() - 4);
  EXPECT_EQ(compileBoth(), files.size());
}

TEST_F(KernelCacheTest, KnowsWhatCodeDependsOn) {
  request.options.target = "cpu:x86-64-v3";
  compileBoth();
  request.options.disabledPasses = {"sinter-unroll-loops"};
  EXPECT_EQ(compileBoth(), 0u);
  request.options.disabledPasses.clear();
  request.options.target = "cpu:x86-64-v4";
  EXPECT_EQ(compileBoth(), 0u);
}

TEST_F(KernelCacheTest, MakesAllWhereItCannotBeWritten) {
  request.kernelCache = Cache("/dev/null/none");
  EXPECT_EQ(compileOnce().knownKernels, 0u);
  request.kernelCache = Cache(directory.path, /*limit=*/100);
  compileOnce();
  EXPECT_TRUE(listFiles().empty());
}

// Names and places of kernels make no difference; builds of the compiler and bodies do: ops, which
// of their operands is which, attributes, types and what is in which region.
TEST_F(KernelCacheTest, FindsLoopsByWhatTheyDo) {
  using namespace mlir;
  MLIRContext context;
  context.loadDialect<arith::ArithDialect, func::FuncDialect, memref::MemRefDialect,
                      scf::SCFDialect, SinterDialect>();
  auto take = [&](const char *build, const char *name, std::string body, bool keeps) {
    std::string text = std::string("module { func.func @") + name +
                       "(%x: memref<4xf32>, %begin: index, %end: index) {\n"
                       "  %0 = memref.load %x[%begin] : memref<4xf32>\n" +
                       body + "\n  return\n} }";
    auto module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    KernelCache cache{Cache(directory.path), build};
    cache.take(*module, *parseTarget(&context, "cpu:x86-64-v3", 1), {"pass"});
    KernelObject object{'c', 'o', 'd', 'e'};
    if (keeps)
      cache.keep({{name, &object}});
    const KernelObject *found = cache.find(name);
    EXPECT_EQ(cache.countKnown(), found ? 1u : 0u);
    size_t ops = (*module->getOps<func::FuncOp>().begin()).getBody().front().getOperations().size();
    EXPECT_EQ(ops == 1, found != nullptr);
    return found && *found == object;
  };
  const std::string constant = "%c = arith.constant 2.0 : f32\n",
                    difference = "%1 = arith.subf %0, %c : f32\n",
                    store = "memref.store %1, %x[%begin] : memref<4xf32>\n",
                    loop = "scf.for %i = %begin to %end step %begin {\n";
  const std::string whole = constant + loop + difference + store + "}";
  EXPECT_FALSE(take("one", "k", whole, /*keeps=*/true));
  EXPECT_TRUE(take("one", "k", whole, /*keeps=*/false));
  EXPECT_TRUE(take("one", "other", whole, /*keeps=*/false));
  EXPECT_FALSE(take("two", "k", whole, /*keeps=*/false));
  for (const std::string &other :
       {constant + loop + "%1 = arith.addf %0, %c : f32\n" + store + "}",
        constant + loop + "%1 = arith.subf %c, %0 : f32\n" + store + "}",
        "%c = arith.constant 3.0 : f32\n" + loop + difference + store + "}",
        loop + constant + difference + store + "}", constant + difference + loop + store + "}",
        constant + "scf.for %i = %end to %begin step %begin {\n" + difference + store + "}",
        constant + loop + difference + "memref.store %1, %x[%i] : memref<4xf32>\n}",
        constant + loop + difference +
            "memref.store %1, %x[%begin] {nontemporal = true} : memref<4xf32>\n}"})
    EXPECT_FALSE(take("one", "k", other, /*keeps=*/false)) << other;
}

} // namespace
