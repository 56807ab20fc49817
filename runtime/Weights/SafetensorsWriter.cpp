#include "runtime/Base/AtomicFile.h"
#include "runtime/Base/Json.h"
#include "runtime/Weights/SafetensorsLayout.h"
#include <algorithm>
#include <cassert>
#include <nlohmann/json.hpp>

namespace sinter {

uint64_t byteSizeOf(const TensorToWrite &tensor) {
  uint64_t bytes = sizeOf(tensor.dtype);
  for (int64_t size : tensor.shape)
    bytes *= static_cast<uint64_t>(size);
  return bytes;
}

Expected<SafetensorsLayout> layOutSafetensors(std::span<const TensorToWrite> tensors,
                                              const std::map<std::string, std::string> &metadata,
                                              const std::string &what) {
  SafetensorsLayout layout;
  for (const TensorToWrite &tensor : tensors)
    layout.order.push_back(&tensor);
  std::sort(layout.order.begin(), layout.order.end(),
            [](const TensorToWrite *a, const TensorToWrite *b) {
              return sizeOf(a->dtype) != sizeOf(b->dtype) ? sizeOf(a->dtype) > sizeOf(b->dtype)
                                                          : a->name < b->name;
            });
  nlohmann::json header = nlohmann::json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const TensorToWrite *tensor : layout.order) {
    if (header.contains(tensor->name))
      return fail(what, "two tensors are named '" + tensor->name + "'", "rename one");
    uint64_t end = offset + byteSizeOf(*tensor);
    header[tensor->name] = {
        {"dtype", tensor->dtypeName.empty() ? nameOf(tensor->dtype) : tensor->dtypeName},
        {"shape", tensor->shape},
        {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = writeJson(header);
  text.append((64 - (text.size() + 8) % 64) % 64, ' ');
  for (int i = 0; i < 8; ++i)
    layout.head += static_cast<char>(uint64_t(text.size()) >> (8 * i));
  layout.head += text;
  layout.bytes = layout.head.size() + offset;
  return layout;
}

Expected<void> writeSafetensors(const std::filesystem::path &path,
                                std::span<const TensorToWrite> tensors,
                                const std::map<std::string, std::string> &metadata) {
  SINTER_TRY(SafetensorsLayout layout, layOutSafetensors(tensors, metadata, path.string()));
  std::vector<std::span<const std::byte>> parts = {std::as_bytes(std::span(layout.head))};
  for (const TensorToWrite *tensor : layout.order) {
    assert(tensor->data.size() == byteSizeOf(*tensor) && "shape and data of a tensor disagree");
    parts.push_back(tensor->data);
  }
  return writeFileAtomically(path.string(), parts);
}

} // namespace sinter
