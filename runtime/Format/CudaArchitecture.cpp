#include "runtime/Format/CudaArchitecture.h"
#include <charconv>

namespace sinter::runtime::cuda {

Expected<std::string> architectureFor(Capability capability) {
  if (capability.major == 8)
    return std::string("sm_80");
  if (capability == Capability{9, 0})
    return std::string("sm_90a"); // runs nowhere else
  if (capability.major == 10)
    return std::string("sm_100");
  if (capability.major == 12)
    return std::string("sm_120");
  return fail("a GPU of compute capability " + capability.toString(), "is not supported",
              "use one of capability 8.x, 9.0, 10.x or 12.x, or `target` cpu");
}

Expected<std::string> targetFor(Capability capability) {
  SINTER_TRY(std::string architecture, architectureFor(capability));
  if (architecture.ends_with('a'))
    architecture.pop_back();
  return "cuda:" + architecture;
}

Expected<Capability> capabilityOf(std::string_view device, const std::string &source) {
  constexpr std::string_view prefix = "cuda:sm_";
  auto bad = [&] {
    return fail(source, "is for the device '" + std::string(device.substr(0, 80)) + "'",
                "compile the model for cpu, or for cuda:sm_80, sm_90, sm_100 or sm_120");
  };
  if (!device.starts_with(prefix))
    return bad();
  std::string_view digits = device.substr(prefix.size());
  int number = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number < 0)
    return bad();
  Capability capability{number / 10, number % 10};
  if (!architectureFor(capability))
    return bad();
  return capability;
}

} // namespace sinter::runtime::cuda
