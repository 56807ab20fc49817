#include "compiler/Analysis/Target.h"
#include "runtime/Base/CpuFeatures.h"
#include "runtime/Base/Processor.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Threading.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <map>

using namespace mlir;
using namespace sinter;

namespace {
struct Caches {
  int64_t l1 = 32 << 10, l2 = 1 << 20, l3 = 16 << 20;
};
} // namespace

static Caches readHostCaches() {
  Caches caches;
  auto read = [](unsigned index) {
    return static_cast<int64_t>(runtime::readCacheBytes(/*processor=*/0, index));
  };
  if (int64_t first = read(0))
    caches.l1 = first;
  if (int64_t second = read(2))
    caches.l2 = second;
  caches.l3 = read(3);
  return caches;
}

/// Features that LLVM takes for granted on a processor of this name, and what those imply.
static llvm::StringMap<bool> getImpliedFeatures(StringRef cpu) {
  SmallVector<StringRef> named;
  llvm::X86::getFeaturesForCPU(cpu, named);
  llvm::StringMap<bool> implied;
  for (StringRef feature : named) {
    implied[feature] = true;
    llvm::X86::updateImpliedFeatures(feature, /*Enabled=*/true, implied);
  }
  return implied;
}

/// `features` says of each instruction set whether it may be used.
static TargetAttr describe(MLIRContext *context, StringRef cpu,
                           const std::map<std::string, bool> &features, int64_t cores,
                           const Caches &caches) {
  auto has = [&](const char *name) {
    auto found = features.find(name);
    return found != features.end() && found->second;
  };
  constexpr double kGigahertz = 4.0;
  bool avx512 = has("avx512f") && has("avx512vl"), avx = has("avx2") && has("fma");
  int64_t vectorBits = avx512 ? 512 : avx ? 256 : 128;
  int64_t multiplyBits = cpu == "znver4" ? 256 : vectorBits;
  double flopsPerCycle = 2.0 * 2.0 * (multiplyBits / 32.0) * (avx512 || avx ? 1.0 : 0.5);
  double gflops = kGigahertz * flopsPerCycle * cores;
  // Without instructions on bf16 each number is widened before it is multiplied.
  // AMX has sixteen times the rate of f32 on registers; products of GPT-2 124M reached two to four.
  double bf16Factor = has("amx-bf16") ? 3.0 : has("avx512bf16") ? 2.0 : 1.0 / 1.5;

  std::string text;
  for (const auto &[name, usable] : features)
    text += (text.empty() ? "" : ",") + std::string(usable ? "+" : "-") + name;
  return TargetAttr::get(context, "cpu", cpu, text, vectorBits, avx512 ? 32 : 16, cores,
                         static_cast<int64_t>(gflops), static_cast<int64_t>(gflops * bf16Factor),
                         std::min<int64_t>(35 * cores, 400), 500 + 250 * cores, caches.l1,
                         caches.l2, caches.l3);
}

/// This machine.
static TargetAttr describeHost(MLIRContext *context, int64_t cores) {
  StringRef cpu = llvm::sys::getHostCPUName();
  // A virtual machine may lack what the processor's name promises: such features are listed too,
  // switched off.
  llvm::StringMap<bool> implied = getImpliedFeatures(cpu);
  std::map<std::string, bool> features;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    if (feature.second || implied.lookup(feature.first()))
      // The system may keep what the processor has, as the registers of its matrix unit.
      features[feature.first().str()] =
          feature.second &&
          (!runtime::isKnownCpuFeature(feature.first()) || runtime::hasCpuFeature(feature.first()));
  return describe(context, cpu, features, cores, readHostCaches());
}

/// A processor by LLVM's name, with caches as most have them.
static TargetAttr describeCpu(MLIRContext *context, StringRef cpu, int64_t cores) {
  std::map<std::string, bool> features;
  for (const auto &feature : getImpliedFeatures(cpu))
    features[feature.first().str()] = true;
  return describe(context, cpu, features, cores, Caches());
}

namespace {
/// A GPU of an architecture, by its vendor's data sheet.
struct Gpu {
  StringRef architecture;
  int64_t multiprocessors, gflopsF32, gflopsBf16, gflopsInt8, memoryGbs, sharedBytes, l2Bytes;
  double linkGbs; ///< that it sends by NVLink, or by PCIe where there is none
};
} // namespace

static constexpr int64_t kKiB = 1 << 10, kMiB = 1 << 20;
static constexpr Gpu kGpus[] = {
    {"sm_80", 108, 19500, 312000, 624000, 1840, 163 * kKiB, 40 * kMiB, 300},     // A100 80 GB
    {"sm_90", 132, 67000, 989000, 1979000, 4320, 227 * kKiB, 50 * kMiB, 450},    // H200
    {"sm_100", 148, 80000, 2250000, 4500000, 7200, 227 * kKiB, 126 * kMiB, 900}, // B200
    {"sm_120", 170, 104800, 209500, 838000, 1610, 99 * kKiB, 96 * kMiB, 64},     // RTX 5090
};

