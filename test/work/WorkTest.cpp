//===- WorkTest.cpp - No command executes far more than its ops ask for -----===//
//
// A fused kernel can compute the right numbers and be hopelessly slow: a whole tensor's reduction
// that every row computes again makes a step quadratic. Times would tell, but not on machines that
// others use too; so the loops themselves are counted (ExecutedWork.h). At the target's rates, with
// all that is loaded and stored in the nearest cache, the loops of a kernel may take ten times its
// roofline and a launch. Checked are the programs of all kept models and of models of full size,
// which are compiled as far as their loops; what libraries and templates do is not in them.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/CostModel.h"
#include "compiler/Analysis/Target.h"
#include "compiler/Codegen/Cpu/Passes.h"
#include "compiler/Codegen/Loops/Kernels.h"
#include "compiler/Pipelines/Compilation.h"
#include "compiler/Pipelines/Registration.h"
#include "frontends/Graph/ModelGraph.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "test/support/ReferenceModel.h"
#include "test/work/ExecutedWork.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

namespace {
constexpr double kMostRooflines = 10;
constexpr const char *kProcessor = "cpu:x86-64-v4", *kGpu = "cuda:sm_90";

/// The first passes of Codegen, which make loops of kernels.
constexpr StringRef kLowering[] = {"sinter-lower-kernels", "sinter-lower-cuda-kernels"};

/// What a kernel takes at least, and what it may.
struct Bounds {
  ExecutedWork work;
  double executedNs, rooflineNs, limitNs;
};

/// Nanoseconds of work at the peak rates that the target is described with.
double findRooflineNs(const CostModel &costs, const Cost &cost, TargetAttr target) {
  double wideFlops = cost.flops - cost.narrowFlops - cost.byteFlops - cost.nibbleFlops;
  double computeNs = wideFlops / static_cast<double>(target.getGflopsF32()) +
                     cost.narrowFlops / static_cast<double>(target.getGflopsBf16()) +
                     cost.byteFlops / getGflopsOfBytes(target, 8) +
                     cost.nibbleFlops / getGflopsOfBytes(target, 4);
  double memoryNs = (cost.bytes - cost.sharedBytes - cost.privateBytes) /
                        costs.getBandwidth(MemoryLevel::Memory) +
                    cost.sharedBytes / costs.getBandwidth(MemoryLevel::SharedCache) +
                    cost.privateBytes / costs.getBandwidth(MemoryLevel::PrivateCaches);
  return std::max(computeNs, memoryNs);
}

/// Of a kernel on tensors whose loops are `loops`.
Bounds findBounds(func::FuncOp kernel, func::FuncOp loops, TargetAttr target) {
  CostModel costs(target);
  ExecutedWork work = countWork(loops, kernel->getAttrOfType<IntegerAttr>(kGridAttribute).getInt());
  bool pairs = llvm::any_of(kernel.getArgumentTypes(), [](Type type) {
    return getElementTypeOrSelf(type).getIntOrFloatBitWidth() == 16;
  });
  auto rate = static_cast<double>(pairs ? std::max(target.getGflopsBf16(), target.getGflopsF32())
                                        : target.getGflopsF32());
  MemoryLevel smallest = costs.getLevel(/*bytes=*/0, /*cold=*/false);
  double executed = std::max(work.flops / rate, work.bytes / costs.getBandwidth(smallest));
  double roofline = findRooflineNs(costs, costs.getBodyCost(kernel.front()), target);
  return {work, executed, roofline,
          kMostRooflines * roofline + static_cast<double>(target.getLaunchNs())};
}

/// How much work drawing a token is depends on the logits.
bool drawsTokens(func::FuncOp kernel) { return !kernel.front().getOps<SampleOp>().empty(); }

/// Compiles as far as the kernels' loops and checks each of them.
void expectBoundedWork(const CompileRequest &request) {
  Compilation compilation(request);
  Expected<void> begun = compilation.begin();
  ASSERT_TRUE(begun) << begun.error().message();
  auto steps = compilation.listPasses(Phase::Codegen);
  ASSERT_TRUE(steps) << steps.error().message();
  for (const PassStep &step : *steps) {
    Expected<void> run = compilation.run(step);
    ASSERT_TRUE(run) << run.error().message();
    if (llvm::is_contained(kLowering, step.argument))
      break;
  }
  ModuleOp module = compilation.getModule(), code = lookupKernels(module);
  ASSERT_TRUE(code);
  size_t checked = 0;
  for (auto kernel : module.getOps<func::FuncOp>()) {
    auto loops = code.lookupSymbol<func::FuncOp>(kernel.getName());
    if (!loops || loops.isDeclaration() || drawsTokens(kernel))
      continue;
    Bounds bounds = findBounds(kernel, loops, TargetAttr::lookup(module));
    EXPECT_LE(bounds.executedNs, bounds.limitNs)
        << kernel.getName().str() << ", whose roofline is " << bounds.rooflineNs << " ns, executes "
        << bounds.work.flops << " operations on " << bounds.work.bytes << " bytes";
    ++checked;
  }
  EXPECT_GT(checked, 0u);
}

//===----------------------------------------------------------------------===//
// What is counted
//===----------------------------------------------------------------------===//

class CountedWork : public testing::Test {
protected:
  CountedWork() {
    DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// Lowers one kernel on tensors; null on failure.
  func::FuncOp lower(const std::string &kernel) {
    module = parseSourceString<ModuleOp>(kernel, &context);
    if (!module)
      return nullptr;
    (*module)->setAttr(SinterDialect::kTarget, *parseTarget(&context, kProcessor, 2));
    PassManager manager(&context, ModuleOp::getOperationName());
    manager.addPass(createLowerKernelsPass());
    if (failed(manager.run(*module)))
      return nullptr;
    return *module->getOps<func::FuncOp>().begin();
  }

  func::FuncOp getLoops(func::FuncOp kernel) {
    return lookupKernels(*module).lookupSymbol<func::FuncOp>(kernel.getName());
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(CountedWork, OfARowIsThatOfItsElements) {
  func::FuncOp kernel = lower(R"(
func.func private @kernel(%x: tensor<48x100xf32>, %y: tensor<48x100xf32>) -> tensor<48xf32>
    attributes {sinter.kernel = "rows"} {
  %0 = sinter.mul %x, %y : (tensor<48x100xf32>, tensor<48x100xf32>) -> tensor<48x100xf32>
  %1 = sinter.reduce sum %0 : (tensor<48x100xf32>) -> tensor<48xf32>
  return %1 : tensor<48xf32>
})");
  ASSERT_TRUE(kernel);
  ExecutedWork work = countWork(getLoops(kernel), 48);
  EXPECT_EQ(work.flops, 2 * 48 * 100);
  EXPECT_EQ(work.bytes, 4 * (2 * 48 * 100 + 48));
  EXPECT_EQ(countWork(getLoops(kernel), 12).flops, 2 * 12 * 100);
}

TEST_F(CountedWork, OfAProductIsItsTiles) {
  func::FuncOp kernel = lower(R"(
func.func private @kernel(%x: tensor<100x96xf32>,
    %w: tensor<96x256xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>)
    -> tensor<100x256xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<100x96xf32>,
      tensor<96x256xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>)
      -> tensor<100x256xf32>
  return %0 : tensor<100x256xf32>
})");
  ASSERT_TRUE(kernel);
  int64_t items = kernel->getAttrOfType<IntegerAttr>(kGridAttribute).getInt();
  double useful = 2.0 * 100 * 96 * 256;
  ExecutedWork work = countWork(getLoops(kernel), items);
  EXPECT_GE(work.flops, useful);
  EXPECT_LE(work.flops, 1.2 * useful);
}

// A sum over all of a tensor that every row computes again, as fusion once made of Adafactor's
// step.
TEST_F(CountedWork, FindsASumThatEveryRowRepeats) {
  std::string rows = "tensor<4096xf32>", all = "tensor<4096x64xf32>";
  func::FuncOp kernel = lower("func.func private @kernel(%s: " + rows + ", %x: " + all + ") -> " +
                              all + R"( attributes {sinter.kernel = "rows"} {
  %0 = sinter.reduce sum %s : ()" +
                              rows + R"() -> tensor<f32>
  %1 = sinter.broadcast %0 {dims = array<i64>} : (tensor<f32>) -> )" +
                              all + R"(
  %2 = sinter.mul %x, %1 : ()" +
                              all + ", " + all + ") -> " + all + R"(
  return %2 : )" + all + "\n}");
  ASSERT_TRUE(kernel);
  EXPECT_GE(countWork(getLoops(kernel), 4096).flops, 4096.0 * 4096);
  Bounds bounds = findBounds(kernel, getLoops(kernel), TargetAttr::lookup(*module));
  EXPECT_GT(bounds.executedNs, bounds.limitNs);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

struct Program {
  std::string name;
  std::string model; ///< the path or the text of a description
  CompileOptions options;
};

void PrintTo(const Program &program, std::ostream *out) { *out << program.name; }

class Work : public testing::TestWithParam<Program> {};

TEST_P(Work, IsBoundedByTheRoofline) {
  const Program &program = GetParam();
  Expected<ModelSpec> spec = StringRef(program.model).starts_with("{")
                                 ? parseModelSpec(program.model, program.name)
                                 : loadModelSpec(program.model);
  ASSERT_TRUE(spec) << spec.error().message();
  CompileRequest request;
  request.graph = makeModelGraph(std::move(*spec));
  request.options = program.options;
  expectBoundedWork(request);
}

// Of Llama 3.2 1B.
constexpr const char *kLlama = R"({"model_type": "llama", "vocab_size": 128256, "hidden_size": 2048,
  "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32,
  "num_key_value_heads": 8, "max_position_embeddings": 4096, "rms_norm_eps": 1e-5,
  "rope_theta": 500000.0, "tie_word_embeddings": true})";

