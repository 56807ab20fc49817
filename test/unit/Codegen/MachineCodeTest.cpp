//===- MachineCodeTest.cpp - Kernels become code that runs ------------------===//

#include "compiler/Codegen/Cpu/MachineCode.h"
#include "compiler/Analysis/Target.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>

using namespace mlir;
using namespace sinter;

namespace {
class MachineCodeTest : public testing::Test {
protected:
  MachineCodeTest() { context.loadDialect<LLVM::LLVMDialect, SinterDialect>(); }

  Expected<MachineCode> emit(const char *text) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    return emitMachineCode(*module, *parseTarget(&context, "cpu", 1));
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

/// Code mapped to where it can run.
class Mapped {
public:
  explicit Mapped(const MachineCode &code) : size(code.image.size()) {
    address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memcpy(address, code.image.data(), size);
    mprotect(address, size, PROT_READ | PROT_EXEC);
  }
  ~Mapped() { munmap(address, size); }

  using Kernel = void (*)(void *const *, int64_t, int64_t);
  Kernel get(uint64_t offset) {
    return reinterpret_cast<Kernel>(static_cast<std::byte *>(address) + offset);
  }

private:
  void *address;
  size_t size;
};

// Two kernels that share an image; one reads a vector constant from it.
constexpr const char *kKernels = R"(
module @kernels {
  llvm.func @ramp(%slices: !llvm.ptr, %begin: i64, %end: i64) {
    %ramp = llvm.mlir.constant(
      dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : vector<8xf32>) : vector<8xf32>
    %out = llvm.load %slices : !llvm.ptr -> !llvm.ptr
    %at = llvm.getelementptr %out[%begin] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %ramp, %at {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
    llvm.return
  }
  llvm.func @count(%slices: !llvm.ptr, %begin: i64, %end: i64) {
    %out = llvm.load %slices : !llvm.ptr -> !llvm.ptr
    %n = llvm.sub %end, %begin : i64
    llvm.store %n, %out : i64, !llvm.ptr
    llvm.return
  }
})";
} // namespace

// Instruction selection of LLVM 22 writes four bytes here, with AVX-512.
TEST_F(MachineCodeTest, StoresOneLaneAlone) {
  Expected<MachineCode> code = emit(R"(
module @kernels {
  llvm.func @last(%slices: !llvm.ptr, %begin: i64, %end: i64) {
    %in = llvm.load %slices : !llvm.ptr -> !llvm.ptr
    %second = llvm.getelementptr %slices[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %out = llvm.load %second : !llvm.ptr -> !llvm.ptr
    %wide = llvm.load %in {alignment = 4 : i64} : !llvm.ptr -> vector<8xi32>
    %narrow = llvm.trunc %wide : vector<8xi32> to vector<8xi8>
    %mask = llvm.mlir.constant(
      dense<[true, false, false, false, false, false, false, false]> : vector<8xi1>) : vector<8xi1>
    llvm.intr.masked.store %narrow, %out, %mask {alignment = 1 : i32}
      : vector<8xi8>, vector<8xi1> into !llvm.ptr
    llvm.return
  }
})");
  ASSERT_TRUE(code) << code.error().message();
  Mapped mapped(*code);
  std::array<int32_t, 8> in = {0x01020304};
  std::array<int8_t, 8> out = {}, expected = {4};
  void *slices[] = {in.data(), out.data()};
  mapped.get(code->offsets.at("last"))(slices, 0, 1);
  EXPECT_EQ(out, expected);
}

TEST_F(MachineCodeTest, RunsKernelsOfOneImage) {
  auto code = emit(kKernels);
  ASSERT_TRUE(code) << code.error().message();
  ASSERT_EQ(code->offsets.size(), 2u);
  Mapped mapped(*code);
  float out[10] = {};
  void *slices[] = {out};
  mapped.get(code->offsets.at("ramp"))(slices, 2, 10);
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(out[i], i < 2 ? 0.0f : float(i - 1)) << i;
  int64_t count = 0;
  slices[0] = &count;
  mapped.get(code->offsets.at("count"))(slices, 3, 45);
  EXPECT_EQ(count, 42);
}

TEST_F(MachineCodeTest, IsTheSameOnOneProcessor) {
  auto code = emit(kKernels);
  ASSERT_TRUE(code);
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  auto alone = emit(kKernels);
  sched_setaffinity(0, sizeof all, &all);
  ASSERT_TRUE(alone);
  EXPECT_EQ(code->image, alone->image);
  EXPECT_EQ(code->offsets, alone->offsets);
}

TEST_F(MachineCodeTest, NamesTheFeaturesThatItNeeds) {
  auto code = emit(kKernels);
  ASSERT_TRUE(code);
  for (const std::string &feature : code->cpuFeatures)
    EXPECT_TRUE(parseTarget(&context, "cpu", 1)->hasFeature(feature)) << feature;
}

TEST_F(MachineCodeTest, RefusesCallsToOutside) {
  auto code = emit(R"(
module @kernels {
  llvm.func @expf(f32) -> f32
  llvm.func @k(%slices: !llvm.ptr, %begin: i64, %end: i64) {
    %out = llvm.load %slices : !llvm.ptr -> !llvm.ptr
    %x = llvm.load %out : !llvm.ptr -> f32
    %y = llvm.call @expf(%x) : (f32) -> f32
    llvm.store %y, %out : f32, !llvm.ptr
    llvm.return
  }
})");
  ASSERT_FALSE(code);
  EXPECT_TRUE(code.error().defect);
  EXPECT_NE(code.error().message().find("expf"), std::string::npos) << code.error().message();
}

TEST_F(MachineCodeTest, PrintsItself) {
  ASSERT_TRUE(emit(kKernels));
  TargetAttr target = *parseTarget(&context, "cpu", 1);
  auto ir = printMachineCode(*module, target, CodeText::Llvm);
  ASSERT_TRUE(ir);
  EXPECT_NE(ir->find("define void @ramp"), std::string::npos);
  auto assembly = printMachineCode(*module, target, CodeText::Assembly);
  ASSERT_TRUE(assembly);
  EXPECT_NE(assembly->find("ramp:"), std::string::npos);
}
