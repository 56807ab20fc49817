// Any bytes: the reader either names what is wrong or gives tensors whose data can all be read.

#include "frontends/Weights/WeightFiles.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto bytes = std::as_bytes(std::span(data, size));
  auto weights = sinter::WeightFiles::fromBytes(bytes);
  if (!weights) {
    if (weights.error().message().empty())
      std::abort();
    return 0;
  }
  unsigned sum = 0;
  for (const sinter::Tensor &tensor : weights->getTensors()) {
    for (std::byte byte : tensor.data)
      sum += std::to_integer<unsigned>(byte);
    if (!weights->find(tensor.name) || tensor.offset + tensor.data.size() > size)
      std::abort();
  }
  volatile unsigned keep = sum; // or the reads would be optimized away
  (void)keep;
  return 0;
}
