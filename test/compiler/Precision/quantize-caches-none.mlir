// RUN: sinter-opt %s --sinter-quantize-caches | FileCheck %s
// RUN: sinter-opt %s --sinter-quantize-caches -o /dev/null %remarks 2>&1 | FileCheck %s --check-prefix=REMARK

// The keys are also added to something, so that neither they nor their values change, in any entry;
// a state that no attention reads is no cache, nor is one of f64.

// REMARK-DAG: k stays as it is: it, or the other cache of an attention, is read by something else
// REMARK-DAG: v stays as it is: it, or the other cache of an attention, is read by something else

// CHECK-NOT: sinter.quantize
!c = tensor<1x32x2x8xf32>
!r = tensor<1x1x2x8xf32>
!i = tensor<1xi32>
!w = tensor<1x32x2x8xf64>
func.func @added(%r: !r, %start: !i, %k: !c {sinter.state = "k"}, %v: !c {sinter.state = "v"}, %sum: !c {sinter.state = "sum"})
    -> (!r, !c {sinter.state = "k"}, !c {sinter.state = "v"}, !c {sinter.state = "sum"}) attributes {sinter.entry} {
  %k1 = sinter.cache_append %k, %r, %start, %start : (!c, !r, !i, !i) -> !c
  %v1 = sinter.cache_append %v, %r, %start, %start : (!c, !r, !i, !i) -> !c
  %y = sinter.attention %r, %k1, %v1, %start {causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>, scale = 0.35 : f64} : (!r, !c, !c, !i) -> !r
  %s = sinter.add %sum, %k1 : (!c, !c) -> !c
  return %y, %k1, %v1, %s : !r, !c, !c, !c
}

func.func @plain(%r: !r, %start: !i, %k: !c {sinter.state = "k"}, %v: !c {sinter.state = "v"})
    -> (!r, !c {sinter.state = "k"}, !c {sinter.state = "v"}) attributes {sinter.entry} {
  %k1 = sinter.cache_append %k, %r, %start, %start : (!c, !r, !i, !i) -> !c
  %v1 = sinter.cache_append %v, %r, %start, %start : (!c, !r, !i, !i) -> !c
  %y = sinter.attention %r, %k1, %v1, %start {causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>, scale = 0.35 : f64} : (!r, !c, !c, !i) -> !r
  return %y, %k1, %v1 : !r, !c, !c
}

func.func @wide(%r: tensor<1x1x2x8xf64>, %start: !i, %k: !w {sinter.state = "wide"}) -> (tensor<1x1x2x8xf64>, !w {sinter.state = "wide"})
    attributes {sinter.entry} {
  %k1 = sinter.cache_append %k, %r, %start, %start : (!w, tensor<1x1x2x8xf64>, !i, !i) -> !w
  %y = sinter.attention %r, %k1, %k1, %start {causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>, scale = 0.35 : f64} : (tensor<1x1x2x8xf64>, !w, !w, !i) -> tensor<1x1x2x8xf64>
  return %y, %k1 : tensor<1x1x2x8xf64>, !w
}
