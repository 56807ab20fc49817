#include "runtime/Base/Processor.h"
#include "runtime/Base/CpuFeatures.h"
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <set>
#include <thread>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace sinter::runtime {

/// Where Linux describes a cache of a processor.
static std::filesystem::path describeCache(unsigned processor, unsigned index) {
  return "/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/cache/index" +
         std::to_string(index);
}

std::vector<int> usableProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> found;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set))
        found.push_back(cpu);
  return found.empty() ? std::vector<int>{0} : found;
}

InstructionSet InstructionSet::of(std::span<const std::string> features) {
  auto has = [&](const char *name) {
    return std::ranges::find(features, name) != features.end() && hasCpuFeature(name);
  };
  InstructionSet set;
  bool wide = has("avx512f") && has("avx512vl");
  set.vectorBytes = wide ? 64 : has("avx2") && has("fma") ? 32 : 16;
  set.pairDot = wide && has("avx512bf16");
  set.byteDot = has(wide ? "avx512vnni" : "avxvnni");
  set.tileDot = set.pairDot && has("amx-bf16") && has("amx-int8");
  return set;
}

std::string InstructionSet::getName() const {
  std::string name = vectorBytes == 64 ? "avx512" : vectorBytes == 32 ? "avx2" : "sse2";
  return name + (pairDot ? "+bf16" : "") + (byteDot ? "+vnni" : "") + (tileDot ? "+amx" : "");
}

uint64_t readCacheBytes(unsigned processor, unsigned index) {
  std::ifstream file(describeCache(processor, index) / "size");
  uint64_t count = 0;
  std::string unit;
  file >> count >> unit;
  return unit == "K" ? count << 10 : unit == "M" ? count << 20 : count;
}

CacheSizes readCacheSizes() {
  CacheSizes sizes;
  std::set<std::string> seen;
  for (unsigned processor = 0; processor < std::thread::hardware_concurrency(); ++processor) {
    std::string sharing;
    std::ifstream file(describeCache(processor, 3) / "shared_cpu_list");
    if (std::getline(file, sharing) && seen.insert(sharing).second)
      sizes.shared += readCacheBytes(processor, 3);
  }
  sizes.ofCore = readCacheBytes(0, 2);
  return sizes;
}

std::string processorName() {
#if defined(__x86_64__)
  unsigned registers[12] = {}, a = 0, b, c, d;
  std::string name = "x86-64";
  if (__get_cpuid(0x80000004, &registers[8], &registers[9], &registers[10], &registers[11])) {
    for (unsigned i = 0; i < 2; ++i)
      __get_cpuid(0x80000002 + i, &registers[4 * i], &registers[4 * i + 1], &registers[4 * i + 2],
                  &registers[4 * i + 3]);
    char text[sizeof registers + 1] = {};
    std::memcpy(text, registers, sizeof registers);
    name = text;
    name.erase(0, name.find_first_not_of(' '));
    name.erase(name.find_last_not_of(' ') + 1);
  }
  __get_cpuid(1, &a, &b, &c, &d);
  unsigned family = a >> 8 & 15, model = a >> 4 & 15, stepping = a & 15;
  if (family == 6 || family == 15)
    model |= (a >> 16 & 15) << 4;
  if (family == 15)
    family += a >> 20 & 255;
  return name + ", family " + std::to_string(family) + ", model " + std::to_string(model) +
         ", stepping " + std::to_string(stepping);
#else
  return "unknown";
#endif
}

} // namespace sinter::runtime
