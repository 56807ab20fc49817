#include "runtime/Base/CpuFeatures.h"
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace sinter::runtime {
namespace {

// Register state that the operating system must save (bits of XCR0).
enum State : uint32_t { None = 0, Avx = 0x6, Avx512 = 0xe6, Amx = 0x60000, Apx = 0x80000 };
enum Register { Eax, Ebx, Ecx, Edx };
// The first of assumedCpu's processors that has a feature, or none of them.
enum Level { V3, V4, CooperLake, Other };
constexpr std::string_view levels[] = {"x86-64-v3", "x86-64-v4", "cooperlake"};

struct Feature {
  std::string_view name;
  uint32_t leaf, subleaf;
  Register reg;
  unsigned bit;
  State state;
  Level level;
};

constexpr Feature features[] = {
    {"cx8", 1, 0, Edx, 8, None, V3},
    {"cmov", 1, 0, Edx, 15, None, V3},
    {"mmx", 1, 0, Edx, 23, None, V3},
    {"fxsr", 1, 0, Edx, 24, None, V3},
    {"sse", 1, 0, Edx, 25, None, V3},
    {"sse2", 1, 0, Edx, 26, None, V3},
    {"sse3", 1, 0, Ecx, 0, None, V3},
    {"pclmul", 1, 0, Ecx, 1, None, CooperLake},
    {"ssse3", 1, 0, Ecx, 9, None, V3},
    {"fma", 1, 0, Ecx, 12, Avx, V3},
    {"cx16", 1, 0, Ecx, 13, None, V3},
    {"sse4.1", 1, 0, Ecx, 19, None, V3},
    {"sse4.2", 1, 0, Ecx, 20, None, V3},
    {"crc32", 1, 0, Ecx, 20, None, V3},
    {"movbe", 1, 0, Ecx, 22, None, V3},
    {"popcnt", 1, 0, Ecx, 23, None, V3},
    {"aes", 1, 0, Ecx, 25, None, CooperLake},
    {"xsave", 1, 0, Ecx, 27, None, V3},
    {"avx", 1, 0, Ecx, 28, Avx, V3},
    {"f16c", 1, 0, Ecx, 29, Avx, V3},
    {"rdrnd", 1, 0, Ecx, 30, None, CooperLake},
    {"fsgsbase", 7, 0, Ebx, 0, None, CooperLake},
    {"bmi", 7, 0, Ebx, 3, None, V3},
    {"avx2", 7, 0, Ebx, 5, Avx, V3},
    {"bmi2", 7, 0, Ebx, 8, None, V3},
    {"avx512f", 7, 0, Ebx, 16, Avx512, V4},
    {"avx512dq", 7, 0, Ebx, 17, Avx512, V4},
    {"rdseed", 7, 0, Ebx, 18, None, CooperLake},
    {"adx", 7, 0, Ebx, 19, None, CooperLake},
    {"avx512ifma", 7, 0, Ebx, 21, Avx512, Other},
    {"clflushopt", 7, 0, Ebx, 23, None, CooperLake},
    {"clwb", 7, 0, Ebx, 24, None, CooperLake},
    {"avx512cd", 7, 0, Ebx, 28, Avx512, V4},
    {"sha", 7, 0, Ebx, 29, None, Other},
    {"avx512bw", 7, 0, Ebx, 30, Avx512, V4},
    {"avx512vl", 7, 0, Ebx, 31, Avx512, V4},
    {"avx512vbmi", 7, 0, Ecx, 1, Avx512, Other},
    {"avx512vbmi2", 7, 0, Ecx, 6, Avx512, Other},
    {"gfni", 7, 0, Ecx, 8, None, Other},
    {"vaes", 7, 0, Ecx, 9, Avx, Other},
    {"vpclmulqdq", 7, 0, Ecx, 10, Avx, Other},
    {"avx512vnni", 7, 0, Ecx, 11, Avx512, CooperLake},
    {"avx512bitalg", 7, 0, Ecx, 12, Avx512, Other},
    {"avx512vpopcntdq", 7, 0, Ecx, 14, Avx512, Other},
    {"avx512vp2intersect", 7, 0, Edx, 8, Avx512, Other},
    {"amx-bf16", 7, 0, Edx, 22, Amx, Other},
    {"avx512fp16", 7, 0, Edx, 23, Avx512, Other},
    {"amx-tile", 7, 0, Edx, 24, Amx, Other},
    {"amx-int8", 7, 0, Edx, 25, Amx, Other},
    {"avxvnni", 7, 1, Eax, 4, Avx, Other},
    {"avx512bf16", 7, 1, Eax, 5, Avx512, CooperLake},
    {"cmpccxadd", 7, 1, Eax, 7, None, Other},
    {"avxifma", 7, 1, Eax, 23, Avx, Other},
    {"avxvnniint8", 7, 1, Edx, 4, Avx, Other},
    {"avxneconvert", 7, 1, Edx, 5, Avx, Other},
    {"avxvnniint16", 7, 1, Edx, 10, Avx, Other},
    {"avx10.1", 7, 1, Edx, 19, Avx512, Other},
    // Advanced performance extensions: one bit for all that LLVM tells apart.
    {"ccmp", 7, 1, Edx, 21, Apx, Other},
    {"cf", 7, 1, Edx, 21, Apx, Other},
    {"egpr", 7, 1, Edx, 21, Apx, Other},
    {"ndd", 7, 1, Edx, 21, Apx, Other},
    {"nf", 7, 1, Edx, 21, Apx, Other},
    {"ppx", 7, 1, Edx, 21, Apx, Other},
    {"push2pop2", 7, 1, Edx, 21, Apx, Other},
    {"zu", 7, 1, Edx, 21, Apx, Other},
    // A version, of which 2 and 3 have this bit.
    {"avx10.2", 0x24, 0, Ebx, 1, Avx512, Other},
    {"sahf", 0x80000001, 0, Ecx, 0, None, V3},
    {"lzcnt", 0x80000001, 0, Ecx, 5, None, V3},
    {"sse4a", 0x80000001, 0, Ecx, 6, None, Other},
    {"prfchw", 0x80000001, 0, Ecx, 8, None, CooperLake},
    {"xop", 0x80000001, 0, Ecx, 11, Avx, Other},
    {"fma4", 0x80000001, 0, Ecx, 16, Avx, Other},
    {"tbm", 0x80000001, 0, Ecx, 21, None, Other},
    {"64bit", 0x80000001, 0, Edx, 29, None, V3},
};

#if defined(__x86_64__)
uint64_t savedState() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1))
    return 0;
  uint32_t low, high;
  asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

