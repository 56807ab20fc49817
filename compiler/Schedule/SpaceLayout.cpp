#include "compiler/Schedule/SpaceLayout.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace sinter;

FailureOr<int64_t> NamedSpace::place(StringRef name, Type type) {
  auto [entry, added] = entries.try_emplace(name, Entry{bytes, type});
  if (!added && entry->second.type != type)
    return failure();
  if (added)
    bytes += llvm::alignTo(getStorageBytes(type), kSliceAlignment);
  return entry->second.offset;
}

int64_t ConstantSpace::place(ElementsAttr value) {
  SmallVector<char> content = plan::getElementBytes(value);
  auto [entry, added] = offsets.try_emplace(StringRef(content.data(), content.size()), bytes);
  if (added) {
    values.push_back({bytes, value});
    bytes += llvm::alignTo(content.size(), kSliceAlignment);
  }
  return entry->second;
}

void ConstantSpace::materialize(OpBuilder &builder, Location location) {
  for (auto [offset, value] : values)
    plan::ConstantOp::create(builder, location, offset, value);
}
