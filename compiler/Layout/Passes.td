//===- Passes.td - How values lie in memory -----------------*- tablegen -*-===//
#ifndef SINTER_LAYOUT_PASSES
#define SINTER_LAYOUT_PASSES

include "mlir/Pass/PassBase.td"

def TransposeWeightsPass : Pass<"sinter-transpose-weights", "mlir::ModuleOp"> {
  let summary = "weights lie as GEMVs read them best, on a GPU";
  let description = [{
    After it, on a GPU, the right-hand side of a matmul that is a parameter, or a part of one, is
    stored `[n, k]`: a warp of a GEMV then computes whole sums, and there are 2 to 16
    times as many blocks (gemv.cuh). Larger products are the library's, which takes either. The
    transposition is preprocessed once, with the rounding. Parameters that a step changes (states) stay
    as they are. Integers are stored so with their scales and minima, whatever they are.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cuda:sm_90 --sinter-transpose-weights
    func.func @decode(%x: tensor<1x8xf32> {sinter.input = "x"}, %w: tensor<8x16xf32> {sinter.parameter = "w"})
        -> tensor<1x16xf32> attributes {sinter.entry} {
      %0 = sinter.matmul %x, %w : (tensor<1x8xf32>, tensor<8x16xf32>) -> tensor<1x16xf32>
      return %0 : tensor<1x16xf32>
    }
    // =>
    func.func @decode(%x: tensor<1x8xf32> {sinter.input = "x"}, %w: tensor<8x16xf32> {sinter.parameter = "w"})
        -> tensor<1x16xf32> attributes {sinter.entry} {
      %0 = sinter.transpose %w {permutation = array<i64: 1, 0>} : (tensor<8x16xf32>) -> tensor<16x8xf32>
      %1 = sinter.matmul %x, %0 {transpose_rhs} : (tensor<1x8xf32>, tensor<16x8xf32>) -> tensor<1x16xf32>
      return %1 : tensor<1x16xf32>
    }
    ```
  }];
}

def AlignProductsPass : Pass<"sinter-align-products", "mlir::ModuleOp"> {
  let summary = "pads products on a GPU whose rows in memory are not aligned";
  let description = [{
    A GPU's products are fastest where each row of their matrices starts at a multiple of what a
    thread moves at once (16 bytes). Where one does not, as with a vocabulary of 50257, zeros are put
    behind the operands' extents, and the result is the part of the padded one in front, if the cost
    model says that the copies pay; of weights they are made where they are cast anyway. Parts that
    are added up are added up whole, so that a product can still add to a sum. GEMVs,
    which own kernels compute, stay as they are, and so do products by integers and all on a processor.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cuda:sm_90 --sinter-align-products=always
    func.func @prefill(%x: tensor<64x8xbf16>, %w: tensor<13x8xbf16>) -> tensor<64x13xf32> attributes {sinter.entry} {
      %0 = sinter.matmul %x, %w {transpose_rhs} : (tensor<64x8xbf16>, tensor<13x8xbf16>) -> tensor<64x13xf32>
      return %0 : tensor<64x13xf32>
    }
    // =>
    func.func @prefill(%x: tensor<64x8xbf16>, %w: tensor<13x8xbf16>) -> tensor<64x13xf32> attributes {sinter.entry} {
      %0 = sinter.constant dense<0.0> : tensor<3x8xbf16>
      %1 = sinter.concat %w, %0 {dim = 0 : i64} : (tensor<13x8xbf16>, tensor<3x8xbf16>) -> tensor<16x8xbf16>
      %2 = sinter.matmul %x, %1 {transpose_rhs} : (tensor<64x8xbf16>, tensor<16x8xbf16>) -> tensor<64x16xf32>
      %3 = sinter.slice %2 {offsets = array<i64: 0, 0>} : (tensor<64x16xf32>) -> tensor<64x13xf32>
      return %3 : tensor<64x13xf32>
    }
    ```
  }];
  let options = [
    Option<"always", "always", "bool", "false",
           "Also where the copies cost more than they save">];
}

