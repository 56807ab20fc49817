// Any bytes: an error with a message, or tensors that can be decoded and a description and a
// tokenizer that are texts or errors of their own.

#include "frontends/Gguf/GgufConfig.h"
#include "frontends/Gguf/GgufTensors.h"
#include "frontends/Gguf/GgufTokenizer.h"
#include <cstdlib>

using namespace sinter;

/// Aborts where what failed does not say why.
template <typename T> static void check(const Expected<T> &result) {
  if (!result && result.error().message().empty())
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto file = GgufFile::read(std::as_bytes(std::span(data, size)), "model.gguf");
  check(file);
  if (!file)
    return 0;
  check(makeGgufConfig(*file, "model.gguf"));
  check(makeGgufTokenizer(*file, "model.gguf"));
  auto tensors = nameGgufTensors(*file, "model.gguf", 0);
  check(tensors);
  if (!tensors)
    return 0;
  for (const Tensor &tensor : *tensors) {
    if (tensor.offset + tensor.data.size() > size)
      std::abort();
    uint64_t elements = 1;
    for (int64_t extent : tensor.shape)
      elements *= static_cast<uint64_t>(extent);
    if (!tensor.decoder) {
      if (elements * sizeOf(*tensor.dtype) != tensor.data.size())
        std::abort();
      continue;
    }
    std::vector<std::byte> out(elements * sizeof(float));
    tensor.decoder.decode(0, tensor.decoder.items, out.data());
  }
  return 0;
}
