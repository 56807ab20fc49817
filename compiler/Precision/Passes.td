//===- Passes.td - Element types ----------------------------*- tablegen -*-===//
#ifndef SINTER_PRECISION_PASSES
#define SINTER_PRECISION_PASSES

include "mlir/Pass/PassBase.td"

def AssignComputeTypePass : Pass<"sinter-assign-compute-type", "mlir::ModuleOp"> {
  let summary = "chooses the element types of products and of KV caches";
  let description = [{
    After it, in every entry, both operands of each matmul have the compute type, its result and
    the rows of each attention are f32, and every state that an op rounds into (a KV cache) has the cache
    type. All else (norms, softmax, residuals) computes as the graph says, in f32. Casts are
    inserted where types differ, one a value; a cast of a widened value starts from the narrow one.
    Scales of integers keep their type, but for rows of bytes on a GPU, where they are f32. What is
    multiplied by integers is f32, if it is no integers itself; on a GPU it has the compute type, as
    the integers have once they are widened in registers.

    With f16 the operands are rounded to f16 and widened again: processors multiply it in f32. A
    GPU multiplies f16 as it is, and with 16 bits an attention's queries, keys, values and the
    gradient of its result have the compute type there, too; with bf16 also on a processor with
    AMX, where heads are of 32 elements or a multiple.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cpu:x86-64-v4 --sinter-assign-compute-type=compute-type=bf16
    func.func @decode(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> attributes {sinter.entry} {
      %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
      return %0 : tensor<4x16xf32>
    }
    // =>
    func.func @decode(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> attributes {sinter.entry} {
      %0 = sinter.cast %w : (tensor<8x16xf32>) -> tensor<8x16xbf16>
      %1 = sinter.cast %x : (tensor<4x8xf32>) -> tensor<4x8xbf16>
      %2 = sinter.matmul %1, %0 : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xf32>
      return %2 : tensor<4x16xf32>
    }
    ```
  }];
  let options = [
    Option<"computeType", "compute-type", "std::string", "\"f32\"",
           "Element type of products: f32, bf16 or f16">,
    Option<"cacheType", "cache-type", "std::string", "\"f32\"",
           "Element type of KV caches: f32, bf16 or (for a GPU) f16">,
    Option<"tf32", "tf32", "bool", "false",
           "Products of f32 on a GPU may round their operands to TF32">];
}

def QuantizeWeightsPass : Pass<"sinter-quantize-weights", "mlir::ModuleOp"> {
  let summary = "multiplies by weights of 8 or 4 bits";
  let description = [{
    After it, a product by a parameter of the checkpoint is one by integers, or f8E4M3FN, with scales, one
    for each group of elements along k (of all, a channel, where the group is 0): `q = round(w / s)`,
    where of 8 bits `127 s`, of fp8 `448 s`, is the group's largest magnitude and of 4 bits `-8 s` its
    number of the largest magnitude (what would be 8 is 7): the scales of GGUF's Q8_0 and Q4_0. The
    left-hand side stays f32. The
    formula stands in the entry; Layout moves it to `@preprocess`.

    Left as they are: integers, weights that are also read as a table, that of the last product of an
    entry (logits are most sensitive, and a head is often a table's transpose) unless `head`, those
    whose k is no multiple of the group, and those of products that choose experts. Experts' matrices are
    integers, on a processor where their columns are whole panels of the target's and groups whole words,
    or on a GPU fp8. A weight is quantized in all entries or in none.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cpu:x86-64-v4 --sinter-quantize-weights="weights=int8 head"
    func.func @decode(%x: tensor<1x32xf32>, %w: tensor<16x32xf32> {sinter.parameter = "w"})
        -> tensor<1x16xf32> attributes {sinter.entry} {
      %0 = sinter.matmul %x, %w {transpose_rhs} : (tensor<1x32xf32>, tensor<16x32xf32>) -> tensor<1x16xf32>
      return %0 : tensor<1x16xf32>
    }
    // =>
    func.func @decode(%x: tensor<1x32xf32>, %w: tensor<16x32xf32> {sinter.parameter = "w"})
        -> tensor<1x16xf32> attributes {sinter.entry} {
      ...
      %largest = sinter.reduce max %magnitudes : (tensor<16x1x32xf32>) -> tensor<16x1xf32>
      %c = sinter.constant dense<0.00787401571> : tensor<16x1xf32>
      %scales = sinter.mul %largest, %c : (tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x1xf32>
      ...
      %rounded = sinter.round %quotients : (tensor<16x1x32xf32>) -> tensor<16x1x32xf32>
      %groups = sinter.cast %rounded : (tensor<16x1x32xf32>) -> tensor<16x1x32xi8>
      %q = sinter.reshape %groups : (tensor<16x1x32xi8>) -> tensor<16x32xi8>
      %y = sinter.matmul %x, %q, %scales {transpose_rhs}
        : (tensor<1x32xf32>, tensor<16x32xi8>, tensor<16x1xf32>) -> tensor<1x16xf32>
      return %y : tensor<1x16xf32>
    }
    ```
  }];
  let options = [
    Option<"weights", "weights", "std::string", "\"int8\"", "What products multiply by: int8, int4 or fp8">,
    Option<"group", "group", "int64_t", "32", "Elements along k that share a scale; 0 for all">,
    Option<"head", "head", "bool", "false", "The weights of an entry's last product, too">];
}

def QuantizeActivationsPass : Pass<"sinter-quantize-activations", "mlir::ModuleOp"> {
  let summary = "rounds what integers multiply, and sums integers";
  let description = [{
    After it, the left-hand side of every product by integers of 8 bits, or by f8E4M3FN, with one scale
    a column is quantized row by row to the same type; of integers the product is exact but for its
    scales. So is that of products by integers of 4 or 8 bits with a scale a group, and maybe a
    minimum, on processors, which sum the integers of a group. A value that several products multiply
    is quantized once.

    Left as they are: products by groups that are no multiples of 4, which are multiplied together,
    and on GPUs all by groups or with minima; and those of more than 131071 integers, which might
    overflow.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cpu:x86-64-v4 --sinter-quantize-activations
    func.func @decode(%x: tensor<4x32xf32>, %q: tensor<16x32xi8>, %s: tensor<16x1xf32>)
        -> tensor<4x16xf32> attributes {sinter.entry} {
      %0 = sinter.matmul %x, %q, %s {transpose_rhs}
        : (tensor<4x32xf32>, tensor<16x32xi8>, tensor<16x1xf32>) -> tensor<4x16xf32>
      return %0 : tensor<4x16xf32>
    }
    // =>
    func.func @decode(%x: tensor<4x32xf32>, %q: tensor<16x32xi8>, %s: tensor<16x1xf32>)
        -> tensor<4x16xf32> attributes {sinter.entry} {
      %integers, %scales = sinter.quantize %x : (tensor<4x32xf32>) -> (tensor<4x32xi8>, tensor<4x1xf32>)
      %0 = sinter.matmul %integers, %q, %s rows %scales {transpose_rhs}
        : (tensor<4x32xi8>, tensor<16x32xi8>, tensor<16x1xf32>, tensor<4x1xf32>) -> tensor<4x16xf32>
      return %0 : tensor<4x16xf32>
    }
    ```
  }];
  let options = [
    Option<"activations", "activations", "std::string", "\"int8\"",
           "What rows and weights are: int8 or fp8">];
}

def QuantizeProductsPass : Pass<"sinter-quantize-products", "mlir::ModuleOp"> {
  let summary = "multiplies fp8 in a training step";
  let description = [{
    After it, products of layers multiply fp8, each side with one scale for all of it, forward and
    backward: activations and weights of f8E4M3FN, gradients of f8E5M2 (Micikevicius et al., "FP8 Formats
    for Deep Learning", 2022). A scale is current: `max |x| / largest`, of what the value holds, where
    `largest` is the type's largest number. A value is rounded once: what the backward pass keeps of an
    activation are its bytes.

    With `scales=history` (delayed scaling, as in NVIDIA's Transformer Engine) a scale is
    `2^margin max(history) / largest` of the maxima of the `history` steps before, so that no reduction
    stands between a value and its bytes. What is larger becomes the largest number; what is not finite
    stays so. The histories are states, `amax_history.<parameter>` beside each parameter whose products
    multiply fp8: of a step's activations, weights and gradients a row each, the last step first. An empty
    history is a scale of 1, of gradients a maximum of 1; a maximum that is not finite is kept as zero.
    Where a step has many microbatches, `amax.<parameter>` is the largest of those so far, and the entry
    that updates the parameters puts that of all ranks along the axis `data` into the history. What is
    computed again has no history of its own.

    Left as they are: products by what is also read as a table and the last of the forward pass, with
    their gradients (Transformer Engine's embeddings and head: logits are most sensitive); attention and
    norms, which are no products; an optimizer's; and entries without a backward pass. A target that
    multiplies no fp8 widens the bytes, which is exact, and multiplies the sums by both scales: the same
    numbers but for the order of sums.

    ```mlir
    // sinter-opt --sinter-differentiate --sinter-assign-target=target=cpu:x86-64-v4 \
    //   --sinter-quantize-products
    func.func @train(%x: tensor<4x8xf32> {sinter.input = "x"},
                     %w: tensor<8x8xf32> {sinter.parameter = "w"},
                     %h: tensor<8x16xf32> {sinter.parameter = "h"})
        -> (tensor<f32> {sinter.output = "loss"}) attributes {sinter.entry, sinter.differentiate} {
      %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      %1 = sinter.matmul %0, %h : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
      %2 = sinter.reshape %1 : (tensor<4x16xf32>) -> tensor<64xf32>
      %3 = sinter.reduce sum %2 : (tensor<64xf32>) -> tensor<f32>
      return %3 : tensor<f32>
    }
    // =>
      ...
      %rows = sinter.reduce max %magnitudes : (tensor<4x8xf32>) -> tensor<4xf32>
      %largest = sinter.reduce max %rows : (tensor<4xf32>) -> tensor<f32>
      ...
      %scale = sinter.mul %most, %step : (tensor<f32>, tensor<f32>) -> tensor<f32>
      ...
      %factor = sinter.div %number, %most : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %factors = sinter.broadcast %factor {dims = array<i64>} : (tensor<f32>) -> tensor<4x8xf32>
      %scaled = sinter.mul %x, %factors : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
      %q = sinter.cast %scaled : (tensor<4x8xf32>) -> tensor<4x8xf8E4M3FN>
      %wide = sinter.cast %q : (tensor<4x8xf8E4M3FN>) -> tensor<4x8xf32>
      ...
      %sums = sinter.matmul %wide, %wide_w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      %both = sinter.mul %scale, %scale_w : (tensor<f32>, tensor<f32>) -> tensor<f32>
      ...
      %y = sinter.mul %sums, %scales : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
      ...
    ```
  }];
  let options = [
    Option<"scales", "scales", "std::string", "\"current\"", "Where scales are from: current or history">,
    Option<"length", "history", "int64_t", "16", "Steps of a history">,
    Option<"margin", "margin", "int64_t", "0", "Scales of a history leave room for 2^margin of its maximum">];
}

def QuantizeCachesPass : Pass<"sinter-quantize-caches", "mlir::ModuleOp"> {
  let summary = "holds keys and values in 8 bits";
  let description = [{
    After it, a KV cache is two states: numbers of 8 bits, and under the name with `.scales` behind
    it what each row of a token and a head is multiplied with. Rows are quantized before they are
    appended, and attention reads both states; no kernel ever writes a widened cache to memory.

    Left as they are: caches that something but an attention reads, and those of an attention whose
    other cache stays. A cache is quantized in all entries or in none.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cpu:x86-64-v4 --sinter-quantize-caches=cache-type=int8
    func.func @decode(%q: tensor<1x1x2x8xf32>, %r: tensor<1x1x2x8xf32>, %start: tensor<1xi32>, %count: tensor<1xi32>,
                      %k: tensor<1x32x2x8xf32> {sinter.state = "k", sinter.donated = 1 : i64},
                      %v: tensor<1x32x2x8xf32> {sinter.state = "v", sinter.donated = 2 : i64})
        -> (tensor<1x1x2x8xf32>, tensor<1x32x2x8xf32> {sinter.state = "k"}, tensor<1x32x2x8xf32> {sinter.state = "v"})
        attributes {sinter.entry} {
      %k1 = sinter.cache_append %k, %r, %start, %count
        : (tensor<1x32x2x8xf32>, tensor<1x1x2x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x32x2x8xf32>
      %v1 = sinter.cache_append %v, %r, %start, %count
        : (tensor<1x32x2x8xf32>, tensor<1x1x2x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x32x2x8xf32>
      %y = sinter.attention %q, %k1, %v1, %start
        {causal, scale = 0.35, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>}
        : (tensor<1x1x2x8xf32>, tensor<1x32x2x8xf32>, tensor<1x32x2x8xf32>, tensor<1xi32>) -> tensor<1x1x2x8xf32>
      return %y, %k1, %v1 : tensor<1x1x2x8xf32>, tensor<1x32x2x8xf32>, tensor<1x32x2x8xf32>
    }
    // =>
      ...
      %rounded, %scales = sinter.quantize %r : (tensor<1x1x2x8xf32>) -> (tensor<1x1x2x8xi8>, tensor<1x1x2x1xf32>)
      %k1 = sinter.cache_append %k, %rounded, %start, %count
        : (tensor<1x32x2x8xi8>, tensor<1x1x2x8xi8>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x32x2x8xi8>
      %ks1 = sinter.cache_append %ks, %scales, %start, %count
        : (tensor<1x32x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x32x2x1xf32>
      ...
    ```
  }];
  let options = [
    Option<"cacheType", "cache-type", "std::string", "\"int8\"", "What caches hold: int8 or fp8 (e4m3)">];
}

def VerifyPrecisionPass : Pass<"sinter-verify-precision", "mlir::ModuleOp"> {
  let summary = "verifies what holds after the Precision phase";
  let description = [{
    After it every matmul of an entry multiplies f32 or bf16, for a GPU f16, too, or rows of
    integers, and gives f32, as row reductions and attentions do.

    ```mlir
    func.func @decode(%x: tensor<4x8xf16>, %w: tensor<8x16xf16>) -> tensor<4x16xf32> attributes {sinter.entry} {
      %0 = sinter.matmul %x, %w : (tensor<4x8xf16>, tensor<8x16xf16>) -> tensor<4x16xf32>
      return %0 : tensor<4x16xf32>
    }
    // =>
    error: expected operands of f32, bf16 or i8 after Precision
    ```
  }];
}

#endif // SINTER_PRECISION_PASSES
