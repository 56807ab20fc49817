//===- Passes.td - What becomes one kernel ------------------*- tablegen -*-===//
#ifndef SINTER_FUSION_PASSES
#define SINTER_FUSION_PASSES

include "mlir/Pass/PassBase.td"

def FormFusionsPass : Pass<"sinter-form-fusions", "mlir::ModuleOp"> {
  let summary = "merges ops into kernels where the cost model says that it pays";
  let description = [{
    After it no two kernels of an entry could be one, by the rules of the code generators, that the
    cost model predicts to be faster together. Producers are merged with their consumers, the
    largest gain first, then kernels that read the same value; ops that only move elements are
    repeated for each user first. The family of the op that a kernel is made around, or that
    of rows, says whether a set of them can be one (compiler/Analysis/KernelFamily.h).

    Each fusion formed leaves a remark `Fused`, each pair of kernels that stays apart a remark
    `NotFused`, with the time predicted for both sides and, for the latter, the reason.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cpu:x86-64-v4 --sinter-form-fusions
    func.func @decode(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %w: tensor<8xf32>)
        -> (tensor<4x8xf32>, tensor<4x8xf32>) attributes {sinter.entry} {
      %0 = sinter.add %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
      %1 = sinter.rms_norm %0, %w {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
      return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
    }
    // =>
    func.func @decode(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %w: tensor<8xf32>)
        -> (tensor<4x8xf32>, tensor<4x8xf32>) attributes {sinter.entry} {
      %0:2 = sinter.fusion rows(%x, %y, %w : tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>)
          -> (tensor<4x8xf32>, tensor<4x8xf32>) {
      ^bb0(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<8xf32>):
        %1 = sinter.add %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
        %2 = sinter.rms_norm %1, %c {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
        sinter.yield %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
      }
      return %0#0, %0#1 : tensor<4x8xf32>, tensor<4x8xf32>
    }
    ```
  }];
}

def IsolateOpsPass : Pass<"sinter-isolate-ops", "mlir::ModuleOp"> {
  let summary = "makes a kernel of each op that is in none";
  let description = [{
    After it an entry holds only fusions, reshapes of dense tensors (the same memory under another
    type) and constants that are not one value everywhere; a constant that is one is inside of the
    fusions that use it.

    ```mlir
    func.func @decode(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.entry} {
      %0 = sinter.relu %x : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    // =>
    func.func @decode(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.entry} {
      %0 = sinter.fusion rows(%x : tensor<8xf32>) -> (tensor<8xf32>) {
      ^bb0(%a: tensor<8xf32>):
        %1 = sinter.relu %a : (tensor<8xf32>) -> tensor<8xf32>
        sinter.yield %1 : tensor<8xf32>
      }
      return %0 : tensor<8xf32>
    }
    ```
  }];
}

def AbsorbNormsPass : Pass<"sinter-absorb-norms", "mlir::ModuleOp"> {
  let summary = "GEMVs compute the norm of their rows themselves, on a GPU";
  let description = [{
    After it, on a GPU, no fusion only normalizes rows for GEMVs where the cost model
    predicts that it is faster if each of the products' blocks does that for itself: the rows are
    few and in the shared cache, and there is one kernel less to start. A remark `NormAbsorbed` gives
    both times, or says that others than products use the rows.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cuda:sm_90 --sinter-absorb-norms
    func.func @decode(%x: tensor<1x8xf32>, %g: tensor<8xf32>, %w: tensor<4x8xf32>) -> tensor<1x4xf32>
        attributes {sinter.entry} {
      %0 = sinter.fusion rows(%x, %g : tensor<1x8xf32>, tensor<8xf32>) -> (tensor<1x8xf32>) {
      ^bb0(%a: tensor<1x8xf32>, %b: tensor<8xf32>):
        %2 = sinter.rms_norm %a, %b {eps = 1.0e-5} : (tensor<1x8xf32>, tensor<8xf32>) -> tensor<1x8xf32>
        sinter.yield %2 : tensor<1x8xf32>
      }
      %1 = sinter.fusion gemm(%0, %w : tensor<1x8xf32>, tensor<4x8xf32>) -> (tensor<1x4xf32>) {
      ^bb0(%a: tensor<1x8xf32>, %b: tensor<4x8xf32>):
        %2 = sinter.matmul %a, %b {transpose_rhs} : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<1x4xf32>
        sinter.yield %2 : tensor<1x4xf32>
      }
      return %1 : tensor<1x4xf32>
    }
    // =>
    func.func @decode(%x: tensor<1x8xf32>, %g: tensor<8xf32>, %w: tensor<4x8xf32>) -> tensor<1x4xf32>
        attributes {sinter.entry} {
      %0 = sinter.fusion gemm(%x, %g, %w : tensor<1x8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> (tensor<1x4xf32>) {
      ^bb0(%a: tensor<1x8xf32>, %b: tensor<8xf32>, %c: tensor<4x8xf32>):
        %1 = sinter.rms_norm %a, %b {eps = 1.0e-5} : (tensor<1x8xf32>, tensor<8xf32>) -> tensor<1x8xf32>
        %2 = sinter.matmul %1, %c {transpose_rhs} : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<1x4xf32>
        sinter.yield %2 : tensor<1x4xf32>
      }
      return %0 : tensor<1x4xf32>
    }
    ```
  }];
}

def AbsorbHeadsPass : Pass<"sinter-absorb-heads", "mlir::ModuleOp"> {
  let summary = "GEMVs rotate and append the heads that they compute, on a GPU";
  let description = [{
    After it, on a GPU, queries, keys and values that a GEMV computes side by side are
    rotated, rounded and appended to their caches by that product's kernel, where they are used for
    nothing else and the cost model predicts that it is faster. A remark `HeadsAbsorbed` gives both
    times.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cuda:sm_90 --sinter-absorb-heads
    !cache = tensor<1x16x1x8xf32>
    !head = tensor<1x1x1x8xf32>
    !slots = tensor<1xi32>
    func.func @decode(%x: tensor<1x1x32xf32>, %w: tensor<32x16xf32>, %start: !slots, %keys: !cache, %values: !cache,
                      %count: !slots) -> (!cache, !cache) attributes {sinter.entry} {
      %0 = sinter.fusion gemm(%x, %w : tensor<1x1x32xf32>, tensor<32x16xf32>) -> (tensor<1x1x16xf32>) {
      ^bb0(%a: tensor<1x1x32xf32>, %b: tensor<32x16xf32>):
        %2 = sinter.matmul %a, %b : (tensor<1x1x32xf32>, tensor<32x16xf32>) -> tensor<1x1x16xf32>
        sinter.yield %2 : tensor<1x1x16xf32>
      }
      %1:2 = sinter.fusion rows(%0, %start, %keys, %values, %count : tensor<1x1x16xf32>, !slots, !cache, !cache, !slots)
          -> (!cache, !cache) {
      ^bb0(%a: tensor<1x1x16xf32>, %s: !slots, %k: !cache, %v: !cache, %n: !slots):
        %2 = sinter.slice %a {offsets = array<i64: 0, 0, 0>} : (tensor<1x1x16xf32>) -> tensor<1x1x8xf32>
        %3 = sinter.reshape %2 : (tensor<1x1x8xf32>) -> !head
        %4 = sinter.cache_append %k, %3, %s, %n : (!cache, !head, !slots, !slots) -> !cache
        %5 = sinter.slice %a {offsets = array<i64: 0, 0, 8>} : (tensor<1x1x16xf32>) -> tensor<1x1x8xf32>
        %6 = sinter.reshape %5 : (tensor<1x1x8xf32>) -> !head
        %7 = sinter.cache_append %v, %6, %s, %n : (!cache, !head, !slots, !slots) -> !cache
        sinter.yield %4, %7 : !cache, !cache
      }
      return %1#0, %1#1 : !cache, !cache
    }
    // =>
    func.func @decode(...) -> (!cache, !cache) attributes {sinter.entry} {
      %0:2 = sinter.fusion gemm(...) -> (!cache, !cache) {
      ^bb0(...):
        %1 = sinter.matmul %a, %b : (tensor<1x1x32xf32>, tensor<32x16xf32>) -> tensor<1x1x16xf32>
        %2 = sinter.slice %1 {offsets = array<i64: 0, 0, 0>} : (tensor<1x1x16xf32>) -> tensor<1x1x8xf32>
        %3 = sinter.reshape %2 : (tensor<1x1x8xf32>) -> !head
        %4 = sinter.cache_append %k, %3, %s, %n : (!cache, !head, !slots, !slots) -> !cache
        %5 = sinter.slice %1 {offsets = array<i64: 0, 0, 8>} : (tensor<1x1x16xf32>) -> tensor<1x1x8xf32>
        %6 = sinter.reshape %5 : (tensor<1x1x8xf32>) -> !head
        %7 = sinter.cache_append %v, %6, %s, %n : (!cache, !head, !slots, !slots) -> !cache
        sinter.yield %4, %7 : !cache, !cache
      }
      return %0#0, %0#1 : !cache, !cache
    }
    ```
  }];
}

def SelectLibraryGemmPass : Pass<"sinter-select-library-gemm", "mlir::ModuleOp"> {
  let summary = "leaves products to a GPU's library where it is faster";
  let description = [{
    After it, for a GPU, a fusion of the family `gemm` that the library can do, epilogue included, and that the cost
    model predicts to be faster there, is of the family `library_gemm`. Few rows are memory traffic,
    where a generated kernel starts sooner; many rows are arithmetic, where the library is nearer to
    the peak. A remark `LibraryGemm` gives both times. For a processor every
    product stays a kernel.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cuda:sm_90 --sinter-select-library-gemm
    func.func @prefill(%x: tensor<512x768xbf16>, %w: tensor<768x768xbf16>) -> tensor<512x768xf32>
        attributes {sinter.entry} {
      %0 = sinter.fusion gemm(%x, %w : tensor<512x768xbf16>, tensor<768x768xbf16>) -> (tensor<512x768xf32>) {
      ^bb0(%a: tensor<512x768xbf16>, %b: tensor<768x768xbf16>):
        %1 = sinter.matmul %a, %b : (tensor<512x768xbf16>, tensor<768x768xbf16>) -> tensor<512x768xf32>
        sinter.yield %1 : tensor<512x768xf32>
      }
      return %0 : tensor<512x768xf32>
    }
    // =>
    func.func @prefill(%x: tensor<512x768xbf16>, %w: tensor<768x768xbf16>) -> tensor<512x768xf32>
        attributes {sinter.entry} {
      %0 = sinter.fusion library_gemm(%x, %w : tensor<512x768xbf16>, tensor<768x768xbf16>) -> (tensor<512x768xf32>) {
      ^bb0(%a: tensor<512x768xbf16>, %b: tensor<768x768xbf16>):
        %1 = sinter.matmul %a, %b : (tensor<512x768xbf16>, tensor<768x768xbf16>) -> tensor<512x768xf32>
        sinter.yield %1 : tensor<512x768xf32>
      }
      return %0 : tensor<512x768xf32>
    }
    ```
  }];
}

def SplitAttentionGradPass : Pass<"sinter-split-attention-grad", "mlir::ModuleOp"> {
  let summary = "queries' gradients of attention in a kernel of their own, for a GPU";
  let description = [{
    After it, for a GPU, no fusion yields both the gradient of an attention's queries
    and one of its keys or values: what adds up over keys and what adds up over queries are kernels
    of their own there, in which every sum is one block's and its order fixed. The weights are
    computed in both.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cuda:sm_90 --sinter-split-attention-grad
    !rows = tensor<1x4x2x8xf32>
    !sums = tensor<1x4x2xf32>
    func.func @train(%q: !rows, %k: !rows, %g: !rows, %l: !sums) -> (!rows, !rows, !rows) attributes {sinter.entry} {
      %0:3 = sinter.fusion attention_grad(%q, %k, %g, %l : !rows, !rows, !rows, !sums) -> (!rows, !rows, !rows) {
      ^bb0(%a: !rows, %b: !rows, %c: !rows, %d: !sums):
        %1:3 = sinter.attention_grad %a, %b, %b, %c, %d, %d
          {scale = 1.0, causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
          : (!rows, !rows, !rows, !rows, !sums, !sums) -> (!rows, !rows, !rows)
        sinter.yield %1#0, %1#1, %1#2 : !rows, !rows, !rows
      }
      return %0#0, %0#1, %0#2 : !rows, !rows, !rows
    }
    // =>
    %0 = sinter.fusion attention_grad(%q, %k, %g, %l : !rows, !rows, !rows, !sums) -> (!rows) {
    ^bb0(%a: !rows, %b: !rows, %c: !rows, %d: !sums):
      %dq, %dk, %dv = sinter.attention_grad ...
      sinter.yield %dq : !rows
    }
    %1:2 = sinter.fusion attention_grad(%q, %k, %g, %l : !rows, !rows, !rows, !sums) -> (!rows, !rows) {
    ^bb0(...):
      %dq, %dk, %dv = sinter.attention_grad ...
      sinter.yield %dk, %dv : !rows, !rows
    }
    return %0, %1#0, %1#1 : !rows, !rows, !rows
    ```
  }];
}

def OutlineKernelsPass : Pass<"sinter-outline-kernels", "mlir::ModuleOp"> {
  let summary = "makes functions of fusions, equal ones the same";
  let description = [{
    After it a fusion, unless its family is a command of the plan (`library_gemm`, `pack`), is a
    `sinter.call_kernel` of a private function with its body and its family as `sinter.kernel`. Equal
    bodies are one function, however many layers call it; ops stand in it in the order in which its
    results ask for them.

    ```mlir
    func.func @decode(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.entry} {
      %0 = sinter.fusion rows(%x : tensor<8xf32>) -> (tensor<8xf32>) {
      ^bb0(%a: tensor<8xf32>):
        %1 = sinter.relu %a : (tensor<8xf32>) -> tensor<8xf32>
        sinter.yield %1 : tensor<8xf32>
      }
      return %0 : tensor<8xf32>
    }
    // =>
    func.func @decode(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.entry} {
      %0 = sinter.call_kernel @relu(%x) : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    func.func private @relu(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.kernel = "rows"} {
      %0 = sinter.relu %x : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = ["mlir::func::FuncDialect"];
}

def VerifyFusionPass : Pass<"sinter-verify-fusion", "mlir::ModuleOp"> {
  let summary = "verifies what holds after the Fusion phase";
  let description = [{
    After it an entry holds only calls of kernels, collectives, fusions of families that are commands
    of the plan (`library_gemm`, `pack`), reshapes of dense tensors, constants and `return`; and every
    kernel is of rows, or of a family with the one op that it is made around: one product in each
    gemm, one attention in each attention.

    ```mlir
    func.func @decode(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.entry} {
      %0 = sinter.relu %x : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    // =>
    error: expected only kernels, collectives, fusions that are commands, reshapes and constants in an entry
    ```
  }];
}

#endif // SINTER_FUSION_PASSES
