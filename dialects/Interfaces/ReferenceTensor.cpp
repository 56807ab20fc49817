#include "dialects/Interfaces/ReferenceTensor.h"
#include "llvm/ADT/APFloat.h"
#include <cassert>

using namespace mlir;
using namespace sinter;

ReferenceTensor::ReferenceTensor(RankedTensorType type)
    : type(type), values(type.getNumElements(), 0.0) {}

ReferenceTensor::ReferenceTensor(DenseElementsAttr attribute)
    : ReferenceTensor(cast<RankedTensorType>(attribute.getType())) {
  if (isa<FloatType>(type.getElementType())) {
    for (auto [i, value] : llvm::enumerate(attribute.getValues<APFloat>())) {
      bool lost;
      APFloat wide = value;
      wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
      values[i] = wide.convertToDouble();
    }
  } else {
    for (auto [i, value] : llvm::enumerate(attribute.getValues<APInt>()))
      values[i] = static_cast<double>(value.getSExtValue());
  }
}

ReferenceTensor ReferenceTensor::reshaped(RankedTensorType newType) const {
  assert(newType.getNumElements() == getNumElements());
  ReferenceTensor result = *this;
  result.type = newType;
  return result;
}

void ReferenceTensor::round() {
  auto element = dyn_cast<FloatType>(type.getElementType());
  if (!element || element.getWidth() > 16)
    return;
  for (double &value : values) {
    bool lost;
    APFloat narrow(value);
    narrow.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
    narrow.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
    value = narrow.convertToDouble();
  }
}

int64_t ReferenceTensor::linearize(ArrayRef<int64_t> index) const {
  assert(index.size() == getShape().size());
  int64_t offset = 0;
  for (auto [i, extent] : llvm::zip_equal(index, getShape())) {
    assert(i >= 0 && i < extent);
    offset = offset * extent + i;
  }
  return offset;
}
