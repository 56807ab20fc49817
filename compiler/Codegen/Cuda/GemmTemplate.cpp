#include "compiler/Analysis/LibraryGemm.h"
#include "compiler/Codegen/Cuda/TemplateInstance.h"
#include "compiler/Codegen/Cuda/Templates.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace sinter;
using plan::PostOpKind;

/// Operands that an epilogue may read.
static constexpr unsigned kMostOperands = 4;
/// Blocks that fill a machine, as the templates reckon.
static constexpr int64_t kFullMachine = 132;

/// A step of an epilogue as the templates name it: "sinter::Add<float, 768>", for operands of `n`
/// columns.
static std::string nameStep(const LibraryPostOp &step, int64_t n) {
  auto withOperand = [&](StringRef name, bool strided) {
    std::string type = TemplateInstance::getTypeName(getElementTypeOrSelf(step.operand));
    return strided ? llvm::formatv("sinter::{0}<{1}, {2}>", name, type, n).str()
                   : llvm::formatv("sinter::{0}<{1}>", name, type).str();
  };
  switch (step.kind) {
  case PostOpKind::Bias:
    return withOperand("Bias", /*strided=*/false);
  case PostOpKind::Add:
    return withOperand("Add", /*strided=*/true);
  case PostOpKind::Multiply:
    return withOperand("Multiply", /*strided=*/true);
  case PostOpKind::Gelu:
    return "sinter::Gelu";
  case PostOpKind::GeluTanh:
    return "sinter::GeluTanh";
  case PostOpKind::Silu:
    return "sinter::Silu";
  case PostOpKind::Relu:
    return "sinter::Relu";
  }
  llvm_unreachable("all steps are above");
}

/// "sinter::Epilogue<sinter::Bias<float>>"
static std::string nameEpilogue(ArrayRef<LibraryPostOp> steps, int64_t n) {
  auto names = llvm::map_to_vector(steps, [&](auto &step) { return nameStep(step, n); });
  return "sinter::Epilogue<" + llvm::join(names, ", ") + ">";
}

static std::string nameEpilogue(const LibraryGemm &gemm) {
  ArrayRef<LibraryPostOp> steps = gemm.postOps;
  MatmulOp matmul = gemm.matmul;
  int64_t n = matmul.getN();
  if (!gemm.gate)
    return nameEpilogue(steps, n);
  auto [begin, end] = *gemm.gate;
  return "sinter::GatedEpilogue<" + nameEpilogue(steps.take_front(begin), n) + ", " +
         nameEpilogue(steps.slice(begin, end - begin), n / 2) + ", " +
         nameEpilogue(steps.drop_front(end), n / 2) + ">";
}

/// "sinter::Heads<64, 64, false, 1, 512, sinter::HeadPart<float, 12, true, 0>>"
static std::string nameHeads(const ProductHeads &heads) {
  RotaryOp rotary = heads.rotary;
  ArrayRef<int64_t> angles = rotary ? rotary.getCos().getType().getShape() : ArrayRef<int64_t>();
  std::string name = llvm::formatv(
      "sinter::Heads<{0}, {1}, {2}, {3}, {4}", heads.headSize, rotary ? 2 * angles[1] : 0,
      rotary && rotary.getInterleaved() ? "true" : "false", heads.tokens, rotary ? angles[0] : 1);
  for (const ProductHeads::Part &part : heads.parts)
    name += llvm::formatv(", sinter::HeadPart<{0}, {1}, {2}, {3}>",
                          TemplateInstance::getTypeName(getElementTypeOrSelf(part.result)),
                          part.columns / heads.headSize, part.rotates ? "true" : "false",
                          part.append ? cast<RankedTensorType>(part.result.getType()).getDimSize(1)
                                      : 0);
  return name + ">";
}

/// Passes where a GEMV is written, and what heads depend on.
static void passHeads(TemplateInstance &instance, std::optional<ProductHeads> &heads,
                      func::FuncOp kernel) {
  auto passArgument = [&](Value value) {
    instance.pass(value ? std::optional(cast<BlockArgument>(value).getArgNumber()) : std::nullopt);
  };
  // The kernel's results come in an order of their own.
  auto passPart = [&](size_t part) {
    if (!heads)
      return instance.pass(part == 0 ? std::optional(kernel.getNumArguments()) : std::nullopt);
    if (part >= heads->parts.size())
      return instance.pass(std::nullopt);
    auto results = kernel.front().getTerminator()->getOperands();
    auto found = llvm::find(results, heads->parts[part].result);
    instance.pass(kernel.getNumArguments() + std::distance(results.begin(), found));
  };
  passPart(0);
  RotaryOp rotary = heads ? heads->rotary : nullptr;
  passArgument(rotary ? rotary.getCos() : nullptr);
  passArgument(rotary ? rotary.getSin() : nullptr);
  passArgument(heads ? heads->start : nullptr);
  passArgument(heads ? heads->count : nullptr);
  passPart(1);
  passPart(2);
}