Program makeInference(const std::string &name, const std::string &model, DType type, int64_t chunk,
                      int64_t maxSequence, const char *target = kProcessor) {
  Program program{name, model, {}};
  program.options.target = target;
  program.options.cores = 2;
  program.options.computeType = program.options.cacheType = type;
  program.options.chunk = chunk;
  program.options.maxSequence = maxSequence;
  return program;
}

Program makeTraining(const std::string &name, const std::string &model,
                     const std::string &optimizer, int64_t batch, int64_t sequence,
                     const char *target = kProcessor, const std::string &stateType = "f32") {
  Program program = makeInference(name, model, DType::F32, sequence, sequence, target);
  program.options.batch = batch;
  program.options.entries = {"train_step"};
  program.options.training.optimizer = optimizer;
  program.options.training.stateType = stateType;
  return program;
}

std::vector<Program> listKeptPrograms() {
  std::vector<Program> programs;
  for (const std::string &name : modelNames()) {
    std::string path = modelsFolder() / name, title = testNameOf(name);
    programs.push_back(makeInference(title + "_inference", path, DType::F32, 7, 20));
    // A window of a few keys leaves most of attention's block of them unused: of one row that is
    // less than a launch.
    int64_t batch = loadModelSpec(path)->hasSlidingWindow() ? 1 : 3;
    programs.push_back(makeTraining(title + "_training", path, "adamw", batch, 24));
  }
  for (const auto &entry : std::filesystem::directory_iterator(modelsFolder() / "../wide")) {
    std::string title = testNameOf(entry.path().filename());
    programs.push_back(makeInference(title + "_inference", entry.path(), DType::F32, 7, 20));
    programs.push_back(makeTraining(title + "_training", entry.path(), "adamw", 3, 24));
  }
  llvm::sort(programs, [](const Program &a, const Program &b) { return a.name < b.name; });
  std::string llama = modelsFolder() / "llama";
  for (const char *optimizer : {"sgd", "adafactor", "muon"})
    programs.push_back(makeTraining(std::string("llama_") + optimizer, llama, optimizer, 3, 24));
  return programs;
}

