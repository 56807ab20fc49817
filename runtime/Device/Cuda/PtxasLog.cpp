#include "runtime/Device/Cuda/Nvrtc.h"
#include <algorithm>
#include <charconv>

namespace sinter::runtime::cuda {
namespace {

// The number that ends just before `unit` in `line`; 0 where the unit is not there.
uint32_t numberBefore(std::string_view line, std::string_view unit) {
  size_t end = line.find(unit);
  if (end == std::string_view::npos)
    return 0;
  size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9')
    --begin;
  uint32_t number = 0;
  std::from_chars(line.data() + begin, line.data() + end, number);
  return number;
}

} // namespace

// ptxas writes, for every kernel,
//   ptxas info    : Compiling entry function 'k' for 'sm_90a'
//   ptxas info    : Function properties for k
//   ptxas         .     256 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//   ptxas info    : Used 37 registers, used 1 barriers, 1024 bytes smem
// and may write functions that are no kernels in between, with properties of their own.
std::vector<KernelResources> parseResources(std::string_view log) {
  constexpr std::string_view entry = "Compiling entry function '";
  constexpr std::string_view properties = "Function properties for ";
  std::vector<KernelResources> kernels;
  bool own = false;
  while (!log.empty()) {
    size_t end = std::min(log.find('\n'), log.size());
    std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    if (size_t at = line.find(entry); at != std::string_view::npos) {
      std::string_view name = line.substr(at + entry.size());
      kernels.emplace_back().name = name.substr(0, name.find('\''));
      continue;
    }
    if (kernels.empty())
      continue;
    KernelResources &kernel = kernels.back();
    if (size_t at = line.find(properties); at != std::string_view::npos)
      own = line.substr(at + properties.size()) == kernel.name;
    else if (own && line.find(" bytes stack frame") != std::string_view::npos) {
      kernel.stackBytes = numberBefore(line, " bytes stack frame");
      kernel.spillStoreBytes = numberBefore(line, " bytes spill stores");
      kernel.spillLoadBytes = numberBefore(line, " bytes spill loads");
    } else if (line.find(": Used ") != std::string_view::npos) {
      kernel.registers = numberBefore(line, " registers");
      kernel.sharedBytes = numberBefore(line, " bytes smem");
    }
  }
  return kernels;
}

const KernelResources *CompiledCuda::find(std::string_view kernel) const {
  auto found = std::find_if(kernels.begin(), kernels.end(),
                            [&](const KernelResources &each) { return each.name == kernel; });
  return found == kernels.end() ? nullptr : &*found;
}

} // namespace sinter::runtime::cuda
