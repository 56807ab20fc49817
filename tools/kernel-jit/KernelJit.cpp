#include "tools/kernel-jit/KernelJit.h"
#include "compiler/Analysis/Target.h"
#include "compiler/Codegen/Cpu/MachineCode.h"
#include "compiler/Codegen/Cpu/Passes.h"
#include "compiler/Codegen/Loops/Kernels.h"
#include "compiler/Pipelines/Registration.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/Base/Float8.h"
#include <cstring>
#include <sys/mman.h>

using namespace mlir;
using namespace sinter;
using namespace sinter::jit;

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

GuardedStorage::GuardedStorage(RankedTensorType type) : type(type), bytes(getStorageBytes(type)) {
  constexpr size_t page = 4096;
  size_t payload = llvm::alignTo(bytes, page);
  mapped = payload + page;
  void *memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert(memory != MAP_FAILED);
  mapping = static_cast<char *>(memory);
  mprotect(mapping + payload, page, PROT_NONE);
  start = mapping + payload - bytes;
  memset(mapping, 0xff, payload);
}

GuardedStorage::GuardedStorage(GuardedStorage &&other) noexcept
    : type(other.type), bytes(other.bytes), mapped(other.mapped), mapping(other.mapping),
      start(other.start) {
  other.mapping = nullptr;
}

GuardedStorage::~GuardedStorage() {
  if (mapping)
    munmap(mapping, mapped);
}

/// What an expression of a layout is at an index. (AffineMap::compose makes new expressions, which
/// took a tenth of the time of the tests of products.)
static int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> index) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return index[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t lhs = evaluate(binary.getLHS(), index), rhs = evaluate(binary.getRHS(), index);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return lhs + rhs;
  case AffineExprKind::Mul:
    return lhs * rhs;
  case AffineExprKind::FloorDiv:
    return lhs / rhs; // nothing is negative
  case AffineExprKind::Mod:
    return lhs % rhs;
  default:
    llvm_unreachable("layouts divide downwards");
  }
}

/// Calls `visit(linear index, offset in storage)` for every element.
static void forElements(RankedTensorType type, llvm::function_ref<void(int64_t, int64_t)> visit) {
  if (!type.getEncoding()) {
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      visit(i, i);
    return;
  }
  AffineExpr offset = getOffsetMap(type).getResult(0);
  SmallVector<int64_t> index(type.getRank(), 0);
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    int64_t rest = i;
    for (int64_t d = type.getRank() - 1; d >= 0; --d) {
      index[d] = rest % type.getDimSize(d);
      rest /= type.getDimSize(d);
    }
    visit(i, evaluate(offset, index));
  }
}

/// Integers of four bits in panels: a row of words has columns j in the lower halves of its bytes
/// and columns j + width / 2 in the upper ones.
static void writeHalf(char *start, RankedTensorType type, int64_t offset, int8_t value) {
  auto panels = cast<PanelsAttr>(type.getEncoding());
  int64_t row = panels.getWidth() * panels.getInterleave(), place = offset % row;
  char &byte = start[offset / row * (row / 2) + place % (row / 2)];
  byte =
      static_cast<char>(place < row / 2 ? (byte & 0xf0) | (value & 15) : (byte & 15) | value << 4);
}

/// The number of a value among those that panels have codes of.
static int8_t findCode(PanelsAttr panels, int8_t value) {
  ArrayRef<int8_t> values = panels.getValues().asArrayRef();
  return static_cast<int8_t>(llvm::find(values, value) - values.begin());
}

/// Panels of four bytes end with -128 times the sums of columns.
static void addToSum(char *start, RankedTensorType type, int64_t column, int8_t value) {
  auto panels = cast<PanelsAttr>(type.getEncoding());
  int64_t width = panels.getWidth(), rows = llvm::alignTo(type.getDimSize(0), panels.getDepth());
  char *sums = start + column / width * (rows + 4) * width + rows * width;
  int32_t sum;
  memcpy(&sum, sums + 4 * (column % width), 4);
  sum -= 128 * value;
  memcpy(sums + 4 * (column % width), &sum, 4);
}

void GuardedStorage::write(const ReferenceTensor &tensor) {
  memset(start, 0, bytes);
  auto panels = dyn_cast_or_null<PanelsAttr>(type.getEncoding());
  if (panels && panels.getInterleave() == 4 && panels.getDepth() == 4)
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      addToSum(start, type, i % type.getDimSize(1), static_cast<int8_t>(tensor[i]));
  forElements(type, [&](int64_t i, int64_t offset) {
    if (panels && panels.getValues())
      writeHalf(start, type, offset, findCode(panels, static_cast<int8_t>(tensor[i])));
    else if (panels && type.getElementType().isInteger(4))
      writeHalf(start, type, offset, static_cast<int8_t>(tensor[i]));
    else if (type.getElementType().isInteger(8) || type.getElementType().isInteger(4))
      start[offset] = static_cast<char>(tensor[i]);
    else if (isa<Float8E4M3FNType>(type.getElementType()))
      start[offset] = static_cast<char>(floatToE4M3(static_cast<float>(tensor[i])));
    else if (isa<Float8E5M2Type>(type.getElementType()))
      start[offset] = static_cast<char>(floatToE5M2(static_cast<float>(tensor[i])));
    else if (type.getElementType().isF32())
      reinterpret_cast<float *>(start)[offset] = static_cast<float>(tensor[i]);
    else if (type.getElementType().isF16())
      reinterpret_cast<_Float16 *>(start)[offset] = static_cast<_Float16>(tensor[i]);
    else if (type.getElementType().isInteger(32))
      reinterpret_cast<int32_t *>(start)[offset] = static_cast<int32_t>(tensor[i]);
    else {
      float value = static_cast<float>(tensor[i]);
      uint32_t bits;
      memcpy(&bits, &value, 4);
      reinterpret_cast<uint16_t *>(start)[offset] = static_cast<uint16_t>(bits >> 16);
    }
  });
}

