//===- CudaDifferentialTest.cpp - Kernels as a GPU would run them ------------===//
//
// A test's kernels are collected and compiled together when it ends: by the host's compiler for the
// emulator, which runs them on the test's arguments, and by NVRTC, which says whether
// all of their values fit into registers.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/Cuda/CudaProgram.h"
#include "compiler/Codegen/Cuda/Kernels.h"
#include "compiler/Codegen/Cuda/Passes.h"
#include "compiler/Reference/Evaluator.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/Device/Cuda/Nvrtc.h"
#include "test/cuda/DeviceProgram.h"
#include "test/simt/DeviceMemory.h"
#include "test/simt/Program.h"
#include "test/unit/Codegen/DifferentialTest.h"
#include "llvm/ADT/StringSet.h"
#include <cstring>

using namespace mlir;
using namespace sinter;
using namespace sinter::jit;
using namespace sinter::test;

/// Elements of all operands and results of a kernel that is run in checked mode, too.
static constexpr int64_t kCheckedElements = 3000;

namespace {
/// A kernel, its arguments and what is expected of it.
struct CudaCase {
  std::string name;
  double tolerance;
  SmallVector<ReferenceTensor> arguments, expected;
};

/// An H200.
TargetAttr getCudaTarget() {
  return TargetAttr::get(&getContext(), "cuda", "sm_90", "", /*vectorBits=*/128,
                         /*registers=*/255, /*cores=*/132, /*gflopsF32=*/60'000,
                         /*gflopsBf16=*/800'000, /*memoryGbs=*/4800, /*launchNs=*/2000,
                         /*l1Bytes=*/232'448, /*l2Bytes=*/50 << 20, /*l3Bytes=*/0);
}

/// The kernels of one test.
class CudaCases {
public:
  static CudaCases &get() {
    static CudaCases cases;
    return cases;
  }

  void add(StringRef text, double tolerance, const MakeArgument &make) {
    if (!seen.insert(text).second)
      return;
    OwningOpRef<ModuleOp> parsed = parseSourceString<ModuleOp>(text, ParserConfig(&getContext()));
    ASSERT_TRUE(parsed) << text.str();
    auto kernel = parsed->lookupSymbol<func::FuncOp>("kernel");
    // The template takes its operands from memory.
    if (!kernel.front().getOps<EmbeddingGradOp>().empty() &&
        !kernel.front().getOps<ConstantOp>().empty())
      return;
    if (!module) {
      module = ModuleOp::create(kernel.getLoc());
      (*module)->setAttr(SinterDialect::kTarget, getCudaTarget());
    }
    CudaCase &one = cases.emplace_back();
    one.name = "k" + std::to_string(cases.size());
    one.tolerance = tolerance;
    for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes())) {
      auto tensor = cast<RankedTensorType>(type);
      one.arguments.push_back(make ? make(i, tensor) : makeNormal(tensor, i + 1));
    }
    one.expected = evaluateFunction(kernel, one.arguments);
    kernel.setName(one.name);
    kernel->moveBefore(module->getBody(), module->getBody()->end());
  }

  /// Compiles and runs what was added, and forgets it.
  void run() {
    if (module)
      runAll();
    module = nullptr;
    cases.clear();
    seen.clear();
  }

private:
  void runAll() {
    PassManager passes(&getContext());
    buildCudaCodegenPipeline(passes);
    ASSERT_TRUE(succeeded(passes.run(*module)));
    FailureOr<std::vector<CudaProgram>> programs = emitCudaPrograms(*module);
    ASSERT_TRUE(succeeded(programs));
    size_t count = 0;
    for (const CudaProgram &program : *programs) {
      count += program.kernels.size();
      if (getKernelPlace() == KernelPlace::Device) {
        runOnDevice(program);
        continue;
      }
      expectNoSpills(program);
      simt::CompileOptions options;
      options.name = "generated.cu";
      options.cache = SINTER_KERNEL_CACHE;
      auto fast = simt::Program::compile(program.source, options);
      ASSERT_TRUE(fast) << fast.error().message();
      options.checked = true;
      auto checked = simt::Program::compile(program.source, options);
      ASSERT_TRUE(checked) << checked.error().message();
      for (const CudaKernel &one : program.kernels) {
        auto found = findCase(one);
        ASSERT_TRUE(found != cases.end()) << one.name;
        SCOPED_TRACE(printCase(*found));
        auto kernel = fast->kernel(one.name);
        ASSERT_TRUE(kernel) << kernel.error().message();
        std::vector<std::vector<char>> bits = runCase(*found, *kernel, {});
        expectRecorded(*found, bits);
        using Order = simt::Schedule::Order;
        EXPECT_EQ(bits, runCase(*found, *kernel, {Order::Reverse}));
        EXPECT_EQ(bits, runCase(*found, *kernel, {Order::Shuffled, 7}));
        // A plan may put a result in the place of an operand that is not needed any more.
        EXPECT_EQ(bits, runCase(*found, *kernel, {Order::Shuffled, 5}, /*reuses=*/true));
        if (countElements(*found) > kCheckedElements)
          continue;
        auto watched = checked->kernel(one.name);
        ASSERT_TRUE(watched) << watched.error().message();
        runCase(*found, *watched, {Order::Shuffled, 3});
        runCase(*found, *watched, {Order::Forward}, /*reuses=*/true);
      }
    }
    EXPECT_EQ(count, cases.size());
  }