def PackWeightsPass : Pass<"sinter-pack-weights", "mlir::ModuleOp"> {
  let summary = "puts the operands of matmuls into panels";
  let description = [{
    After it the right-hand side of each matmul of an entry is `[k, n]` in `#sinter.panels`, the
    result of a `sinter.pack` beside the matmul, and no matmul transposes it: a transposed weight
    goes through `sinter.transpose` first. Panels are as wide as the target's kernels want them (32
    columns with AVX-512, 16 with AVX2); f32 pads k to 16, 16-bit types interleave pairs of rows and
    pad k to 32.

    A transposed left-hand side, `[k, m]`, of a 16-bit type is in such panels too: products read
    pairs of it along k. One of f32 stays as it is, its rows are read a few columns at a time.

    A large f32 state that a product multiplies with few rows stays as it is, transposed or not: its
    kernel copies it to panels as it goes, so that the step does not hold a second one.

    For a GPU everything stays as it is, but rows of integers of four bits, which are one panel, two
    a byte: its products read plain matrices.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cpu:x86-64-v4 --sinter-pack-weights
    func.func @decode(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> attributes {sinter.entry} {
      %0 = sinter.matmul %x, %w {transpose_rhs} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
      return %0 : tensor<4x16xf32>
    }
    // =>
    #panels = #sinter.panels<width = 32, interleave = 1, depth = 16>
    func.func @decode(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> attributes {sinter.entry} {
      %0 = sinter.transpose %w {permutation = array<i64: 1, 0>} : (tensor<16x8xf32>) -> tensor<8x16xf32>
      %1 = sinter.pack %0 : (tensor<8x16xf32>) -> tensor<8x16xf32, #panels>
      %2 = sinter.matmul %x, %1 : (tensor<4x8xf32>, tensor<8x16xf32, #panels>) -> tensor<4x16xf32>
      return %2 : tensor<4x16xf32>
    }
    ```
  }];
}

def PackCachesPass : Pass<"sinter-pack-caches", "mlir::ModuleOp"> {
  let summary = "lays KV caches out for the attention that reads them";
  let description = [{
    After it a state that is appended to and read as an attention's keys, or as its values, or as the
    scales of either, has the layout that the target's attention kernels want
    (Analysis/KernelLayouts.h: `#sinter.key_panels` and `#sinter.head_major`): arguments,
    results and the ops in between. A state that some entry uses otherwise, or as both, stays dense in
    all of them: the entries share its memory. For a GPU all stay dense.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cpu:x86-64-v4 --sinter-pack-caches
    !cache = tensor<1x32x2x8xf32>
    !rows = tensor<1x4x2x8xf32>
    !slots = tensor<1xi32>
    func.func @decode(%q: !rows {sinter.input = "q"}, %r: !rows {sinter.input = "r"},
                      %start: !slots {sinter.input = "s"}, %count: !slots {sinter.input = "n"},
                      %k: !cache {sinter.state = "k", sinter.donated = 1 : i64},
                      %v: !cache {sinter.state = "v", sinter.donated = 2 : i64})
        -> (!rows {sinter.output = "y"}, !cache {sinter.state = "k"}, !cache {sinter.state = "v"})
        attributes {sinter.entry} {
      %0 = sinter.cache_append %k, %r, %start, %count : (!cache, !rows, !slots, !slots) -> !cache
      %1 = sinter.cache_append %v, %r, %start, %count : (!cache, !rows, !slots, !slots) -> !cache
      %2 = sinter.attention %q, %0, %1, %start
        {causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>, scale = 0.5}
        : (!rows, !cache, !cache, !slots) -> !rows
      return %2, %0, %1 : !rows, !cache, !cache
    }
    // =>
    #keys = #sinter.key_panels<width = 16, interleave = 1>
    #values = #sinter.head_major
    !keys = tensor<1x32x2x8xf32, #keys>
    !values = tensor<1x32x2x8xf32, #values>
    func.func @decode(%q: !rows {sinter.input = "q"}, %r: !rows {sinter.input = "r"},
                      %start: !slots {sinter.input = "s"}, %count: !slots {sinter.input = "n"},
                      %k: !keys {sinter.state = "k", sinter.donated = 1 : i64},
                      %v: !values {sinter.state = "v", sinter.donated = 2 : i64})
        -> (!rows {sinter.output = "y"}, !keys {sinter.state = "k"}, !values {sinter.state = "v"})
        attributes {sinter.entry} {
      %0 = sinter.cache_append %k, %r, %start, %count : (!keys, !rows, !slots, !slots) -> !keys
      %1 = sinter.cache_append %v, %r, %start, %count : (!values, !rows, !slots, !slots) -> !values
      %2 = sinter.attention %q, %0, %1, %start
        {causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>, scale = 0.5}
        : (!rows, !keys, !values, !slots) -> !rows
      return %2, %0, %1 : !rows, !keys, !values
    }
    ```
  }];
}

def ShareTablesPass : Pass<"sinter-share-tables", "mlir::ModuleOp"> {
  let summary = "lookups read a table in the panels that a product has of it";
  let description = [{
    A model whose output product has the embedding's table needs it in panels. After this pass the
    lookup of such a parameter reads these panels, transposed, so that nothing reads the parameter
    as it is and it is held once: of GPT-2 124M in f32, 154 MB less.

    A lookup moves the same numbers, so results are the same bits. Where the product has them
    rounded (a table of f32 in bf16) or something else reads the parameter, both are held, and a
    remark says so. Panels of a bf16 table that are f32 give the numbers that the lookup's result is
    widened to. What a training step holds is a state, not a parameter, and stays as it is, and so
    does everything for a GPU, where there are no panels.

    A row that was contiguous lies in panels in words of 32 bits, each in a cache line of its own:
    768 lines or 49 KB a token of GPT-2 in f32, instead of 3 KB. A kernel reads a line once (it
    keeps a row that it needs again), so at 50 GB/s the floor is 0.5 ms for 512 tokens. Measured on
    two cores of a Zen 5 server, a prefill of these took 0.5 ms longer of 225 in f32 and 0.3 of 112
    in bf16, a decoded token 2 to 4 us of 13 ms in f32 and less than 1 of 6 in bf16.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cpu:x86-64-v4 --sinter-share-tables
    #panels = #sinter.panels<width = 64, interleave = 1, depth = 16>
    func.func @decode(%ids: tensor<4xi32> {sinter.input = "tokens"}, %w: tensor<16x8xf32> {sinter.parameter = "wte"})
        -> tensor<4x16xf32> attributes {sinter.entry} {
      %0 = sinter.embedding %w, %ids : (tensor<16x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
      %1 = sinter.transpose %w {permutation = array<i64: 1, 0>} : (tensor<16x8xf32>) -> tensor<8x16xf32>
      %2 = sinter.pack %1 : (tensor<8x16xf32>) -> tensor<8x16xf32, #panels>
      %3 = sinter.matmul %0, %2 : (tensor<4x8xf32>, tensor<8x16xf32, #panels>) -> tensor<4x16xf32>
      return %3 : tensor<4x16xf32>
    }
    // =>
    func.func @decode(%ids: tensor<4xi32> {sinter.input = "tokens"}, %w: tensor<16x8xf32> {sinter.parameter = "wte"})
        -> tensor<4x16xf32> attributes {sinter.entry} {
      %0 = sinter.transpose %w {permutation = array<i64: 1, 0>} : (tensor<16x8xf32>) -> tensor<8x16xf32>
      %1 = sinter.pack %0 : (tensor<8x16xf32>) -> tensor<8x16xf32, #panels>
      %2 = sinter.embedding %1, %ids {transpose_table} : (tensor<8x16xf32, #panels>, tensor<4xi32>) -> tensor<4x8xf32>
      %3 = sinter.matmul %2, %1 : (tensor<4x8xf32>, tensor<8x16xf32, #panels>) -> tensor<4x16xf32>
      return %3 : tensor<4x16xf32>
    }
    ```
  }];
}

def NarrowResultsPass : Pass<"sinter-narrow-results", "mlir::ModuleOp"> {
  let summary = "keeps what a GPU's products compute in the type that they multiply";
  let description = [{
    After it, for a GPU, a product of 16-bit numbers and more than a few rows, with its bias, is
    rounded to their type where it ends, and so are attentions and their gradients: sums are in f32,
    and half of the bytes are written and read. What uses them widens them again, but for slices and
    reshapes, which move narrow numbers. A bias is rounded with its product.

    What adds to another value stays f32 until it has: residuals, sums of gradients, the gradients of
    weights. So do outputs, and all that the optimizer computes.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cuda:sm_90 --sinter-narrow-results
    func.func @train(%x: tensor<16x8xbf16>, %w: tensor<8x16xbf16>) -> tensor<16x16xf32> attributes {sinter.entry} {
      %0 = sinter.matmul %x, %w : (tensor<16x8xbf16>, tensor<8x16xbf16>) -> tensor<16x16xf32>
      %1 = sinter.silu %0 : (tensor<16x16xf32>) -> tensor<16x16xf32>
      return %1 : tensor<16x16xf32>
    }
    // =>
    func.func @train(%x: tensor<16x8xbf16>, %w: tensor<8x16xbf16>) -> tensor<16x16xf32> attributes {sinter.entry} {
      %0 = sinter.matmul %x, %w : (tensor<16x8xbf16>, tensor<8x16xbf16>) -> tensor<16x16xf32>
      %1 = sinter.cast %0 : (tensor<16x16xf32>) -> tensor<16x16xbf16>
      %2 = sinter.cast %1 : (tensor<16x16xbf16>) -> tensor<16x16xf32>
      %3 = sinter.silu %2 : (tensor<16x16xf32>) -> tensor<16x16xf32>
      return %3 : tensor<16x16xf32>
    }
    ```
  }];
}

def HoistParametersPass : Pass<"sinter-hoist-parameters", "mlir::ModuleOp"> {
  let summary = "computes once what depends on parameters alone";
  let description = [{
    After it no entry packs, concatenates or computes on parameters and constants alone: such
    values are results of the entry `@preprocess`, bound once, and arguments of the entries, under the
    same name `sinter.preprocessed`. Equal values of several entries are one. What only spreads or cuts
    a parameter (broadcast, slice, reshape) stays where it is: a kernel does that with addresses. The ranks
    at each place along a pipeline have an entry of their own, `@preprocess.0.forward` at the first one.

    ```mlir
    #panels = #sinter.panels<width = 64, interleave = 1, depth = 16>
    func.func @decode(%x: tensor<4x8xf32> {sinter.input = "x"}, %w: tensor<8x8xf32> {sinter.parameter = "w"})
        -> tensor<4x8xf32> attributes {sinter.entry} {
      %0 = sinter.pack %w : (tensor<8x8xf32>) -> tensor<8x8xf32, #panels>
      %1 = sinter.matmul %x, %0 : (tensor<4x8xf32>, tensor<8x8xf32, #panels>) -> tensor<4x8xf32>
      return %1 : tensor<4x8xf32>
    }
    // =>
    func.func @preprocess(%w: tensor<8x8xf32> {sinter.parameter = "w"})
        -> (tensor<8x8xf32, #panels> {sinter.preprocessed = "p0"}) attributes {sinter.entry} {
      %0 = sinter.pack %w : (tensor<8x8xf32>) -> tensor<8x8xf32, #panels>
      return %0 : tensor<8x8xf32, #panels>
    }
    func.func @decode(%x: tensor<4x8xf32> {sinter.input = "x"},
                     %p: tensor<8x8xf32, #panels> {sinter.preprocessed = "p0"})
        -> tensor<4x8xf32> attributes {sinter.entry} {
      %0 = sinter.matmul %x, %p : (tensor<4x8xf32>, tensor<8x8xf32, #panels>) -> tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
    ```
  }];
  let dependentDialects = ["mlir::func::FuncDialect"];
}

def VerifyLayoutPass : Pass<"sinter-verify-layout", "mlir::ModuleOp"> {
  let summary = "verifies what holds after the Layout phase";
  let description = [{
    After it every matmul of an entry multiplies by a right-hand side in panels that it does not
    transpose, or by an f32 state as it is; a transposed left-hand side of bf16 is in panels too. For
    a GPU nothing is in panels but integers of four bits, and integers are `[n, k]`.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cpu:x86-64-v4 --sinter-verify-layout
    func.func @decode(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> attributes {sinter.entry} {
      %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
      return %0 : tensor<4x16xf32>
    }
    // =>
    error: expected a right-hand side in panels, not transposed, or an f32 state as it is, after Layout
    ```
  }];
}

#endif // SINTER_LAYOUT_PASSES
