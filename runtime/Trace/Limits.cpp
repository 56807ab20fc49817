#include "runtime/Trace/Limits.h"
#include <algorithm>

namespace sinter::runtime {

Work workOf(const fb::Command &command) {
  Work work;
  work.narrowFlops = double(command.narrow_flops());
  work.byteFlops = double(command.byte_flops());
  work.nibbleFlops = double(command.nibble_flops());
  work.flops = double(command.flops()) - work.narrowFlops - work.byteFlops - work.nibbleFlops;
  work.sharedBytes = double(command.shared_bytes());
  work.privateBytes = double(command.private_bytes());
  work.memoryBytes = double(command.bytes()) - work.sharedBytes - work.privateBytes;
  return work;
}

double leastSeconds(const Work &work, const Limits &limits) {
  auto take = [](double amount, double rate) { return rate > 0 ? amount / rate : 0; };
  return std::max(
      take(work.flops, limits.flops) + take(work.narrowFlops, limits.narrowFlops) +
          take(work.byteFlops, limits.byteFlops) + take(work.nibbleFlops, limits.nibbleFlops),
      take(work.memoryBytes, limits.memoryBytes) + take(work.sharedBytes, limits.sharedBytes) +
          take(work.privateBytes, limits.privateBytes));
}

} // namespace sinter::runtime
