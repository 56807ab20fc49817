// Any text: an error with a message, or a spec whose derived data can be made.

#include "frontends/Spec/ModelSpec.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  auto spec = sinter::parseModelSpec(text, "config.json");
  if (!spec) {
    if (spec.error().message().empty())
      std::abort();
    return 0;
  }
  if (spec->layers.size() > 64)
    return 0; // sound, but slow to enumerate
  if (spec->getParameterCount() <= 0)
    std::abort();
  for (const sinter::LayerSpec &layer : spec->layers) {
    if (spec->getHeadDim(layer) < 1 || spec->heads % spec->getKvHeads(layer) != 0)
      std::abort();
    if (layer.cacheOf &&
        (&spec->layers[*layer.cacheOf] >= &layer || spec->layers[*layer.cacheOf].cacheOf))
      std::abort();
    if (spec->positions == sinter::PositionKind::Rotary && layer.rotary &&
        *layer.rotary >= spec->rotaries.size())
      std::abort();
  }
  for (const sinter::RotarySpec &rotary : spec->rotaries)
    for (int64_t length : {int64_t(1), spec->maxPositions, 4 * spec->maxPositions})
      if (rotary.dim < 4096 &&
          static_cast<int64_t>(sinter::rotaryFrequencies(rotary, length).inverse.size()) !=
              rotary.getWidth() / 2)
        std::abort();
  if (spec->positions == sinter::PositionKind::Alibi && spec->heads < 4096 &&
      static_cast<int64_t>(sinter::getAlibiSlopes(spec->heads).size()) != spec->heads)
    std::abort();
  return 0;
}
