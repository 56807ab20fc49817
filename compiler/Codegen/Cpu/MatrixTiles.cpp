#include "compiler/Codegen/Cpu/MatrixTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace sinter;

/// Bytes of a whole row of a tile, and 32-bit words of what LDTILECFG reads.
static constexpr int64_t kRowBytes = 64, kShapeWords = 16;

/// What LDTILECFG reads: a palette, the bytes of a row of each tile (16 bits), its rows (8 bits).
/// Tiles 0 to 3 are sums of two by two, 4 and 5 rows of lhs, 6 and 7 columns of rhs.
static SmallVector<int32_t> shapeTiles(int64_t upper, int64_t lower, int64_t lhsBytes) {
  const auto above = static_cast<int32_t>(upper), below = static_cast<int32_t>(lower);
  const auto whole = static_cast<int32_t>(kRowBytes), part = static_cast<int32_t>(lhsBytes);
  const int32_t words = part / 4;
  auto halves = [](int32_t even, int32_t odd) { return even | odd << 16; };
  auto bytes = [](int32_t first, int32_t second) { return first * 0x0101 | second * 0x01010000; };
  return {1, // the palette
          0,
          0,
          0,
          halves(whole, whole),
          below ? halves(whole, whole) : 0,
          halves(part, below ? part : 0),
          halves(whole, whole),
          0,
          0,
          0,
          0,
          bytes(above, below),
          above | below << 8 | bytes(0, words),
          0,
          0};
}

MatrixTiles::MatrixTiles(VectorBuilder &builder, int64_t rows, int64_t k, Type element)
    : builder(builder), element(element), elementBytes(element.getIntOrFloatBitWidth() / 8),
      depth(kRowBytes / elementBytes), ofWord(4 / elementBytes), whole{rows, depth},
      shapes(builder.scratch(2 * kShapeWords, builder.getI32Type())) {
  if (k % ofWord != 0)
    last = builder.scratch(kMostRows * depth, element);
  configured = storeShape(whole, /*isWhole=*/true);
  assemble(configured, "ldtilecfg ($0)", "r,~{memory}");
}

void MatrixTiles::release() { assemble({}, "tilerelease", "~{memory}"); }

