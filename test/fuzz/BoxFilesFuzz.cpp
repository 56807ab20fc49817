// Any bytes: the reader either names what is wrong with a file of boxes, or the tensor "w" of it,
// of at most a few thousand numbers, can be read whole.

#include "runtime/Checkpoint/BoxFiles.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace sinter;
  std::span bytes(reinterpret_cast<const std::byte *>(data), size);
  auto boxes = runtime::BoxFiles::parse(bytes, "file");
  if (!boxes) {
    if (boxes.error().message().empty())
      std::abort();
    return 0;
  }
  for (int64_t rows : {1, 4, 6}) {
    std::vector<std::byte> out(static_cast<size_t>(rows) * 4 * 4);
    runtime::TensorBox whole = runtime::makeWholeBox({rows, 4});
    if (auto read = boxes->read("w", DType::F32, whole.shape, whole, out);
        !read && read.error().message().empty())
      std::abort();
  }
  return 0;
}