/// A GPU that is described here, or null.
static const Gpu *findGpu(StringRef architecture) {
  const Gpu *gpu =
      llvm::find_if(kGpus, [&](const Gpu &known) { return known.architecture == architecture; });
  return gpu == std::end(kGpus) ? nullptr : gpu;
}

static Expected<TargetAttr> describeGpu(MLIRContext *context, StringRef architecture) {
  const Gpu *gpu = findGpu(architecture);
  if (!gpu)
    return fail("target \"cuda:" + architecture.str() + "\"",
                "\"" + architecture.str() + "\" is no architecture that Sinter describes",
                "give sm_80, sm_90, sm_100 or sm_120");
  constexpr int64_t kVectorBits = 128, kRegisters = 255, kLaunchNs = 2000, kFirstCache = 256 * kKiB;
  return TargetAttr::get(context, "cuda", gpu->architecture, "", kVectorBits, kRegisters,
                         gpu->multiprocessors, gpu->gflopsF32, gpu->gflopsBf16, gpu->memoryGbs,
                         kLaunchNs, gpu->sharedBytes, kFirstCache, gpu->l2Bytes);
}

Expected<TargetAttr> sinter::parseTarget(MLIRContext *context, StringRef text, int64_t cores) {
  if (text == "cpu") {
    if (cores <= 0)
      cores = llvm::hardware_concurrency().compute_thread_count();
    SINTER_TRY(std::string assumed, runtime::assumedCpu());
    return assumed.empty() ? describeHost(context, cores) : describeCpu(context, assumed, cores);
  }
  StringRef cpu = text;
  if (cpu.consume_front("cuda:"))
    return describeGpu(context, cpu);
  if (!cpu.consume_front("cpu:"))
    return fail("target \"" + text.str() + "\"", "it is none that Sinter knows",
                "give cpu, cpu:NAME as in cpu:x86-64-v4, or cuda:ARCHITECTURE as in cuda:sm_90");
  if (llvm::X86::parseArchX86(cpu, /*Only64Bit=*/true) == llvm::X86::CK_None)
    return fail("target \"" + text.str() + "\"",
                "\"" + cpu.str() + "\" is no 64-bit x86 processor that LLVM knows",
                "give a name as in cpu:x86-64-v3 or cpu:znver4");
  return describeCpu(context, cpu, cores > 0 ? cores : 2);
}

bool sinter::hasPairDot(TargetAttr target) {
  return target.hasFeature("avx512bf16") && target.getVectorBits() == 512;
}

bool sinter::hasFastPairDot(TargetAttr target) {
  return hasPairDot(target) && !target.hasFeature("amx-bf16");
}

bool sinter::hasTileDot(TargetAttr target) {
  return target.hasFeature("amx-bf16") && target.hasFeature("amx-int8") && hasPairDot(target) &&
         hasByteDot(target);
}

bool sinter::hasByteDot(TargetAttr target) {
  return target.hasFeature(target.getVectorBits() == 512 ? "avx512vnni" : "avxvnni");
}

double sinter::getGflopsOfBytes(TargetAttr target, int64_t bits) {
  constexpr double kFours = 4.0, kPairs = 2.0;
  if (const Gpu *gpu = findGpu(target.getChip()))
    return static_cast<double>(gpu->gflopsInt8);
  return static_cast<double>(target.getGflopsF32()) *
         (bits == 4 || hasByteDot(target) ? kFours : kPairs);
}

double sinter::getLinkBandwidth(TargetAttr target) {
  constexpr double kReached = 0.8, kPcieGbs = 64;
  const Gpu *gpu = findGpu(target.getChip());
  return kReached * (gpu ? gpu->linkGbs : kPcieGbs);
}

bool sinter::hasFp8Products(TargetAttr target) {
  return target.isGpu() && target.getChip() != "sm_80";
}

bool sinter::hasScaledFp8Library(TargetAttr target) {
  return target.isGpu() && target.getChip() == "sm_90";
}

std::optional<LibraryAttention> sinter::describeLibraryAttention(TargetAttr target) {
  if (!target.isGpu())
    return std::nullopt;
  return LibraryAttention{/*workspaceBytes=*/256, /*alignedBytes=*/16};
}

TargetAttr sinter::requireTarget(ModuleOp module) {
  TargetAttr target = TargetAttr::lookup(module);
  if (!target)
    module.emitError("expected the module to say what it is compiled for (sinter.target)");
  return target;
}
