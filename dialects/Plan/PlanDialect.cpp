#include "dialects/Plan/PlanDialect.h"
#include "dialects/Sinter/Stage.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sinter::plan;

#include "dialects/Plan/PlanDialect.cpp.inc"
#include "dialects/Plan/PlanEnums.cpp.inc"
#include "dialects/Plan/PlanInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Plan/PlanAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Plan/PlanTypes.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Plan/PlanOps.cpp.inc"

void PlanDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Plan/PlanAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Plan/PlanTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Plan/PlanOps.cpp.inc"
      >();
}

SmallVector<char> sinter::plan::getElementBytes(ElementsAttr elements) {
  SmallVector<char> bytes;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(elements)) {
    ArrayRef<char> data = resource.getRawHandle().getBlob()->getData();
    bytes.append(data.begin(), data.end());
    return bytes;
  }
  auto dense = cast<DenseElementsAttr>(elements);
  ArrayRef<char> data = dense.getRawData();
  for (int64_t i = 0, copies = dense.isSplat() ? dense.getNumElements() : 1; i < copies; ++i)
    bytes.append(data.begin(), data.end());
  return bytes;
}

LogicalResult ConstantOp::verify() {
  if (static_cast<int64_t>(getOffset()) < 0 || getOffset() % 64 != 0) // constant_c1
    return emitOpError("expected an offset that is a multiple of 64");
  return success();
}

LogicalResult SliceOp::verify() {
  if (static_cast<int64_t>(getOffset()) < 0 || static_cast<int64_t>(getBytes()) < 0) // slice_c1
    return emitOpError("expected offset and bytes not to be negative");
  if (getSpace() == Space::Checkpoint && !getName()) // slice_c2
    return emitOpError("expected the name of a checkpoint tensor");
  return success();
}

SmallVector<Value> LaunchOp::getReads() { return llvm::to_vector(ValueRange(getInputs())); }
SmallVector<Value> LaunchOp::getWrites() { return llvm::to_vector(ValueRange(getOutputs())); }

LogicalResult LaunchOp::verify() {
  int64_t inputs = getInputs().size();
  bool known = llvm::all_of(getReusable(), [&](int64_t i) { return i >= 0 && i < inputs; });
  if (!known) // launch_c1
    return emitOpError("expected reusable to list inputs");
  if (!getOutputTypes().empty() && getOutputTypes().size() != getOutputs().size()) // launch_c2
    return emitOpError("expected one type for each of ")
           << getOutputs().size() << " outputs, got " << getOutputTypes().size();
  return success();
}

SmallVector<Value> GemmOp::getReads() {
  SmallVector<Value> reads{getLhs(), getRhs()};
  llvm::append_range(reads, getExtras());
  return reads;
}

SmallVector<Value> GemmOp::getWrites() {
  SmallVector<Value> writes{getOut()};
  if (Value workspace = getWorkspace())
    writes.push_back(workspace);
  return writes;
}

LogicalResult GemmOp::verify() {
  auto reading = llvm::count_if(getPostOps().getAsRange<PostOpAttr>(),
                                [](PostOpAttr postOp) { return postOp.hasOperand(); });
  if (reading != static_cast<int64_t>(getExtras().size())) // gemm_c1
    return emitOpError("expected ")
           << reading << " extra slices for its post-ops, got " << getExtras().size();
  if ((getRhsForm() == RhsForm::Panels) != (getRhsStride() == 0)) // gemm_c2
    return emitOpError("expected a stride of rhs exactly where it is not in panels");
  return success();
}

SmallVector<Value> PackOp::getReads() { return llvm::to_vector(ValueRange(getSources())); }
SmallVector<Value> PackOp::getWrites() { return {getOut()}; }

LogicalResult PackOp::verify() {
  int64_t columns = 0;
  for (auto layout : getSourceLayouts().getAsRange<PackSourceAttr>())
    columns += layout.getN();
  if (getSourceLayouts().size() != getSources().size() ||
      columns != static_cast<int64_t>(getN())) // pack_c1
    return emitOpError("expected one layout a source, with n adding up to ") << getN();
  return success();
}

SmallVector<Value> CopyOp::getReads() { return {getSource()}; }
SmallVector<Value> CopyOp::getWrites() { return {getOut()}; }

SmallVector<Value> FillOp::getReads() { return {}; }
SmallVector<Value> FillOp::getWrites() { return {getOut()}; }
