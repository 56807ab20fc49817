#include "tools/sinter/DeviceLimits.h"
#include "compiler/Analysis/CostModel.h"
#include "compiler/Analysis/Target.h"
#include "mlir/IR/MLIRContext.h"
#include "tools/sinter/Output.h"
#include <algorithm>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::cli;
using runtime::LimitKind;

/// The instructions that an executable may use.
static runtime::InstructionSet getInstructionSet(const fb::Executable &executable) {
  std::vector<std::string> features;
  if (executable.cpu_features())
    for (const flatbuffers::String *name : *executable.cpu_features())
      features.push_back(name->str());
  return runtime::InstructionSet::of(features);
}

/// A GPU by its data sheet.
static runtime::Limits describeGpu(std::string_view target) {
  mlir::MLIRContext context;
  context.loadDialect<SinterDialect>();
  runtime::Limits limits;
  Expected<TargetAttr> gpu = parseTarget(&context, target, /*cores=*/0);
  if (!gpu)
    return limits;
  CostModel model(*gpu);
  limits.flops = 1e9 * double(gpu->getGflopsF32());
  limits.narrowFlops = 1e9 * double(gpu->getGflopsBf16());
  limits.memoryBytes = 1e9 * model.getBandwidth(MemoryLevel::Memory);
  limits.sharedBytes = 1e9 * model.getBandwidth(MemoryLevel::SharedCache);
  limits.privateBytes = 1e9 * model.getBandwidth(MemoryLevel::PrivateCaches);
  return limits;
}

DeviceLimits::DeviceLimits(const runtime::Executable &executable, int64_t threads)
    : threads(threads) {
  const fb::Executable &root = executable.root();
  if (executable.isForCpu())
    host.emplace(static_cast<unsigned>(threads), getInstructionSet(root));
  else
    gpu = describeGpu(executable.metadata("target").value_or(""));
  uint64_t arena = 0;
  for (const fb::Program *program : *root.programs())
    arena = std::max(arena, program->arena_bytes());
  held = root.parameter_bytes() + root.state_bytes() + arena;
}

runtime::Limits DeviceLimits::all() {
  if (!host)
    return gpu;
  runtime::Limits limits = host->all();
  std::string_view holder = getHolder();
  if (holder == "private_caches")
    limits.sharedBytes = limits.privateBytes;
  if (holder != "memory")
    limits.memoryBytes = limits.sharedBytes;
  return limits;
}

const char *DeviceLimits::getHolder() const {
  runtime::CacheSizes caches = runtime::readCacheSizes();
  if (host && held <= caches.ofCore * static_cast<uint64_t>(threads))
    return "private_caches";
  return host && held <= caches.shared ? "shared_cache" : "memory";
}

double DeviceLimits::getMfu(DType dtype, double flopsPerSecond) {
  bool narrow = dtype != DType::F32;
  if (host)
    return host->shareOf(narrow ? LimitKind::Bf16Products : LimitKind::F32Products, flopsPerSecond);
  double &limit = narrow ? gpu.narrowFlops : gpu.flops;
  limit = std::max(limit, flopsPerSecond);
  return limit > 0 ? flopsPerSecond / limit : 0;
}

nlohmann::json DeviceLimits::describe() {
  runtime::Limits limits = all();
  return {{"f32_gflops", limits.flops * 1e-9},
          {"bf16_gflops", limits.narrowFlops * 1e-9},
          {"memory_gb_per_s", limits.memoryBytes * 1e-9},
          {"shared_cache_gb_per_s", limits.sharedBytes * 1e-9},
          {"private_caches_gb_per_s", limits.privateBytes * 1e-9}};
}

std::string DeviceLimits::print() {
  runtime::Limits limits = all();
  auto number = [](double rate) { return formatNumber(rate * 1e-9, 0); };
  return std::string(host ? "limits of this machine" : "limits of the device") + ": f32 " +
         number(limits.flops) + ", bf16 " + number(limits.narrowFlops) + " GFLOP/s; memory " +
         number(limits.memoryBytes) + ", shared cache " + number(limits.sharedBytes) +
         ", private caches " + number(limits.privateBytes) + " GB/s";
}
