#include "sinter/DeviceLimits.h"
#include "compiler/Analysis/Machine.h"
#include "runtime/Device/Cpu/Rates.h"
#include <algorithm>

using namespace sinter;
using runtime::LimitKind;

/// The instructions that an executable may use.
static runtime::InstructionSet getInstructionSet(const fb::Executable &executable) {
  std::vector<std::string> features;
  if (executable.cpu_features())
    for (const flatbuffers::String *name : *executable.cpu_features())
      features.push_back(name->str());
  return runtime::InstructionSet::of(features);
}

DeviceLimits::DeviceLimits(const runtime::Executable &executable, int64_t threads)
    : instructions(getInstructionSet(executable.getRoot())), threads(threads) {
  const fb::Executable &root = executable.getRoot();
  if (executable.isForCpu())
    host.emplace(static_cast<unsigned>(threads), instructions);
  else if (auto machine = describeMachine(executable.metadata("target").value_or(""), /*cores=*/0))
    gpu = machine->rates; // by its data sheet
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

double DeviceLimits::measureLoads(std::span<const std::byte> memory) const {
  if (!host || memory.size() <= runtime::readCacheSizes().shared)
    return 0;
  // Several passes over gigabytes.
  constexpr runtime::RateTime time = {.seconds = 0.2, .patience = 0};
  return runtime::measureLoads(static_cast<unsigned>(threads), instructions, memory, time)
      .perSecond;
}

double DeviceLimits::getMfu(DType dtype, double flopsPerSecond) {
  bool narrow = dtype != DType::F32;
  if (host)
    return host->shareOf(narrow ? LimitKind::Bf16Products : LimitKind::F32Products, flopsPerSecond);
  double &limit = narrow ? gpu.narrowFlops : gpu.flops;
  limit = std::max(limit, flopsPerSecond);
  return limit > 0 ? flopsPerSecond / limit : 0;
}
