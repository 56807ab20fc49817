//===- Limits.cpp - What this machine can do at most ------------------------===//
//
//   sinter-limits [THREADS [KIND=RATE]]
//
// Prints one JSON object: the limits of this machine (HostLimits.h) with all of its instructions,
// the fastest that was ever measured here ("limits"), and what they are at this moment ("now"): a
// shared machine drifts, and what was measured beside it drifts alike. bench.py divides Sinter's
// figures by these, in GFLOP/s and GB/s. With KIND=RATE nothing is measured anew: work was seen to
// do so much, and a limit that is lower is raised.
//
//===----------------------------------------------------------------------===//

#include "runtime/Base/CpuFeatures.h"
#include "runtime/Base/Json.h"
#include "runtime/Base/ThreadPool.h"
#include "runtime/Device/Cpu/HostLimits.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::runtime;

static constexpr std::pair<LimitKind, const char *> kinds[] = {
    {LimitKind::F32Products, "f32_gflops"},
    {LimitKind::Bf16Products, "bf16_gflops"},
    {LimitKind::Int8Products, "int8_gflops"},
    {LimitKind::Int4Products, "int4_gflops"},
    {LimitKind::Memory, "memory_gb_per_s"},
    {LimitKind::SharedCache, "shared_cache_gb_per_s"},
    {LimitKind::PrivateCaches, "private_caches_gb_per_s"}};

int main(int argc, char **argv) {
  unsigned threads = ThreadPool(argc > 1 ? unsigned(std::strtoul(argv[1], nullptr, 10)) : 0).size();
  HostLimits host(threads, InstructionSet::of(cpuFeatures()));
  std::string_view seen = argc > 2 ? argv[2] : "";
  nlohmann::json now, limits;
  for (auto [kind, name] : kinds) {
    if (seen.starts_with(std::string(name) + "="))
      host.shareOf(kind, 1e9 * std::strtod(seen.data() + std::strlen(name) + 1, nullptr));
    if (seen.empty())
      now[name] = host.measureNow(kind, 0.3) * 1e-9;
    limits[name] = host.get(kind) * 1e-9;
  }
  nlohmann::json result = {
      {"machine", host.getMachine()}, {"threads", threads}, {"limits", limits}, {"now", now}};
  std::printf("%s\n", writeJson(result).c_str());
  return 0;
}
