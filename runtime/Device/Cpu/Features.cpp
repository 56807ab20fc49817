#include "runtime/Device/Cpu/Features.h"
#include <cstdint>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace sinter::runtime {
namespace {

// Register state that the operating system must save (bits of XCR0).
enum State : uint32_t { None = 0, Avx = 0x6, Avx512 = 0xe6, Amx = 0x60000 };
enum Register { Eax, Ebx, Ecx, Edx };

struct Feature {
  std::string_view name;
  uint32_t leaf, subleaf;
  Register reg;
  unsigned bit;
  State state;
};

constexpr Feature features[] = {
    {"cx8", 1, 0, Edx, 8, None},
    {"cmov", 1, 0, Edx, 15, None},
    {"mmx", 1, 0, Edx, 23, None},
    {"fxsr", 1, 0, Edx, 24, None},
    {"sse", 1, 0, Edx, 25, None},
    {"sse2", 1, 0, Edx, 26, None},
    {"sse3", 1, 0, Ecx, 0, None},
    {"pclmul", 1, 0, Ecx, 1, None},
    {"ssse3", 1, 0, Ecx, 9, None},
    {"fma", 1, 0, Ecx, 12, Avx},
    {"cx16", 1, 0, Ecx, 13, None},
    {"sse4.1", 1, 0, Ecx, 19, None},
    {"sse4.2", 1, 0, Ecx, 20, None},
    {"crc32", 1, 0, Ecx, 20, None},
    {"movbe", 1, 0, Ecx, 22, None},
    {"popcnt", 1, 0, Ecx, 23, None},
    {"aes", 1, 0, Ecx, 25, None},
    {"xsave", 1, 0, Ecx, 27, None},
    {"avx", 1, 0, Ecx, 28, Avx},
    {"f16c", 1, 0, Ecx, 29, Avx},
    {"rdrnd", 1, 0, Ecx, 30, None},
    {"fsgsbase", 7, 0, Ebx, 0, None},
    {"bmi", 7, 0, Ebx, 3, None},
    {"avx2", 7, 0, Ebx, 5, Avx},
    {"bmi2", 7, 0, Ebx, 8, None},
    {"avx512f", 7, 0, Ebx, 16, Avx512},
    {"avx512dq", 7, 0, Ebx, 17, Avx512},
    {"rdseed", 7, 0, Ebx, 18, None},
    {"adx", 7, 0, Ebx, 19, None},
    {"avx512ifma", 7, 0, Ebx, 21, Avx512},
    {"clflushopt", 7, 0, Ebx, 23, None},
    {"clwb", 7, 0, Ebx, 24, None},
    {"avx512cd", 7, 0, Ebx, 28, Avx512},
    {"sha", 7, 0, Ebx, 29, None},
    {"avx512bw", 7, 0, Ebx, 30, Avx512},
    {"avx512vl", 7, 0, Ebx, 31, Avx512},
    {"avx512vbmi", 7, 0, Ecx, 1, Avx512},
    {"avx512vbmi2", 7, 0, Ecx, 6, Avx512},
    {"gfni", 7, 0, Ecx, 8, None},
    {"vaes", 7, 0, Ecx, 9, Avx},
    {"vpclmulqdq", 7, 0, Ecx, 10, Avx},
    {"avx512vnni", 7, 0, Ecx, 11, Avx512},
    {"avx512bitalg", 7, 0, Ecx, 12, Avx512},
    {"avx512vpopcntdq", 7, 0, Ecx, 14, Avx512},
    {"avx512vp2intersect", 7, 0, Edx, 8, Avx512},
    {"amx-bf16", 7, 0, Edx, 22, Amx},
    {"avx512fp16", 7, 0, Edx, 23, Avx512},
    {"amx-tile", 7, 0, Edx, 24, Amx},
    {"amx-int8", 7, 0, Edx, 25, Amx},
    {"avxvnni", 7, 1, Eax, 4, Avx},
    {"avx512bf16", 7, 1, Eax, 5, Avx512},
    {"sahf", 0x80000001, 0, Ecx, 0, None},
    {"lzcnt", 0x80000001, 0, Ecx, 5, None},
    {"sse4a", 0x80000001, 0, Ecx, 6, None},
    {"prfchw", 0x80000001, 0, Ecx, 8, None},
    {"64bit", 0x80000001, 0, Edx, 29, None},
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

bool present(const Feature &feature) {
  unsigned registers[4];
  if (!__get_cpuid_count(feature.leaf, feature.subleaf, &registers[0], &registers[1], &registers[2],
                         &registers[3]))
    return false;
  static const uint64_t saved = savedState();
  return (registers[feature.reg] >> feature.bit & 1) && (saved & feature.state) == feature.state;
}
#else
bool present(const Feature &) { return false; }
#endif

} // namespace

bool hasCpuFeature(std::string_view name) {
  for (const Feature &feature : features)
    if (feature.name == name)
      return present(feature);
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
    if (present(feature))
      names.emplace_back(feature.name);
  return names;
}

} // namespace sinter::runtime