ReferenceTensor GuardedStorage::read() const {
  ReferenceTensor tensor(type);
  forElements(type, [&](int64_t i, int64_t offset) {
    if (type.getElementType().isF32()) {
      float value;
      memcpy(&value, start + 4 * offset, 4);
      tensor[i] = value;
    } else if (type.getElementType().isF16()) {
      tensor[i] = reinterpret_cast<const _Float16 *>(start)[offset];
    } else if (type.getElementType().isInteger(32)) {
      tensor[i] = reinterpret_cast<const int32_t *>(start)[offset];
    } else if (type.getElementType().isInteger(8)) {
      tensor[i] = static_cast<int8_t>(start[offset]);
    } else if (isa<Float8E4M3FNType>(type.getElementType())) {
      tensor[i] = e4m3ToFloat(static_cast<uint8_t>(start[offset]));
    } else if (isa<Float8E5M2Type>(type.getElementType())) {
      tensor[i] = e5m2ToFloat(static_cast<uint8_t>(start[offset]));
    } else {
      uint16_t half;
      memcpy(&half, start + 2 * offset, 2);
      uint32_t bits = static_cast<uint32_t>(half) << 16;
      float value;
      memcpy(&value, &bits, 4);
      tensor[i] = value;
    }
  });
  return tensor;
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

MLIRContext &sinter::jit::getContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registerDialects(registry);
    auto *result = new MLIRContext(registry, MLIRContext::Threading::DISABLED);
    result->loadAllAvailableDialects();
    return result;
  }();
  return *context;
}

TargetAttr sinter::jit::getHostTarget(int64_t vectorBits) {
  Expected<TargetAttr> found = parseTarget(&getContext(), "cpu", 0);
  if (!found)
    llvm::report_fatal_error(StringRef(found.error().message()));
  TargetAttr host = *found;
  if (vectorBits == 0 || vectorBits == host.getVectorBits())
    return host;
  return TargetAttr::get(&getContext(), host.getKind(), host.getChip(),
                         host.getFeatures().str() + ",-avx512f", vectorBits, 16, host.getCores(),
                         host.getGflopsF32(), host.getGflopsBf16(), host.getMemoryGbs(),
                         host.getLaunchNs(), host.getL1Bytes(), host.getL2Bytes(),
                         host.getL3Bytes());
}

SmallVector<TargetAttr> sinter::jit::getHostTargets() {
  SmallVector<TargetAttr> targets = {getHostTarget()};
  if (targets.front().getVectorBits() > 256)
    targets.push_back(getHostTarget(256));
  return targets;
}

KernelJit::KernelJit(MLIRContext &context, StringRef text, TargetAttr target, bool speedPasses) {
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (error.empty())
      error = diagnostic.str();
    return success();
  });
  module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  if (!module)
    return;
  (*module)->setAttr(SinterDialect::kTarget, target);
  kernel = module->lookupSymbol<func::FuncOp>("kernel");
  PassManager passes(&context);
  if (speedPasses) {
    buildCodegenPipeline(passes);
  } else {
    passes.addPass(createLowerKernelsPass());
    passes.addPass(createExpandMathPass());
    passes.addPass(createLowerKernelsToLLVMPass());
  }
  // As in compilations; what is left must be valid all the same.
  passes.enableVerifier(false);
  if (failed(passes.run(*module)) || failed(verify(*module)))
    return;
  grid = kernel->getAttrOfType<IntegerAttr>(kGridAttribute).getInt();
  auto code = emitMachineCode(lookupKernels(*module), target);
  if (!code) {
    error = code.error().message();
    return;
  }
  imageBytes = code->image.size();
  image = mmap(nullptr, imageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert(image != MAP_FAILED);
  memcpy(image, code->image.data(), imageBytes);
  mprotect(image, imageBytes, PROT_READ | PROT_EXEC);
  char *entry = static_cast<char *>(image) + code->offsets.at("kernel");
  function = reinterpret_cast<decltype(function)>(entry);
}

KernelJit::~KernelJit() {
  if (image)
    munmap(image, imageBytes);
}

void KernelJit::run(ArrayRef<void *> slices, int64_t begin, int64_t end) const {
  function(slices.data(), begin, end);
}