void MatrixTiles::assemble(ValueRange operands, const std::string &text, StringRef constraints) {
  LLVM::InlineAsmOp::create(
      builder, TypeRange(), operands, text, constraints, /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
}

Value MatrixTiles::storeShape(const Shape &shape, bool isWhole) {
  int64_t upper = std::min(shape.rows, kEdge);
  SmallVector<int32_t> words = shapeTiles(upper, shape.rows - upper, shape.width * elementBytes);
  auto type = builder.vectorOf(builder.getI32Type());
  Value values =
      arith::ConstantOp::create(builder, DenseElementsAttr::get(type, ArrayRef<int32_t>(words)));
  Value at = builder.index(isWhole ? 0 : kShapeWords);
  builder.store(values, shapes, at);
  return address({shapes, at});
}

Value MatrixTiles::address(const Place &place) {
  Value start = memref::ExtractAlignedPointerAsIndexOp::create(builder, place.memory);
  int64_t bytes = cast<MemRefType>(place.memory.getType()).getElementTypeBitWidth() / 8;
  return arith::IndexCastOp::create(builder, builder.getI64Type(),
                                    builder.add(start, builder.mul(place.at, bytes)));
}

void MatrixTiles::run(const Product &product, const Place &lhs, Value k, Value steps, int64_t width,
                      bool first) {
  bool hasLower = product.rows > kEdge;
  auto [rhs, rest] = product.rhs(k);
  const Place &sums = product.sums;
  int64_t ofLhs = elementBytes * lhs.stride, ofRhs = elementBytes * rhs.stride,
          ofSums = 4 * sums.stride;
  Shape shape{product.rows, width};
  bool isWhole = shape == whole;
  int64_t nextLines = isWhole ? product.nextLines : 0;
  // Registers are few: only whole tiles prefetch, and only others need the configuration.
  Value operands[] = {address(lhs),
                      address(rhs),
                      address(sums),
                      arith::IndexCastOp::create(builder, builder.getI64Type(), steps).getResult(),
                      nextLines != 0 ? address(product.next) : configured,
                      address(rest)};
  const char *multiply = element.isBF16() ? "tdpbf16ps" : "tdpbssd";
  auto forSums = [&](llvm::function_ref<std::string(int64_t tile, int64_t bytes)> line) {
    std::string lines;
    for (int64_t tile = 0; tile < (hasLower ? 4 : 2); ++tile)
      lines += line(tile, tile / 2 * kEdge * ofSums + tile % 2 * kRowBytes);
    return lines;
  };
  if (!isWhole)
    assemble(storeShape(shape, /*isWhole=*/false), "ldtilecfg ($0)", "r,~{memory}");
  std::string text = llvm::formatv("movq $0, %rax\n"
                                   "movq $1, %rcx\n"
                                   "movq $3, %rdx\n"
                                   "movq $${0}, %rsi\n"
                                   "movq $${1}, %rdi\n"
                                   "movq $${2}, %r8\n"
                                   "movq $4, %r10\n"
                                   "movq $5, %r9\n",
                                   ofLhs, ofRhs, ofSums);
  text += forSums([&](int64_t tile, int64_t bytes) -> std::string {
    if (first)
      return llvm::formatv("tilezero %tmm{0}\n", tile);
    return llvm::formatv("tileloadd {0}($2,%r8,1), %tmm{1}\n", bytes, tile);
  });
  text += "1:\n";
  for (int64_t line = 0; product.asksAhead && line < width * elementBytes * ofRhs / 4;
       line += kLineBytes)
    text += llvm::formatv("prefetcht0 {0}(%rcx)\n", kBytesAhead + line);
  for (int64_t line = 0; line < nextLines; ++line)
    text += llvm::formatv("prefetcht1 {0}(%r10)\n", line * kLineBytes);
  text += llvm::formatv("tileloadd (%rax,%rsi,1), %tmm4\n"
                        "tileloadd (%rcx,%rdi,1), %tmm6\n"
                        "{0} %tmm6, %tmm4, %tmm0\n"
                        "tileloadd (%r9,%rdi,1), %tmm7\n"
                        "{0} %tmm7, %tmm4, %tmm1\n",
                        multiply);
  if (hasLower)
    text += llvm::formatv("tileloadd {1}(%rax,%rsi,1), %tmm5\n"
                          "{0} %tmm6, %tmm5, %tmm2\n"
                          "{0} %tmm7, %tmm5, %tmm3\n",
                          multiply, kEdge * ofLhs);
  text +=
      llvm::formatv("addq $${0}, %rax\n"
                    "addq $${1}, %rcx\n"
                    "addq $${1}, %r9\n"
                    "addq $${2}, %r10\n"
                    "decq %rdx\n"
                    "jnz 1b\n",
                    width * elementBytes, width * elementBytes / 4 * ofRhs, nextLines * kLineBytes);
  text += forSums([&](int64_t tile, int64_t bytes) -> std::string {
    return llvm::formatv("tilestored %tmm{0}, {1}($2,%r8,1)\n", tile, bytes);
  });
  if (!isWhole)
    text += "ldtilecfg ($4)";
  assemble(operands, text,
           "r,r,r,r,r,r,~{rax},~{rcx},~{rdx},~{rsi},~{rdi},~{r8},~{r9},~{r10},~{memory},~{flags}");
}

MatrixTiles::Place MatrixTiles::padLast(const Product &product, Value k, int64_t width) {
  auto type = VectorType::get({depth}, element);
  SmallVector<bool> isThere(depth, false);
  std::fill_n(isThere.begin(), width, true);
  Value mask = arith::ConstantOp::create(
      builder, DenseElementsAttr::get(VectorType::get({depth}, builder.getI1Type()), isThere));
  Value zeros = arith::ConstantOp::create(builder, type, builder.getZeroAttr(type));
  Place from = product.lhs(k);
  for (int64_t row = 0; row < product.rows; ++row) {
    Value values = vector::MaskedLoadOp::create(
        builder, type, from.memory, builder.add(from.at, row * from.stride), mask, zeros);
    vector::StoreOp::create(builder, values, last, builder.index(row * depth));
  }
  return {last, builder.index(0), depth};
}

void MatrixTiles::multiply(const Product &product, Value begin, Value end, int64_t ofK,
                           bool first) {
  int64_t rest = ofK % depth;
  Value wholeEnd = rest == 0 ? end : builder.sub(end, builder.index(rest));
  Value steps = builder.div(builder.sub(wholeEnd, begin), depth);
  if (getConstantIntValue(steps) != 0) {
    run(product, product.lhs(begin), begin, steps, depth, first);
    first = false;
  }
  if (rest == 0)
    return;
  Place lhs = rest % ofWord == 0 ? product.lhs(wholeEnd) : padLast(product, wholeEnd, rest);
  run(product, lhs, wholeEnd, builder.index(1), llvm::alignTo(rest, ofWord), first);
}