  /// Programs are divided by their length: cases are found by the kernel's name.
  std::vector<CudaCase>::const_iterator findCase(const CudaKernel &kernel) const {
    return std::ranges::find(cases, kernel.name, &CudaCase::name);
  }

  /// Runs the kernels of a program on the GPU.
  void runOnDevice(const CudaProgram &program) {
    auto device = DeviceProgram::compile({"generated.cu", program.source, {}, {}});
    ASSERT_TRUE(device) << device.error().message();
    for (const CudaKernel &one : program.kernels) {
      auto found = findCase(one);
      ASSERT_TRUE(found != cases.end()) << one.name;
      SCOPED_TRACE(printCase(*found));
      auto tensors = module->lookupSymbol<func::FuncOp>(one.name);
      std::vector<GuardedStorage> storage;
      for (auto [argument, type] : llvm::zip_equal(found->arguments, tensors.getArgumentTypes()))
        storage.emplace_back(cast<RankedTensorType>(type)).write(argument);
      SmallVector<size_t> places;
      for (auto [result, type] : llvm::enumerate(tensors.getResultTypes())) {
        BlockArgument inPlace = findInPlaceArgument(tensors.front(), result);
        places.push_back(inPlace ? inPlace.getArgNumber() : storage.size());
        if (!inPlace)
          storage.emplace_back(cast<RankedTensorType>(type));
      }
      auto bytesOf = [&](size_t place) {
        return std::span(static_cast<std::byte *>(storage[place].data()), storage[place].size());
      };
      std::vector<std::span<std::byte>> memory;
      for (size_t argument = 0; argument < found->arguments.size(); ++argument)
        memory.push_back(bytesOf(argument));
      for (size_t place : places)
        memory.push_back(bytesOf(place));
      CudaLaunch shape = *getLaunch(tensors);
      std::vector<std::byte> scratch(static_cast<size_t>(shape.scratchBytes));
      if (!scratch.empty())
        memory.push_back(scratch);
      auto run = (*device)->run(one.name, static_cast<unsigned>(shape.grid),
                                static_cast<unsigned>(shape.block),
                                static_cast<unsigned>(shape.sharedBytes), memory);
      ASSERT_TRUE(run) << run.error().message();
      std::vector<std::vector<char>> bits;
      for (auto [result, place] : llvm::enumerate(places)) {
        double error = getRelativeError(storage[place].read(), found->expected[result]);
        EXPECT_TRUE(error <= found->tolerance)
            << "relative error " << error << " of result " << result;
        const char *data = static_cast<const char *>(storage[place].data());
        bits.emplace_back(data, data + storage[place].size());
      }
      expectRecorded(*found, bits);
    }
  }

  /// Keeps the results of f32, or compares them with what was kept (test/cuda/DeviceProgram.h).
  void expectRecorded(const CudaCase &one, const std::vector<std::vector<char>> &bits) {
    auto tensors = module->lookupSymbol<func::FuncOp>(one.name);
    std::vector<std::vector<double>> numbers;
    for (auto [type, bytes] : llvm::zip_equal(tensors.getResultTypes(), bits))
      if (getElementTypeOrSelf(type).isF32()) {
        std::vector<float> values(bytes.size() / sizeof(float));
        std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
        numbers.emplace_back(values.begin(), values.end());
      }
    std::vector<std::span<const double>> views(numbers.begin(), numbers.end());
    const testing::TestInfo *test = testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string(test->test_suite_name()) + "." + test->name() + "." + one.name;
    std::replace(name.begin(), name.end(), '/', '_');
    Expected<void> same = compareWithRecord(name, views);
    EXPECT_TRUE(same) << same.error().message();
  }

  std::string printCase(const CudaCase &one) {
    std::string text;
    llvm::raw_string_ostream out(text);
    module->lookupSymbol<func::FuncOp>(one.name).print(out);
    return text;
  }

  static int64_t countElements(const CudaCase &one) {
    int64_t elements = 0;
    for (const SmallVector<ReferenceTensor> &tensors : {one.arguments, one.expected})
      for (const ReferenceTensor &tensor : tensors)
        elements += tensor.getNumElements();
    return elements;
  }