/// Linux gives a process the registers of a matrix unit when it asks for them.
bool mayUseTiles() {
#if defined(__linux__)
  constexpr long requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
#else
  return false;
#endif
}

bool present(const Feature &feature) {
  unsigned registers[4];
  if (!__get_cpuid_count(feature.leaf, feature.subleaf, &registers[0], &registers[1], &registers[2],
                         &registers[3]))
    return false;
  static const uint64_t saved = savedState();
  if (feature.state == Amx) {
    static const bool allowed = mayUseTiles();
    if (!allowed)
      return false;
  }
  return (registers[feature.reg] >> feature.bit & 1) && (saved & feature.state) == feature.state;
}
#else
bool present(const Feature &) { return false; }
#endif

/// The level that SINTER_CPU names; Other where it names none.
Level assumedLevel() {
  const char *name = std::getenv("SINTER_CPU");
  return Level(std::find(std::begin(levels), std::end(levels), name ? name : "") - levels);
}

bool usable(const Feature &feature) { return feature.level <= assumedLevel() && present(feature); }

} // namespace

Expected<std::string> assumedCpu() {
  const char *name = std::getenv("SINTER_CPU");
  if (!name || !*name)
    return std::string();
  Level level = assumedLevel();
  if (level == Other)
    return fail("SINTER_CPU=" + std::string(name), "is no processor that tests know",
                "give x86-64-v3, x86-64-v4 or cooperlake, or leave it out");
  for (const Feature &feature : features)
    if (feature.level <= level && !present(feature))
      return fail("SINTER_CPU=" + std::string(name),
                  "this processor lacks " + std::string(feature.name), "leave it out");
  return std::string(name);
}

bool hasCpuFeature(std::string_view name) {
  for (const Feature &feature : features)
    if (feature.name == name)
      return usable(feature);
  return false;
}

bool isKnownCpuFeature(std::string_view name) {
  for (const Feature &feature : features)
    if (feature.name == name)
      return true;
  return false;
}

std::vector<std::string> missingCpuFeatures(const std::vector<std::string> &names) {
  std::vector<std::string> missing;
  for (const std::string &name : names)
    if (!hasCpuFeature(name))
      missing.push_back(name);
  return missing;
}

std::vector<std::string> cpuFeatures() {
  std::vector<std::string> names;
  for (const Feature &feature : features)
    if (usable(feature))
      names.emplace_back(feature.name);
  return names;
}

} // namespace sinter::runtime
