#include "runtime/Device/Cpu/HostLimits.h"
#include "runtime/Base/AtomicFile.h"
#include "runtime/Base/CacheFolder.h"
#include "runtime/Base/Json.h"
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace sinter::runtime {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// What is kept, by machine and kind. Empty where the file is absent or is not ours.
json readKept(const fs::path &file) {
  std::ifstream stream(file);
  json kept = parseJson(std::string(std::istreambuf_iterator<char>(stream), {}));
  return kept.is_object() ? kept : json::object();
}

/// The fastest that was seen of a machine, and how many processes have measured it.
struct Kept {
  double rate = 0;
  int measurements = 0;
};

/// What is kept of a machine; a rate of 0 where there is none that could be one.
Kept findKept(const json &kept, const std::string &machine, LimitKind kind) {
  constexpr double most = 1e18;
  try {
    const json &limit = kept.at(machine).at(nameOf(kind));
    Kept result = {limit.at("rate").get<double>(), limit.at("measurements").get<int>()};
    return result.rate > 0 && result.rate < most ? result : Kept{};
  } catch (const json::exception &) {
    return {};
  }
}

Rate measureHost(unsigned threads, const InstructionSet &set, LimitKind kind, RateTime time) {
  // Many times what Linux says of the third level: two processors of a virtual machine may each
  // have one of that size, and a cache that is not replaced in order keeps parts of what streams
  // by.
  constexpr uint64_t leastBytes = uint64_t(256) << 20, mostBytes = uint64_t(1) << 30;
  CacheSizes caches = readCacheSizes();
  switch (kind) {
  case LimitKind::F32Products:
    return measureMultiplyAdds(threads, set, DType::F32, time);
  case LimitKind::Bf16Products:
    return measureMultiplyAdds(threads, set, DType::BF16, time);
  case LimitKind::Int8Products:
    return measureMultiplyAdds(threads, set, DType::I8, time);
  case LimitKind::Int4Products:
    return measureMultiplyAdds(threads, set, DType::I4, time);
  case LimitKind::Memory:
    return measureLoads(threads, set, std::clamp(8 * caches.shared, leastBytes, mostBytes), time);
  case LimitKind::SharedCache:
    // Half of it: it holds other things, too. Without one there is only memory.
    return caches.shared == 0 ? measureHost(threads, set, LimitKind::Memory, time)
                              : measureLoads(threads, set, caches.shared / 2, time);
  case LimitKind::PrivateCaches:
    constexpr uint64_t usual = uint64_t(1) << 20;
    return measureLoads(threads, set, threads * (caches.ofCore ? caches.ofCore : usual) / 2, time);
  }
  return {};
}

} // namespace

const char *nameOf(LimitKind kind) {
  constexpr const char *names[HostLimits::kinds] = {
      "f32_flops_per_second",           "bf16_flops_per_second",
      "int8_flops_per_second",          "int4_flops_per_second",
      "memory_read_bytes_per_second",   "shared_cache_bytes_per_second",
      "private_caches_bytes_per_second"};
  return names[size_t(kind)];
}

HostLimits::HostLimits(unsigned threads, const InstructionSet &set)
    : HostLimits(processorName() + ", " + set.getName() + ", " + std::to_string(threads) +
                     " threads",
                 cacheFolder(), [threads, set](LimitKind kind, RateTime time) {
                   return measureHost(threads, set, kind, time);
                 }) {}

HostLimits::HostLimits(std::string machine, const fs::path &folder, Measure measure)
    : name(std::move(machine)), file(folder.empty() ? fs::path() : folder / "limits.json"),
      measure(std::move(measure)) {}

double HostLimits::get(LimitKind kind) {
  std::optional<double> &limit = limits[size_t(kind)];
  if (limit)
    return *limit;
  Kept kept = file.empty() ? Kept{} : findKept(readKept(file), name, kind);
  limit = kept.rate;
  if (kept.measurements >= enough)
    return *limit;
  RateTime time;
  if (kept.rate > 0)
    time.patience = 0;
  Rate measured = measure(kind, time);
  if (measured.together) {
    limit = std::max(kept.rate, measured.perSecond);
    keep(kind, /*measurements=*/1);
  } else if (kept.rate == 0) {
    limit = measured.perSecond; // an estimate: good for this process, not to be kept
  }
  return *limit;
}

double HostLimits::measureNow(LimitKind kind, double seconds) {
  double limit = get(kind);
  Rate rate = measure(kind, {.seconds = seconds, .patience = 2 * seconds});
  if (rate.together)
    raise(kind, rate.perSecond);
  return rate.together ? rate.perSecond : std::min(rate.perSecond, limit);
}

Limits HostLimits::all() {
  Limits result;
  result.flops = get(LimitKind::F32Products);
  result.narrowFlops = get(LimitKind::Bf16Products);
  result.byteFlops = get(LimitKind::Int8Products);
  result.nibbleFlops = get(LimitKind::Int4Products);
  // What is nearer is no slower, whatever a busy moment says.
  result.memoryBytes = get(LimitKind::Memory);
  result.sharedBytes = std::max(result.memoryBytes, get(LimitKind::SharedCache));
  result.privateBytes = std::max(result.sharedBytes, get(LimitKind::PrivateCaches));
  return result;
}

double HostLimits::shareOf(LimitKind kind, double perSecond) {
  if (perSecond > get(kind))
    raise(kind, perSecond);
  return perSecond > 0 ? perSecond / get(kind) : 0;
}

void HostLimits::raise(LimitKind kind, double perSecond) {
  double &limit = *limits[size_t(kind)];
  if (!(perSecond > limit))
    return;
  limit = perSecond;
  keep(kind, /*measurements=*/0);
}

void HostLimits::keep(LimitKind kind, int measurements) {
  if (file.empty())
    return;
  // Another process may have kept something meanwhile. One of two that write at the same time is
  // lost, and measured again.
  json all = readKept(file);
  Kept kept = findKept(all, name, kind);
  if (measurements == 0 && kept.rate >= *limits[size_t(kind)])
    return;
  if (!all[name].is_object())
    all[name] = json::object();
  all[name][nameOf(kind)] = {{"rate", std::max(kept.rate, *limits[size_t(kind)])},
                             {"measurements", kept.measurements + measurements}};
  std::error_code ignored;
  fs::create_directories(file.parent_path(), ignored);
  std::string text = writeJson(all, 1) + "\n";
  (void)writeFileAtomically(file.string(), std::as_bytes(std::span(text)));
}

} // namespace sinter::runtime