  /// Launches a kernel and compares its results; returns their bits. With `reuses`, a result has
  /// the memory of an operand that it may overwrite.
  std::vector<std::vector<char>> runCase(const CudaCase &one, const simt::Kernel &kernel,
                                         simt::Schedule schedule, bool reuses = false) {
    auto tensors = module->lookupSymbol<func::FuncOp>(one.name);
    simt::DeviceMemory device;
    std::vector<GuardedStorage> storage;
    std::vector<void *> pointers;
    for (auto [argument, type] : llvm::zip_equal(one.arguments, tensors.getArgumentTypes())) {
      storage.emplace_back(cast<RankedTensorType>(type)).write(argument);
      pointers.push_back(device.allocate(storage.back().size()));
      device.upload(pointers.back(), storage.back().data(), storage.back().size());
    }
    // A result in the place of an argument has its memory.
    SmallVector<int64_t> reusable;
    if (reuses)
      reusable = findReusableArguments(tensors.front());
    SmallVector<size_t> places;
    for (auto [i, type] : llvm::enumerate(tensors.getResultTypes())) {
      BlockArgument inPlace = findInPlaceArgument(tensors.front(), i);
      if (!reusable.empty() && tensors.getArgumentTypes()[reusable.front()] == type) {
        inPlace = tensors.getArgument(reusable.front());
        reusable.clear();
      }
      places.push_back(inPlace ? inPlace.getArgNumber() : storage.size());
      if (!inPlace)
        storage.emplace_back(cast<RankedTensorType>(type));
      pointers.push_back(inPlace ? pointers[inPlace.getArgNumber()]
                                 : device.allocate(storage.back().size()));
    }
    CudaLaunch shape = *getLaunch(tensors);
    if (shape.scratchBytes > 0) {
      std::vector<std::byte> zeros(static_cast<size_t>(shape.scratchBytes));
      pointers.push_back(device.allocate(zeros.size()));
      device.upload(pointers.back(), zeros.data(), zeros.size());
    }
    simt::Launch launch;
    launch.grid = static_cast<unsigned>(shape.grid);
    launch.block = static_cast<unsigned>(shape.block);
    launch.sharedBytes = static_cast<size_t>(shape.sharedBytes);
    launch.schedule = schedule;
    simt::Report report = simt::launch(kernel, launch, pointers);
    EXPECT_TRUE(report.clean()) << report;
    std::vector<std::vector<char>> bits;
    for (auto [i, place] : llvm::enumerate(places)) {
      GuardedStorage &result = storage[place];
      device.download(result.data(), pointers[one.arguments.size() + i], result.size());
      double error = getRelativeError(result.read(), one.expected[i]);
      EXPECT_TRUE(error <= one.tolerance) << "relative error " << error << " of result " << i;
      const char *data = static_cast<const char *>(result.data());
      bits.emplace_back(data, data + result.size());
    }
    return bits;
  }

  /// Expects that kernels of rows fit into registers: for every architecture, or for one where a
  /// test has many kernels, since registers are as many on all. Templates are held to their
  /// manifest by NvrtcTests.
  void expectNoSpills(const CudaProgram &program) {
    auto isOfRows = [&](StringRef name) {
      return module->lookupSymbol<func::FuncOp>(name)->getAttrOfType<StringAttr>("sinter.kernel") ==
             "rows";
    };
    if (llvm::none_of(program.kernels, [&](const CudaKernel &one) { return isOfRows(one.name); }))
      return;
    constexpr size_t few = 4;
    for (const char *architecture : {"sm_90a", "sm_80", "sm_100"}) {
      if (program.kernels.size() > few && architecture != std::string_view("sm_90a"))
        break;
      runtime::cuda::CudaSource source{"generated.cu", program.source, program.options, {}};
      auto compiled = runtime::cuda::compileCuda(source, architecture);
      ASSERT_TRUE(compiled) << compiled.error().message();
      EXPECT_EQ(compiled->kernels.size(), program.kernels.size());
      for (const runtime::cuda::KernelResources &kernel : compiled->kernels)
        if (isOfRows(kernel.name))
          EXPECT_EQ(kernel.spillStoreBytes + kernel.spillLoadBytes + kernel.stackBytes, 0u)
              << kernel.name << " on " << architecture << " does not fit into registers\n"
              << program.source.substr(program.source.find("\n// "));
    }
  }

  OwningOpRef<ModuleOp> module;
  std::vector<CudaCase> cases;
  llvm::StringSet<> seen;
};

/// Runs a test's kernels at its end, as a part of it.
class RunCases : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo &) override { CudaCases::get().run(); }
};
} // namespace

void sinter::test::expectSameAsReference(StringRef text, double tolerance, TargetAttr,
                                         MakeArgument make, bool) {
  std::string reason = simt::Program::whyNot();
  if (getKernelPlace() == KernelPlace::Emulator && !reason.empty())
    GTEST_SKIP() << reason;
  CudaCases::get().add(text, tolerance, make);
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new RunCases);
  return RUN_ALL_TESTS();
}