namespace {
/// A product's sizes, as gemv.cuh and gemm.cuh see them.
struct Product {
  int64_t m, n, k, lhsStride, rhsStride;
  bool lhsTransposed, rhsTransposed, narrow, ofBytes;

  explicit Product(MatmulOp matmul)
      : m(matmul.getM()), n(matmul.getN()), k(matmul.getK()),
        lhsStride(matmul.getTransposeLhs() ? m : k), rhsStride(matmul.getTransposeRhs() ? k : n),
        lhsTransposed(matmul.getTransposeLhs()), rhsTransposed(matmul.getTransposeRhs()),
        narrow(getElementTypeOrSelf(matmul.getLhs()).getIntOrFloatBitWidth() == 16),
        ofBytes(matmul.getRowScales()) {}

  bool isGemv() const { return m <= kMostGemvRows && !lhsTransposed; }

  static int64_t divideUp(int64_t a, int64_t b) { return llvm::divideCeil(a, b); }

  CudaLaunch getGemmLaunch(int64_t candidate) const {
    auto tiles = [&](int64_t tile) { return divideUp(m, tile) * divideUp(n, tile); };
    int64_t tile = candidate ? candidate : m > 64 && tiles(128) >= kFullMachine ? 128 : 64;
    // Tiles of bytes are written as aligned ones, however rows are read.
    bool matrices = ofBytes || (narrow && lhsStride % 8 == 0 && rhsStride % 8 == 0);
    if (!matrices)
      return {tiles(tile), 256, 128 * (2 * tile + 8)};
    int64_t rowsOfK = 32 * (tile + 8), columnsOfK = 40 * tile;
    int64_t shared =
        6 * ((lhsTransposed ? rowsOfK : columnsOfK) + (rhsTransposed ? columnsOfK : rowsOfK));
    return {tiles(tile), tile == 64 ? 128 : 256, shared};
  }
};
} // namespace

static unsigned numberOf(Value argument) { return cast<BlockArgument>(argument).getArgNumber(); }

/// What all products have.
static void setProduct(TemplateInstance &instance, const LibraryGemm &gemm, func::FuncOp kernel) {
  Product product(gemm.matmul);
  MatmulOp matmul = gemm.matmul;
  instance.set("Element", getElementTypeOrSelf(matmul.getLhs()));
  instance.set("Out", getElementTypeOrSelf(kernel.getResultTypes().front()));
  instance.setType("Epilogue", nameEpilogue(gemm));
  instance.set("m", product.m);
  instance.set("n", product.n);
  instance.set("k", product.k);
  instance.set("lhsStride", product.lhsStride);
  instance.set("outStride", gemm.gate ? product.n / 2 : product.n);
  instance.pass(numberOf(gemm.getLhs()));
  instance.pass(numberOf(matmul.getRhs()));
}

static void passOperands(TemplateInstance &instance, ArrayRef<unsigned> operands) {
  for (unsigned i = 0; i < kMostOperands; ++i)
    instance.pass(i < operands.size() ? std::optional(operands[i]) : std::nullopt);
}

/// A product whose sides are both bytes with scales.
static CudaLaunch instantiateBytes(const LibraryGemm &gemm, ArrayRef<unsigned> operands,
                                   func::FuncOp kernel, func::FuncOp function, int64_t candidate) {
  MatmulOp matmul = gemm.matmul;
  Product product(matmul);
  StringRef name = product.isGemv() ? "gemv_bytes" : "gemm_bytes";
  TemplateInstance instance(name, name, kernel.getContext());
  setProduct(instance, gemm, kernel);
  instance.set("RhsElement", getElementTypeOrSelf(matmul.getRhs()));
  instance.set("tensorScales", matmul.hasTensorScales());
  instance.pass(numberOf(matmul.getRowScales()));
  instance.pass(numberOf(matmul.getScales()));
  passOperands(instance, operands);
  instance.pass(kernel.getNumArguments());
  if (!product.isGemv()) {
    instance.set("tile", candidate);
    instance.write(function, /*usesShared=*/true);
    return product.getGemmLaunch(candidate);
  }
  bool isConstant = !!kernel.getArgAttr(numberOf(matmul.getRhs()), kConstantAttribute);
  instance.set("rhsIsConstant", isConstant);
  instance.write(function, /*usesShared=*/false);
  constexpr int64_t columns = 16, threads = 256;
  return {.grid = Product::divideUp(product.n, columns), .block = threads, .waits = isConstant};
}

