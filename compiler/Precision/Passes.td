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

    With f16 the operands are rounded to f16 and widened again: processors multiply it in f32. A
    GPU multiplies f16 as it is, and with 16 bits an attention's queries, keys, values and the
    gradient of its result have the compute type there, too.

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

def VerifyPrecisionPass : Pass<"sinter-verify-precision", "mlir::ModuleOp"> {
  let summary = "verifies what holds after the Precision phase";
  let description = [{
    After it every matmul of an entry multiplies f32 or bf16, for a GPU f16, too, and gives f32, as
    row reductions and attentions do.

    ```mlir
    func.func @decode(%x: tensor<4x8xf16>, %w: tensor<8x16xf16>) -> tensor<4x16xf32> attributes {sinter.entry} {
      %0 = sinter.matmul %x, %w : (tensor<4x8xf16>, tensor<8x16xf16>) -> tensor<4x16xf32>
      return %0 : tensor<4x16xf32>
    }
    // =>
    error: expected operands of f32 or bf16 after Precision
    ```
  }];
}

#endif // SINTER_PRECISION_PASSES
