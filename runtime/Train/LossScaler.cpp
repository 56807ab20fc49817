#include "runtime/Train/LossScaler.h"
#include <cmath>

namespace sinter::runtime {

void LossScaler::update(bool finite) {
  if (!finite) {
    current = {current.scale * options.backoff, 0};
    return;
  }
  if (++current.count < options.interval)
    return;
  float grown = current.scale * options.growth;
  current = {std::isfinite(grown) ? grown : current.scale, 0};
}

} // namespace sinter::runtime