FailureOr<CudaLaunch> sinter::instantiateGemm(func::FuncOp kernel, func::FuncOp function,
                                              const TargetAttr &target, int64_t candidate) {
  llvm::SetVector<Operation *> ops;
  for (Operation &op : kernel.front().without_terminator())
    ops.insert(&op);
  std::optional<LibraryGemm> gemm = matchLibraryGemm(ops);
  if (!gemm || (!gemm->heads && kernel.getNumResults() != 1))
    return kernel.emitError("expected one product of plain matrices and a chain of post-ops");

  SmallVector<unsigned> operands;
  for (const LibraryPostOp &step : gemm->postOps)
    if (step.operand)
      operands.push_back(numberOf(step.operand));
  if (operands.size() > kMostOperands)
    return kernel.emitError("expected an epilogue with ")
           << kMostOperands << " operands at the most, got " << operands.size();

  MatmulOp matmul = gemm->matmul;
  if (matmul.getRowScales())
    return instantiateBytes(*gemm, operands, kernel, function, candidate);
  Product product(matmul);
  bool scaled = static_cast<bool>(matmul.getScales());
  StringRef name = product.isGemv() ? (scaled ? "gemv_integers" : "gemv")
                   : scaled         ? "gemm_integers"
                                    : "gemm";
  TemplateInstance instance(name, name, kernel.getContext());
  setProduct(instance, *gemm, kernel);
  bool isConstant = !!kernel.getArgAttr(numberOf(matmul.getRhs()), kConstantAttribute);
  if (scaled) {
    instance.setIntegers(getElementTypeOrSelf(matmul.getRhs()),
                         getElementTypeOrSelf(matmul.getScales()), matmul.getGroup(),
                         static_cast<bool>(matmul.getMinima()));
    for (Value numbers : {matmul.getScales(), matmul.getMinima()}) {
      instance.pass(numbers ? std::optional(numberOf(numbers)) : std::nullopt);
      isConstant &= !numbers || kernel.getArgAttr(numberOf(numbers), kConstantAttribute);
    }
  } else {
    instance.set("rhsStride", product.rhsStride);
    instance.set("rhsTransposed", product.rhsTransposed);
  }
  GemvLaunch launch = getGemvLaunch(matmul, gemm->norm.has_value());
  if (product.isGemv()) {
    instance.set("Input", getElementTypeOrSelf(gemm->getLhs()));
    auto addNormOperand = [&](StringRef parameter, Value value) {
      instance.setType(parameter,
                       value ? TemplateInstance::getTypeName(getElementTypeOrSelf(value)) : "void");
      instance.pass(value ? std::optional(numberOf(value)) : std::nullopt);
      isConstant &= !value || kernel.getArgAttr(numberOf(value), kConstantAttribute);
    };
    auto norm = gemm->norm ? gemm->norm->op : NormOpInterface();
    addNormOperand("NormWeight", norm ? norm.getWeight() : nullptr);
    addNormOperand("NormBias", norm ? norm.getBias() : nullptr);
    // Weights that are trained are written by another kernel. Those that are not are read so early
    // that nothing may change them.
    instance.set("rhsIsConstant", isConstant);
    instance.set("normCenters", norm && norm.centersRows());
    instance.set("normEps", norm ? norm.getEps().convertToDouble() : 0.0);
    instance.set("sharedBytes", scaled && !launch.isFixedPoint ? 0 : launch.sharedBytes);
    instance.setType("Heads", gemm->heads ? nameHeads(*gemm->heads) : "void");
  } else {
    if (!scaled) {
      instance.set("lhsTransposed", product.lhsTransposed);
      instance.set("plain", false);
    }
    instance.set("tile", candidate);
  }
  passOperands(instance, operands);
  if (!product.isGemv()) {
    instance.pass(kernel.getNumArguments());
    instance.write(function, /*usesShared=*/true);
    return product.getGemmLaunch(candidate);
  }
  passHeads(instance, gemm->heads, kernel);
  instance.write(function, /*usesShared=*/launch.sharedBytes > 0);
  return CudaLaunch{.grid = launch.blocks,
                    .block = launch.threads,
                    .sharedBytes = launch.sharedBytes,
                    .waits = isConstant};
}
