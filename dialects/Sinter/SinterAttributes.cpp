#include "dialects/Sinter/SinterDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sinter;

#include "dialects/Sinter/SinterEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Sinter/SinterAttributes.cpp.inc"

void SinterDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Sinter/SinterAttributes.cpp.inc"
      >();
}

static std::string checkRank(ArrayRef<int64_t> shape, size_t rank) {
  if (shape.size() == rank)
    return {};
  return "layout is for rank " + std::to_string(rank) + ", not " + std::to_string(shape.size());
}

//===----------------------------------------------------------------------===//
// Panels: [k, n] -> [n / width][k / interleave][width][interleave]; [g, k, n] one after another
//===----------------------------------------------------------------------===//

LogicalResult PanelsAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, int64_t,
                                 int64_t interleave, int64_t depth, DenseI8ArrayAttr values) {
  constexpr int64_t codes = 16, integersOfWord = 4, depthOfIntegers = 32;
  if (values && (values.size() != codes || interleave != integersOfWord ||
                 depth != depthOfIntegers)) // panels_c1
    return emitError() << "expected panels of 16 values, with interleave 4 and depth 32";
  return success();
}

std::string PanelsAttr::checkShape(ArrayRef<int64_t> shape) const {
  if (shape.size() == 3 && shape[2] % getWidth() == 0)
    return {};
  if (shape.size() == 3)
    return "several matrices are of whole panels of " + std::to_string(getWidth()) +
           " columns, not of " + std::to_string(shape[2]);
  return checkRank(shape, 2);
}

/// Elements of a panel, with the row of sums that panels of four bytes end with which bytes are
/// multiplied by: those are padded to whole words.
static int64_t getPanelElements(PanelsAttr panels, int64_t k) {
  bool endsWithSums = panels.getInterleave() == 4 && panels.getDepth() == 4;
  int64_t rows = llvm::alignTo(k, panels.getDepth()) + (endsWithSums ? 4 : 0);
  return rows * panels.getWidth();
}

int64_t PanelsAttr::getStorageElements(ArrayRef<int64_t> shape) const {
  int64_t k = shape[shape.size() - 2], n = shape.back();
  int64_t matrices = shape.size() == 3 ? shape[0] : 1;
  int64_t elements = matrices * getPanelElements(*this, k) * llvm::divideCeil(n, getWidth());
  return getValues() ? elements / 2 : elements;
}

AffineMap PanelsAttr::getOffsetMap(ArrayRef<int64_t> shape) const {
  unsigned rank = shape.size();
  int64_t elements = getPanelElements(*this, shape[rank - 2]);
  AffineExpr k = getAffineDimExpr(rank - 2, getContext()),
             n = getAffineDimExpr(rank - 1, getContext());
  AffineExpr offset = n.floorDiv(getWidth()) * elements +
                      k.floorDiv(getInterleave()) * (getWidth() * getInterleave()) +
                      (n % getWidth()) * getInterleave() + k % getInterleave();
  if (rank == 3)
    offset = offset + getAffineDimExpr(0, getContext()) * (shape[2] / getWidth() * elements);
  return AffineMap::get(rank, 0, offset);
}

//===----------------------------------------------------------------------===//
// KeyPanels: [b, c, h, d] -> [b][h][c / width][d / interleave][width][interleave]
//===----------------------------------------------------------------------===//

std::string KeyPanelsAttr::checkShape(ArrayRef<int64_t> shape) const { return checkRank(shape, 4); }

int64_t KeyPanelsAttr::getStorageElements(ArrayRef<int64_t> shape) const {
  return shape[0] * shape[2] * llvm::alignTo(shape[1], getWidth()) *
         llvm::alignTo(shape[3], getInterleave());
}

