// Any config.json, and behind a zero byte any safetensors file: an error with a message, or tensors
// that can be decoded.

#include "frontends/Quantized/QuantizedTensors.h"
#include <algorithm>
#include <cstdlib>

using namespace sinter;

/// Aborts where what failed does not say why.
template <typename T> static bool check(const Expected<T> &result) {
  if (!result && result.error().message().empty())
    std::abort();
  return result.has_value();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::span all(data, size);
  auto end = std::ranges::find(all, 0);
  std::string_view text(reinterpret_cast<const char *>(data),
                        static_cast<size_t>(end - all.begin()));
  auto config = readQuantizationConfig(text, "config.json");
  if (!check(config) || !*config || end == all.end())
    return 0;
  auto bytes = std::as_bytes(all.subspan(text.size() + 1));
  auto stored = readSafetensors(bytes, "model.safetensors");
  if (!check(stored))
    return 0;
  auto tensors = joinQuantizedTensors(**config, std::move(*stored), "model");
  if (!check(tensors))
    return 0;
  for (const Tensor &tensor : *tensors)
    if (tensor.decoder) {
      std::vector<float> out(static_cast<size_t>(tensor.shape[0] * tensor.shape[1]));
      tensor.decoder.decode(0, tensor.decoder.items, reinterpret_cast<std::byte *>(out.data()));
    }
  return 0;
}