std::vector<Program> listExamplePrograms() {
  std::vector<Program> programs;
  for (const char *folder : {"models", "training"})
    for (const auto &entry :
         std::filesystem::directory_iterator(std::filesystem::path(SINTER_EXAMPLES) / folder))
      if (entry.path().extension() == ".json") {
        std::string title = testNameOf(entry.path().stem());
        programs.push_back(makeInference(title + "_inference", entry.path(), DType::F32, 64, 128));
        programs.push_back(makeTraining(title + "_training", entry.path(), "adamw", 2, 64));
      }
  llvm::sort(programs, [](const Program &a, const Program &b) { return a.name < b.name; });
  return programs;
}

std::vector<Program> listFullSizePrograms() {
  std::vector<Program> programs;
  const std::string gpt2 = SINTER_EXAMPLES "/models/gpt2-124m.json";
  for (auto [type, dtype] : {std::pair("f32", DType::F32), {"bf16", DType::BF16}}) {
    std::string suffix = std::string("_") + type;
    programs.push_back(makeInference("gpt2_124m" + suffix, gpt2, dtype, 512, 1024));
    programs.push_back(makeInference("llama_1b" + suffix, kLlama, dtype, 512, 1024));
  }
  for (const char *optimizer : {"adamw", "sgd", "adafactor", "muon"}) {
    std::string name = std::string("gpt2_124m_") + optimizer;
    programs.push_back(makeTraining(name, gpt2, optimizer, 4, 256));
    programs.push_back(makeTraining(name + "_cuda", gpt2, optimizer, 4, 256, kGpu));
    if (StringRef(optimizer) != "adafactor")
      programs.push_back(
          makeTraining(name + "_bf16_states", gpt2, optimizer, 4, 256, kProcessor, "bf16"));
  }
  return programs;
}

std::string nameOf(const testing::TestParamInfo<Program> &info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Kept, Work, testing::ValuesIn(listKeptPrograms()), nameOf);
INSTANTIATE_TEST_SUITE_P(Examples, Work, testing::ValuesIn(listExamplePrograms()), nameOf);
INSTANTIATE_TEST_SUITE_P(FullSize, Work, testing::ValuesIn(listFullSizePrograms()), nameOf);
} // namespace