AffineMap KeyPanelsAttr::getOffsetMap(ArrayRef<int64_t> shape) const {
  MLIRContext *context = getContext();
  AffineExpr b = getAffineDimExpr(0, context), c = getAffineDimExpr(1, context),
             h = getAffineDimExpr(2, context), d = getAffineDimExpr(3, context);
  int64_t depth = llvm::alignTo(shape[3], getInterleave());
  int64_t head = llvm::alignTo(shape[1], getWidth()) * depth;
  AffineExpr offset = (b * shape[2] + h) * head + c.floorDiv(getWidth()) * (getWidth() * depth) +
                      d.floorDiv(getInterleave()) * (getWidth() * getInterleave()) +
                      (c % getWidth()) * getInterleave() + d % getInterleave();
  return AffineMap::get(4, 0, offset);
}

//===----------------------------------------------------------------------===//
// HeadMajor: [b, c, h, d] -> [b][h][c][d]
//===----------------------------------------------------------------------===//

std::string HeadMajorAttr::checkShape(ArrayRef<int64_t> shape) const { return checkRank(shape, 4); }

int64_t HeadMajorAttr::getStorageElements(ArrayRef<int64_t> shape) const {
  return shape[0] * shape[1] * shape[2] * shape[3];
}

AffineMap HeadMajorAttr::getOffsetMap(ArrayRef<int64_t> shape) const {
  MLIRContext *context = getContext();
  AffineExpr b = getAffineDimExpr(0, context), c = getAffineDimExpr(1, context),
             h = getAffineDimExpr(2, context), d = getAffineDimExpr(3, context);
  return AffineMap::get(4, 0, ((b * shape[2] + h) * shape[1] + c) * shape[3] + d);
}

//===----------------------------------------------------------------------===//
// Normal
//===----------------------------------------------------------------------===//

LogicalResult NormalAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                 llvm::APFloat mean, llvm::APFloat deviation) {
  if (!mean.isFinite() || !deviation.isFinite()) // normal_c1
    return emitError() << "expected a finite mean and a finite deviation";
  if (deviation.isNegative() && !deviation.isZero()) // normal_c2
    return emitError() << "expected a deviation that is not negative, got "
                       << deviation.convertToDouble();
  return success();
}

//===----------------------------------------------------------------------===//
// Target
//===----------------------------------------------------------------------===//

LogicalResult TargetAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, StringRef kind,
                                 StringRef cpu, StringRef features, int64_t vectorBits,
                                 int64_t registers, int64_t cores, int64_t gflopsF32,
                                 int64_t gflopsBf16, int64_t memoryGbs, int64_t launchNs,
                                 int64_t l1Bytes, int64_t l2Bytes, int64_t l3Bytes) {
  if (kind != "cpu" && kind != "cuda") // target_c1
    return emitError() << "expected a target of kind \"cpu\" or \"cuda\", got \"" << kind << "\"";
  auto positive = {vectorBits, registers, cores,   gflopsF32, gflopsBf16,
                   memoryGbs,  launchNs,  l1Bytes, l2Bytes,   l3Bytes + 1};
  if (llvm::any_of(positive, [](int64_t value) { return value <= 0; })) // target_c2
    return emitError() << "expected a target's numbers to be positive";
  if (vectorBits % 64 != 0) // target_c3
    return emitError() << "expected vector_bits to be a multiple of 64, got " << vectorBits;
  return success();
}

int64_t TargetAttr::getLanes(Type elementType) const {
  return getVectorBits() / elementType.getIntOrFloatBitWidth();
}

bool TargetAttr::hasFeature(StringRef feature) const {
  SmallVector<StringRef> parts;
  getFeatures().split(parts, ',');
  return llvm::any_of(parts,
                      [&](StringRef part) { return part.consume_front("+") && part == feature; });
}

TargetAttr TargetAttr::lookup(Operation *op) {
  for (; op; op = op->getParentOp())
    if (auto target = op->getAttrOfType<TargetAttr>(SinterDialect::kTarget))
      return target;
  return nullptr;
}
