//===- Passes.td - Kernels to machine code ------------------*- tablegen -*-===//
#ifndef SINTER_CODEGEN_CPU_PASSES
#define SINTER_CODEGEN_CPU_PASSES

include "mlir/Pass/PassBase.td"

def LowerKernelsPass : Pass<"sinter-lower-kernels", "mlir::ModuleOp"> {
  let summary = "outlined kernels become loops over memory";
  let description = [{
    After it: for every kernel the module `@kernels` holds a function of the same name over flat
    memrefs, one an operand and one a result (storage elements, in the order of the operands and the
    results), that runs the work items `[begin, end)`. The kernel itself keeps its tensor ops and says
    in `sinter.grid` how many work items there are. Pointers are `llvm.noalias`, except of a result
    and an operand in whose place it is or may be put.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cpu:x86-64-v4 --sinter-lower-kernels
    func.func private @k(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {sinter.kernel = "rows"} {
      %0 = sinter.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
    // =>
    func.func private @k(%x: tensor<4x8xf32>) -> tensor<4x8xf32>
        attributes {sinter.grid = 4 : i64, sinter.kernel = "rows"} {
      %0 = sinter.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
    module @kernels ... {
      func.func @k(%x: memref<32xf32>, %y: memref<32xf32>, %begin: index, %end: index) {
        %c1 = arith.constant 1 : index
        scf.for %item = %begin to %end step %c1 {
          ...
          scf.for %i = %c0 to %c8 step ... {
            %0 = affine.apply affine_map<(d0, d1) -> (d0 * 8 + d1)>(%item, %i)
            %1 = memref.load %x[%0] : memref<32xf32>
            %zero = arith.constant 0.000000e+00 : f32
            %2 = arith.maximumf %1, %zero : f32
            ...
          }
        }
        return
      }
    }
    ```
  }];
  let dependentDialects = ["mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::func::FuncDialect", "mlir::LLVM::LLVMDialect", "mlir::math::MathDialect",
    "mlir::memref::MemRefDialect", "mlir::scf::SCFDialect", "mlir::vector::VectorDialect"];
}

def TileTransposesPass : Pass<"sinter-tile-transposes", "mlir::ModuleOp"> {
  let summary = "columns are loaded as rows of squares";
  let description = [{
    After it: where a rows kernel stores rows of what it loads columns of, it works on squares, as
    many rows as a vector has elements and as many columns. Rows of a square are loaded, turned in
    registers and kept on the stack, so that the loop over a row's columns has them side by side.
    Column by column, every line would be fetched once for each of its elements, since columns of a
    matrix whose rows are a power of two apart share a few places of the caches. A work item
    becomes as many rows, of which `sinter.grid` then counts the items: threads that claim some of
    them get whole squares, and where items were rows of several matrices no square has rows of two.
    What is left of the columns and of the last rows stays as it was.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cpu:x86-64-v3 --sinter-tile-transposes
    module {
    func.func private @k(tensor<16x32xf32>) -> tensor<32x16xf32>
        attributes {sinter.grid = 32 : i64, sinter.kernel = "rows"}
    module @kernels {
      func.func @k(%x: memref<512xf32>, %y: memref<512xf32>, %begin: index, %end: index) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c16 = arith.constant 16 : index
        scf.for %item = %begin to %end step %c1 {
          scf.for %i = %c0 to %c16 step %c1 {
            %0 = affine.apply affine_map<(d0, d1) -> (d1 * 32 + d0)>(%item, %i)
            %1 = memref.load %x[%0] : memref<512xf32>
            %2 = affine.apply affine_map<(d0, d1) -> (d0 * 16 + d1)>(%item, %i)
            memref.store %1, %y[%2] : memref<512xf32>
          }
        }
        return
      }
    }
    }
    // =>
    func.func private @k(tensor<16x32xf32>) -> tensor<32x16xf32>
        attributes {sinter.grid = 4 : i64, sinter.kernel = "rows"}
    ...
    scf.for %item = %first to %last step %eight {
      ...
      scf.for %i = %left to %right step %eights {
        %0 = affine.apply affine_map<(d0, d1) -> (d1 * 32 + d0)>(%item, %i)
        %1 = vector.load %x[%0] : memref<512xf32>, vector<8xf32>
        ...
        vector.store %2, %square[%at] : memref<64xf32>, vector<8xf32>
        ...
        scf.for %row = %firstRow to %rows step %one {
          ...
          scf.for %column = %firstColumn to %columns step %ones {
            ...
            %3 = memref.load %square[%place] : memref<64xf32>
            ...
            memref.store %3, %y[%to] : memref<512xf32>
          }
        }
      }
    }
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::memref::MemRefDialect",
    "mlir::scf::SCFDialect", "mlir::vector::VectorDialect"];
}

def VectorizeLoopsPass : Pass<"sinter-vectorize-loops", "mlir::ModuleOp"> {
  let summary = "innermost loops of rows kernels in vectors";
  let description = [{
    After it: an innermost loop with constant bounds whose memory accesses are linear in its
    counter, and which carries nothing but sums and maxima, works on vectors of the target's
    width: several partial sums at a time (combined in a fixed order, so that results do not
    depend on anything but the extent), and the last elements of a row in one vector with the
    lanes beyond them switched off. Elements whose distances within a vector are the same in every
    vector are loaded as one vector or two and shuffled where they lie near, as both of a pair or
    those of two rows in turn, else lane by lane; stores with a stride are made lane by lane. What
    is computed with the counter, as whether it is odd, takes a vector of its values. A remark says
    what was chosen, or why a loop stays as it is.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cpu:x86-64-v3 --sinter-vectorize-loops
    module {
    module @kernels {
      func.func @k(%x: memref<20xf32>, %y: memref<20xf32>, %begin: index, %end: index) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c20 = arith.constant 20 : index
        scf.for %i = %c0 to %c20 step %c1 {
          %0 = memref.load %x[%i] : memref<20xf32>
          %1 = arith.negf %0 : f32
          memref.store %1, %y[%i] : memref<20xf32>
        }
        return
      }
    }
    }
    // =>
    scf.for %i = %zero to %c16 step %c8 {
      %0 = vector.load %x[%i] : memref<20xf32>, vector<8xf32>
      %1 = arith.negf %0 : vector<8xf32>
      vector.store %1, %y[%i] : memref<20xf32>, vector<8xf32>
    }
    %mask = arith.constant dense<[true, true, true, true, false, false, false, false]> : vector<8xi1>
    ...
    %2 = vector.maskedload %x[%at], %mask, %zeros : memref<20xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
    %3 = arith.negf %2 : vector<8xf32>
    vector.maskedstore %y[%at], %mask, %3 : memref<20xf32>, vector<8xi1>, vector<8xf32>
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::scf::SCFDialect",
    "mlir::vector::VectorDialect"];
}

def UnrollLoopsPass : Pass<"sinter-unroll-loops", "mlir::ModuleOp"> {
  let summary = "several vectors a step";
  let description = [{
    After it: an innermost loop over vectors does as many steps at once as the target's registers
    hold, if that divides the number of its steps: a step's latency hides behind the others' and
    the counter costs less. Loops with sums have their accumulators from VectorizeLoops. A remark
    says the factor, or why there is none.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cpu:x86-64-v3 --sinter-unroll-loops
    module {
    module @kernels {
      func.func @k(%x: memref<16xf32>, %y: memref<16xf32>, %begin: index, %end: index) {
        %c0 = arith.constant 0 : index
        %c8 = arith.constant 8 : index
        %c16 = arith.constant 16 : index
        scf.for %i = %c0 to %c16 step %c8 {
          %0 = vector.load %x[%i] : memref<16xf32>, vector<8xf32>
          %1 = arith.negf %0 : vector<8xf32>
          vector.store %1, %y[%i] : memref<16xf32>, vector<8xf32>
        }
        return
      }
    }
    }
    // =>
    %0 = vector.load %x[%c0] : memref<16xf32>, vector<8xf32>
    %1 = arith.negf %0 : vector<8xf32>
    vector.store %1, %y[%c0] : memref<16xf32>, vector<8xf32>
    %c1 = arith.constant 1 : index
    %2 = arith.muli %c8, %c1 : index
    %3 = arith.addi %c0, %2 : index
    %4 = vector.load %x[%3] : memref<16xf32>, vector<8xf32>
    %5 = arith.negf %4 : vector<8xf32>
    vector.store %5, %y[%3] : memref<16xf32>, vector<8xf32>
    ...
    ```
  }];
  let dependentDialects = ["mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::scf::SCFDialect"];
}

def ExpandMathPass : Pass<"sinter-expand-math", "mlir::ModuleOp"> {
  let summary = "functions become polynomials";
  let description = [{
    After it: the kernels hold no op of the `math` dialect that would be a call of a library, on
    scalars or vectors of f32: exp, tanh, erf and their like are written out, with a relative
    error of a few units in the last place. A row's main loop and its tail compute the same
    formula, so that an element's bits do not depend on where in a row it stands. f64 has no such
    formulas: a function of it is an error.

    exp(x) is 2^n * e^r with n = round(x / ln 2) and e^r a polynomial (the Cephes library's);
    exp2(x) is 2^n * 2^f with n = round(x), which is added to the exponent of a polynomial.

    ```mlir
    module {
    module @kernels {
      func.func @k(%x: vector<8xf32>) -> vector<8xf32> {
        %0 = math.exp %x : vector<8xf32>
        return %0 : vector<8xf32>
      }
    }
    }
    // =>
    %log2e = arith.constant dense<1.44269502> : vector<8xf32>
    ...
    %0 = math.fma %bounded, %log2e, %magic : vector<8xf32>
    %n = arith.subf %0, %magic : vector<8xf32>
    ...
    return %y : vector<8xf32>
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::math::MathDialect",
    "mlir::vector::VectorDialect"];
}

def LowerKernelsToLLVMPass : Pass<"sinter-lower-kernels-to-llvm", "mlir::ModuleOp"> {
  let summary = "loop kernels to the LLVM dialect, with the runtime's calling convention";
  let description = [{
    After it: every kernel in the module `@kernels` is the function that the runtime calls,
    `void @<kernel>(ptr slices, i64 begin, i64 end)` of hidden visibility, and loads where its slices
    are. Only ops of the LLVM dialect are left in it. Floating-point arithmetic is never
    reordered nor contracted (`a * b + c` rounded once): every operation rounds, so that a value is the
    same bits whatever it is fused with.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cpu:x86-64-v3 --sinter-lower-kernels-to-llvm
    module {
    module @kernels {
      func.func @k(%x: memref<64xf32>, %begin: index, %end: index) {
        %c1 = arith.constant 1 : index
        scf.for %i = %begin to %end step %c1 {
          %0 = memref.load %x[%i] : memref<64xf32>
          %1 = arith.mulf %0, %0 : f32
          memref.store %1, %x[%i] : memref<64xf32>
        }
        return
      }
    }
    }
    // =>
    llvm.func hidden @k(%slices: !llvm.ptr, %begin: i64, %end: i64) {
      %0 = llvm.getelementptr %slices[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
      %1 = llvm.load %0 : !llvm.ptr -> !llvm.ptr
      ...
    }
    ```
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::arith::ArithDialect",
    "mlir::cf::ControlFlowDialect", "mlir::memref::MemRefDialect", "mlir::scf::SCFDialect",
    "mlir::vector::VectorDialect"];
}

def VerifyCodegenPass : Pass<"sinter-verify-codegen", "mlir::ModuleOp"> {
  let summary = "verifies what holds after the Codegen phase";
  let description = [{
    After it: every kernel says in `sinter.grid` how many work items it has, and the module
    `@kernels` holds a function of its name with the runtime's calling convention. That module is
    of the LLVM dialect alone and calls nothing outside of itself: there is no library to link with.

    ```mlir
    module @kernels {
      llvm.func @exp(f32) -> f32
      llvm.func @k(%slices: !llvm.ptr, %begin: i64, %end: i64) {
        %0 = llvm.mlir.constant(1.0 : f32) : f32
        %1 = llvm.call @exp(%0) : (f32) -> f32
        llvm.return
      }
    }
    func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32>
        attributes {sinter.grid = 4 : i64, sinter.kernel = "rows"} {
      %0 = sinter.exp %x : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    // =>
    error: expected kernels to call nothing outside of them after Codegen
    ```
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

#endif // SINTER_CODEGEN_CPU_PASSES
