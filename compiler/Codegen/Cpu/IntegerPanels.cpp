#include "compiler/Codegen/Cpu/IntegerPanels.h"
#include "compiler/Codegen/Cpu/RegisterTile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace sinter;

/// Numbers of e4m3 are widened to 2^-120 of themselves. Part of that is made up for in their
/// scales, the rest before, or in the rows that meet them (LiftedRows).
static constexpr double kLiftOfScales = 0x1p24, kLiftOfNumbers = 0x1p96;

IntegerPanels::IntegerPanels(VectorBuilder &builder, Layout layout)
    : builder(builder), layout(std::move(layout)) {}

SmallVector<Value> IntegerPanels::placesOfWords(int64_t column, Value k) const {
  SmallVector<Value> places;
  Value row = builder.mul(builder.div(k, layout.together), layout.together * getRowBytes());
  for (int64_t v = 0; v < layout.vectors; v += 8 / layout.bits) {
    int64_t first = column + v * builder.getLanes();
    Value at = builder.add(layout.panelAt(first, layout.elements * layout.bits / 8), row);
    places.push_back(builder.add(at, first % layout.width * layout.together * layout.bits / 8));
  }
  return places;
}

Value IntegerPanels::scalesAt(int64_t column, Value k) const {
  int64_t groups = layout.k / layout.group;
  Value at = builder.add(layout.panelAt(column, groups * layout.width),
                         builder.mul(builder.div(k, layout.group), layout.width));
  return builder.add(at, column % layout.width);
}

IntegerPanels::ColumnScales IntegerPanels::loadScales(int64_t column, Value k) const {
  ColumnScales of;
  for (int64_t v = 0; v < layout.vectors; ++v) {
    Value at = scalesAt(column + v * builder.getLanes(), k);
    Value scale = builder.load(layout.scales, at);
    if (layout.bits == 8) // widenE4M3, widenBytes
      scale = builder.mulF(scale, builder.splat(layout.isE4M3 ? kLiftOfScales : 0x1p-24));
    of.scales.push_back(scale);
    if (layout.minima)
      of.minima.push_back(builder.load(layout.minima, at));
  }
  return of;
}

SmallVector<Value> IntegerPanels::loadWidened(int64_t column, Value k, int64_t count) const {
  SmallVector<Value> places = placesOfWords(column, k), vectors;
  Value first = count == 1 ? builder.rem(k, layout.together) : builder.index(0);
  for (int64_t i = 0; i < count; ++i)
    for (Value at : places) {
      Value byte = builder.add(first, i);
      if (layout.bits == 8 && !layout.isE4M3) {
        vectors.push_back(builder.widenBytes(layout.integers, at, layout.together, byte));
        continue;
      }
      Value words = builder.loadWords(layout.integers, at, layout.together);
      if (layout.isE4M3) {
        vectors.push_back(builder.widenE4M3(words, byte));
        continue;
      }
      for (int64_t half : {0, 4})
        vectors.push_back(
            builder.widenHalves(words, builder.add(builder.mul(byte, 8), half), layout.values));
    }
  return vectors;
}

SmallVector<Value> IntegerPanels::loadDequantized(int64_t column, Value k, int64_t count,
                                                  const ColumnScales &of) const {
  SmallVector<Value> vectors = loadWidened(column, k, count);
  for (auto [i, vector] : llvm::enumerate(vectors)) {
    size_t v = i % layout.vectors;
    if (layout.isE4M3)
      vector = builder.mulF(vector, builder.splat(kLiftOfNumbers));
    vector = of.minima.empty() ? builder.mulF(vector, of.scales[v])
                               : builder.fma(vector, of.scales[v], of.minima[v]);
  }
  return vectors;
}

std::function<void(Value row, int64_t count)> IntegerPanels::linesAhead(int64_t column,
                                                                        Value k) const {
  if (!layout.asksAhead)
    return [](Value, int64_t) {};
  Value integers = layout.integers;
  int64_t last =
      cast<MemRefType>(integers.getType()).getNumElements() - layout.group * getRowBytes();
  SmallVector<Value> places;
  for (int64_t v = 0; v < layout.vectors; v += layout.width / builder.getLanes()) {
    Value panel =
        layout.panelAt(column + v * builder.getLanes(), layout.elements * layout.bits / 8);
    Value at = builder.add(panel, builder.mul(k, getRowBytes()));
    places.push_back(builder.min(builder.add(at, kBytesAhead), builder.index(last)));
  }
  return [this, integers, places, k, told = int64_t(0)](Value row, int64_t count) mutable {
    int64_t line = llvm::alignTo(told, kLineBytes), end = told + count * getRowBytes();
    for (; line < end; line += kLineBytes)
      for (Value place : places) {
        Value at = builder.add(place, builder.mul(builder.sub(row, k), getRowBytes()));
        memref::PrefetchOp::create(builder, integers, builder.add(at, line - told),
                                   /*isWrite=*/false, /*localityHint=*/3, /*isDataCache=*/true);
      }
    told = end;
  };
}

SmallVector<Value> IntegerPanels::accumulate(const Rows &lhs, int64_t rows, int64_t column,
                                             Value kBegin, Value kEnd, ValueRange sums) const {
  return builder.loop(kBegin, kEnd, layout.group, sums, [&](Value k, ValueRange carried) {
    SmallVector<Value> ofGroup = sumSegments(lhs, rows, column, k), next;
    for (int64_t i = 0; i < rows * layout.vectors; ++i) {
      Value at = scalesAt(column + i % layout.vectors * builder.getLanes(), k);
      Value product = lhs.ofBytes ? builder.toFloat(ofGroup[i]) : ofGroup[i];
      Value sum = builder.fma(product, builder.load(layout.scales, at), carried[i]);
      if (lhs.groupSums)
        sum = builder.fma(lhs.groupSums->getSplat(i / layout.vectors, k),
                          builder.load(layout.minima, at), sum);
      next.push_back(sum);
    }
    return next;
  });
}

/// The words as few rows multiply them.
SmallVector<Value> IntegerPanels::loadWords(int64_t column, Value k) const {
  SmallVector<Value> words;
  for (Value at : placesOfWords(column, k))
    words.push_back(layout.together == 2 ? builder.loadBytes(layout.integers, at)
                                         : builder.loadWords(layout.integers, at, layout.together));
  return words;
}

/// The products of a group, a segment after the other.
SmallVector<Value> IntegerPanels::sumSegments(const Rows &lhs, int64_t rows, int64_t column,
                                              Value k) const {
  auto accumulate = [&](Value at, ValueRange sums) {
    return lhs.fixedPoint.accumulate(
        rows, at,
        [&, ahead = linesAhead(column, at)](Value row) mutable {
          ahead(row, layout.together);
          return loadWords(column, row);
        },
        sums);
  };
  RegisterTile tile;
  tile.rows = rows;
  tile.vectors = layout.vectors;
  tile.bytes = lhs.ofBytes;
  SmallVector<Value> zeros = tile.zeros(builder);
  if (lhs.segment >= layout.group)
    return accumulate(k, zeros);
  Value end = builder.add(k, llvm::alignTo(layout.group, lhs.segment));
  return builder.loop(k, end, lhs.segment, zeros, accumulate);
}
