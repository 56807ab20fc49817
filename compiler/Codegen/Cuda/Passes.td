//===- Passes.td - Kernels to the code of CUDA threads ------*- tablegen -*-===//
#ifndef SINTER_CODEGEN_CUDA_PASSES
#define SINTER_CODEGEN_CUDA_PASSES

include "mlir/Pass/PassBase.td"

def SelectWarpgroupsPass : Pass<"sinter-select-warpgroups", "mlir::ModuleOp"> {
  let summary = "attention's gradients are products of warpgroups where the GPU has them";
  let description = [{
    After it: on a target of compute capability 9.0, kernels of the family `attention_grad` with keys of
    bf16 or f16 and heads of 64 or 128 are marked `sinter.warpgroups`. Their template multiplies
    matrices by instructions of four warps together (wgmma), which read shared memory themselves,
    where all operands are such that it can. A remark says so, or why not.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cuda:sm_90 --sinter-select-warpgroups
    !rows = tensor<1x128x2x64xbf16>
    !sums = tensor<1x128x2xf32>
    func.func private @grad(%q: !rows, %l: !sums) -> !rows attributes {sinter.kernel = "attention_grad"} {
      %0:3 = sinter.attention_grad %q, %q, %q, %q, %l, %l
        {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
        : (!rows, !rows, !rows, !rows, !sums, !sums) -> (!rows, !rows, !rows)
      return %0#0 : !rows
    }
    // =>
    func.func private @grad(%q: !rows, %l: !sums) -> !rows
        attributes {sinter.kernel = "attention_grad", sinter.warpgroups} {
      ...
    }
    ```
  }];
}

def LowerCudaKernelsPass : Pass<"sinter-lower-cuda-kernels", "mlir::ModuleOp"> {
  let summary = "outlined kernels become loops over memory, or instances of templates";
  let description = [{
    After it: for every kernel the module `@kernels` holds a function of the same name over flat
    memrefs (one an operand, then one a result). A rows kernel's has the loops that compute its work
    items `[begin, end)`, as on a CPU (sinter-lower-kernels), and the kernel says in `sinter.grid` how
    many there are. Others name a template (`sinter.template`) and have no body; their kernels say how
    they are launched.

    An operand that is a weight in all calls of a kernel, and so is written by none, is marked
    `sinter.constant`. A kernel of which only entries without products of the library make use (a
    decoded token) has `sinter.waits` if its code waits for the kernel before it: its launches may
    overlap with those before them.

    With `tune`, a kernel whose template has candidates for a parameter (Templates.json) gets
    kernels that are instances with them, but for those that are the same launch and those that
    waves of blocks predict to take twice as long. Their names are its `sinter.alternatives`. A
    remark says what is left to the device.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels
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
  let options = [Option<"tune", "tune", "bool", "false", "whether the device is to choose">];
  let dependentDialects = ["mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::func::FuncDialect", "mlir::LLVM::LLVMDialect", "mlir::math::MathDialect",
    "mlir::memref::MemRefDialect", "mlir::scf::SCFDialect"];
}

def SplitItemsPass : Pass<"sinter-split-items", "mlir::ModuleOp"> {
  let summary = "the rows of a work item become items where there are few";
  let description = [{
    After it: where a kernel has fewer work items than keep the target busy, and an item is nothing
    but loops over rows of its own (the heads of a query, of a key and of a value), every step of
    these loops is an item. The kernel says the new number in `sinter.grid`. A remark says so, or
    why items stay whole.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cuda:sm_90 --sinter-split-items
    func.func private @k(%x: tensor<3x32x64xf32>) -> tensor<3x32x64xf32> attributes {sinter.grid = 3 : i64}
    module @kernels {
      func.func @k(%x: memref<6144xf32> {llvm.noalias}, %y: memref<6144xf32> {llvm.noalias},
                   %begin: index, %end: index) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c32 = arith.constant 32 : index
        %c64 = arith.constant 64 : index
        scf.for %item = %begin to %end step %c1 {
          scf.for %head = %c0 to %c32 step %c1 {
            scf.for %i = %c0 to %c64 step %c1 {
              %at = affine.apply affine_map<(d0, d1, d2) -> (d0 * 2048 + d1 * 64 + d2)>(%item, %head, %i)
              %0 = memref.load %x[%at] : memref<6144xf32>
              memref.store %0, %y[%at] : memref<6144xf32>
            }
          }
        }
        return
      }
    }
    // =>
    func.func private @k(tensor<3x32x64xf32>) -> tensor<3x32x64xf32> attributes {sinter.grid = 96 : i64}
    module @kernels ... {
      ...
      scf.for %number = %begin to %end step %c1 {
        %item = affine.apply affine_map<(d0) -> (d0 floordiv 32)>(%number)
        %part = affine.apply affine_map<(d0) -> (d0 mod 32)>(%number)
        ...
        %0 = arith.cmpi ult, %part, %heads : index
        scf.if %0 {
          scf.for %i = %c0 to %c64 step %c1 {
            %at = affine.apply affine_map<(d0, d1, d2) -> (d0 * 2048 + d1 * 64 + d2)>(%item, %part, %i)
            %1 = memref.load %x[%at] : memref<6144xf32>
            memref.store %1, %y[%at] : memref<6144xf32>
          }
        }
      }
      ...
    }
    ```
  }];
  let dependentDialects = ["mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::scf::SCFDialect"];
}

def SplitColumnsPass : Pass<"sinter-split-columns", "mlir::ModuleOp"> {
  let summary = "parts of rows become work items where there are few";
  let description = [{
    After it: where a kernel has fewer work items than the target has cores, and an item is nothing
    but loops over elements, none of which meets another (a token's convolution, its state moved on),
    the parts of rows that they divide into are items: as many as there are cores, but of 128 columns
    and of 2048 loads and stores at least. The kernel says the new number in `sinter.grid`. A remark
    says so, or why rows stay whole.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cuda:sm_90 --sinter-split-columns
    func.func private @k(%x: tensor<1x4096xf32>) -> tensor<1x4096xf32> attributes {sinter.grid = 1 : i64}
    module @kernels {
      func.func @k(%x: memref<4096xf32> {llvm.noalias}, %y: memref<4096xf32> {llvm.noalias},
                   %begin: index, %end: index) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c4096 = arith.constant 4096 : index
        scf.for %item = %begin to %end step %c1 {
          scf.for %i = %c0 to %c4096 step %c1 {
            %0 = memref.load %x[%i] : memref<4096xf32>
            memref.store %0, %y[%i] : memref<4096xf32>
          }
        }
        return
      }
    }
    // =>
    func.func private @k(tensor<1x4096xf32>) -> tensor<1x4096xf32> attributes {sinter.grid = 4 : i64}
    module @kernels ... {
      ...
      scf.for %number = %begin to %end step %c1 {
        %item = affine.apply affine_map<(d0) -> (d0 floordiv 4)>(%number)
        %part = affine.apply affine_map<(d0) -> (d0 mod 4)>(%number)
        ...
        scf.for %i = %first to %c1024 step %c1 {
          %at = affine.apply affine_map<(d0, d1) -> (d1 * 1024 + d0)>(%i, %part)
          %0 = memref.load %x[%at] : memref<4096xf32>
          memref.store %0, %y[%at] : memref<4096xf32>
        }
      }
      ...
    }
    ```
  }];
  let dependentDialects = ["mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::scf::SCFDialect"];
}

def PlanThreadsPass : Pass<"sinter-plan-threads", "mlir::ModuleOp"> {
  let summary = "how many threads compute a work item, and what each of them does";
  let description = [{
    After it: every generated kernel says how many threads compute a work item (`sinter.threads`, a
    power of two up to 32, of which several items share a block, or whole warps that are a block),
    every innermost loop that can be spread over them how many neighbours a thread takes at once
    (`sinter.lanes`: 16 bytes where its accesses are linear and aligned; a long row may have a rest
    behind the last of them) and how many steps of it are written out (`sinter.unroll`). Row buffers
    whose elements are each written and read by one thread are marked `sinter.registers`; others will
    be in shared memory. A loop over rows that only add to such buffers has several rows written out.
    The tensor-level kernel says the launch: `sinter.grid` in blocks, `sinter.block`,
    `sinter.shared`. A remark says what was chosen, or why a loop stays whole: then every thread runs
    it and one of them stores.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cuda:sm_90 --sinter-plan-threads
    func.func private @k(%x: tensor<4x2048xf32>) -> tensor<4x2048xf32> attributes {sinter.grid = 4 : i64}
    module @kernels {
      func.func @k(%x: memref<8192xf32>, %y: memref<8192xf32>, %begin: index, %end: index) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2048 = arith.constant 2048 : index
        scf.for %item = %begin to %end step %c1 {
          scf.for %i = %c0 to %c2048 step %c1 {
            %at = affine.apply affine_map<(d0, d1) -> (d0 * 2048 + d1)>(%item, %i)
            %0 = memref.load %x[%at] : memref<8192xf32>
            %1 = arith.negf %0 : f32
            memref.store %1, %y[%at] : memref<8192xf32>
          }
        }
        return
      }
    }
    // =>
    func.func private @k(tensor<4x2048xf32>) -> tensor<4x2048xf32>
        attributes {sinter.block = 512 : i64, sinter.grid = 4 : i64, sinter.shared = 0 : i64}
    module @kernels ... {
      func.func @k(...) attributes {sinter.items = 4 : i64, sinter.threads = 512 : i64} {
        ...
        scf.for %item = %begin to %end step %c1 {
          scf.for %i = %c0 to %c2048 step %c1 {
            ...
          } {sinter.lanes = 4 : i64, sinter.unroll = 1 : i64}
        }
        return
      }
    }
    ```
  }];
}

def InsertBarriersPass : Pass<"sinter-insert-barriers", "mlir::ModuleOp"> {
  let summary = "barriers where threads meet in memory";
  let description = [{
    After it: between a write by one thread of a work item and a read or write of the same memory by
    another of its threads there is a `gpu.barrier`, or a reduction over all threads of a block,
    which is one. Elements that the same thread touches on both sides need none: loops that are
    spread alike and access the same index of their counters.

    ```mlir
    module {
    module @kernels {
      func.func @k(%x: memref<64xf32>, %y: memref<64xf32>, %begin: index, %end: index)
          attributes {sinter.threads = 16 : i64} {
        %row = memref.alloca() : memref<64xf32>
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c32 = arith.constant 32 : index
        %c64 = arith.constant 64 : index
        scf.for %item = %begin to %end step %c1 {
          scf.for %i = %c0 to %c64 step %c1 {
            %0 = memref.load %x[%i] : memref<64xf32>
            memref.store %0, %row[%i] : memref<64xf32>
          } {sinter.lanes = 4 : i64}
          scf.for %i = %c0 to %c32 step %c1 {
            %other = affine.apply affine_map<(d0) -> (d0 + 32)>(%i)
            %0 = memref.load %row[%other] : memref<64xf32>
            memref.store %0, %y[%i] : memref<64xf32>
          } {sinter.lanes = 4 : i64}
        }
        return
      }
    }
    }
    // =>
    scf.for %i = %c0 to %c64 step %c1 {
      %0 = memref.load %x[%i] : memref<64xf32>
      memref.store %0, %row[%i] : memref<64xf32>
    } {sinter.lanes = 4 : i64}
    gpu.barrier
    scf.for ...
    ```
  }];
  let dependentDialects = ["mlir::gpu::GPUDialect"];
}

def MapLoopsToThreadsPass : Pass<"sinter-map-loops-to-threads", "mlir::ModuleOp"> {
  let summary = "the loops of a work item become the code of its threads";
  let description = [{
    After it: generated kernels are the code of one thread, without the arguments `begin` and `end`.
    A thread knows its work item (of the last block, those beyond the end do nothing) and its place
    among the item's threads; a loop with `sinter.lanes` is a loop over this thread's part, in
    vectors where there are several lanes (what is left behind the last one is an element a thread);
    sums and maxima are combined over a warp (`gpu.subgroup_reduce`) or a block (`gpu.all_reduce`) in
    an order that depends on the extent only. Stores outside of such loops are the first thread's. Row
    buffers are a thread's own, or workgroup memory, one row an item of the block.

    ```mlir
    func.func private @k(%x: tensor<3x2048xf32>) -> tensor<3x2048xf32>
        attributes {sinter.block = 128 : i64, sinter.grid = 3 : i64, sinter.shared = 0 : i64}
    module @kernels {
      func.func @k(%x: memref<6144xf32>, %y: memref<6144xf32>, %begin: index, %end: index)
          attributes {sinter.items = 3 : i64, sinter.threads = 128 : i64} {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2048 = arith.constant 2048 : index
        scf.for %item = %begin to %end step %c1 {
          scf.for %i = %c0 to %c2048 step %c1 {
            %at = affine.apply affine_map<(d0, d1) -> (d0 * 2048 + d1)>(%item, %i)
            %0 = memref.load %x[%at] : memref<6144xf32>
            %1 = arith.negf %0 : f32
            memref.store %1, %y[%at] : memref<6144xf32>
          } {sinter.lanes = 4 : i64, sinter.unroll = 4 : i64}
        }
        return
      }
    }
    // =>
    func.func @k(%x: memref<6144xf32>, %y: memref<6144xf32>)
        attributes {sinter.items = 3 : i64, sinter.threads = 128 : i64} {
      ...
      %item = gpu.block_id  x
      %thread = gpu.thread_id  x
      ...
      scf.for %k = %zero to %c4 step %one {
        %0 = affine.apply affine_map<(d0, d1) -> (d0 * 512 + d1 * 4)>(%k, %thread)
        %1 = affine.apply affine_map<(d0, d1) -> (d0 * 2048 + d1)>(%item, %0)
        %2 = vector.load %x[%1] : memref<6144xf32>, vector<4xf32>
        ...
        %4 = scf.for %lane = ... {
          ...
          %8 = arith.negf %6 : f32
          ...
        } {sinter.unroll = 4 : i64}
        vector.store %4, %y[%1] : memref<6144xf32>, vector<4xf32>
      } {sinter.unroll = 4 : i64}
      return
    }
    ```
  }];
  let dependentDialects = ["mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::gpu::GPUDialect", "mlir::scf::SCFDialect", "mlir::ub::UBDialect",
    "mlir::vector::VectorDialect"];
}

def LoadRowsAheadPass : Pass<"sinter-load-rows-ahead", "mlir::ModuleOp"> {
  let summary = "a block that works on row after row asks for the next one early";
  let description = [{
    After it: a loop whose steps meet in reductions over the block, each a row of its own, has loaded a
    row before it works on the one before, as far as registers allow, so that memory and arithmetic
    overlap; what is the same for all rows is loaded before the loop. This is done with what the kernel
    does not write, where a row is loaded by every thread at once. A remark says how many loads were
    moved.

    ```mlir
    module {
    module @kernels {
      func.func @k(%x: memref<4096xf32> {llvm.noalias}, %y: memref<32xf32> {llvm.noalias})
          attributes {sinter.items = 1 : i64, sinter.threads = 128 : i64} {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c32 = arith.constant 32 : index
        %thread = gpu.thread_id x
        scf.for %row = %c0 to %c32 step %c1 {
          %at = affine.apply affine_map<(d0, d1) -> (d0 * 128 + d1)>(%row, %thread)
          %0 = memref.load %x[%at] : memref<4096xf32>
          %1 = gpu.all_reduce add %0 uniform {} : (f32) -> f32
          memref.store %1, %y[%row] : memref<32xf32>
        }
        return
      }
    }
    }
    // =>
    %at = affine.apply affine_map<(d0, d1) -> (d0 * 128 + d1)>(%c0, %thread)
    %first = memref.load %x[%at] : memref<4096xf32>
    ...
    %sum = scf.for %row = %c0 to %c32 step %c1 iter_args(%ahead = %first) -> (f32) {
      %next = arith.addi %row, %c1 : index
      %following = arith.minsi %next, %c31 : index
      %there = affine.apply affine_map<(d0, d1) -> (d0 * 128 + d1)>(%following, %thread)
      %loaded = memref.load %x[%there] : memref<4096xf32>
      ...
      memref.store %1, %y[%row] : memref<32xf32>
      scf.yield %loaded : f32
    }
    ...
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect"];
}

def VerifyCudaCodegenPass : Pass<"sinter-verify-cuda-codegen", "mlir::ModuleOp"> {
  let summary = "verifies what holds after the Codegen phase on CUDA";
  let description = [{
    After it: every kernel says how it is launched (`sinter.grid`, `sinter.block`, `sinter.shared`,
    the block at most 1024 threads and the memory what the target's blocks may have), and the module
    `@kernels` holds a function of its name with one flat memref an operand and a result, which has
    the code of a thread or names a template. No loop is left that is yet to be spread.

    ```mlir
    func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32>
        attributes {sinter.grid = 1 : i64, sinter.kernel = "rows"} {
      return %x : tensor<4xf32>
    }
    // =>
    error: expected a kernel to say how it is launched (sinter.grid, sinter.block, sinter.shared) after Codegen
    ```
  }];
}

def PrintCudaPass : Pass<"sinter-print-cuda", "mlir::ModuleOp"> {
  let summary = "writes the kernels as CUDA C++ to the standard output";
  let description = [{
    After it: the module is what it was. For every kernel of `@kernels` its text is written, without
    the headers that it stands on: what NVRTC is given to compile.

    ```mlir
    func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32>
        attributes {sinter.block = 4 : i64, sinter.grid = 1 : i64, sinter.kernel = "rows", sinter.shared = 0 : i64} {
      %0 = sinter.neg %x : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    module @kernels {
      func.func @k(%x: memref<4xf32> {llvm.noalias}, %y: memref<4xf32> {llvm.noalias})
          attributes {sinter.items = 4 : i64, sinter.threads = 1 : i64} {
        %thread = gpu.thread_id x
        %0 = memref.load %x[%thread] : memref<4xf32>
        %1 = arith.negf %0 : f32
        memref.store %1, %y[%thread] : memref<4xf32>
        return
      }
    }
    // =>
    extern "C" __global__ void __launch_bounds__(4)
    k(const float *__restrict__ x0, float *__restrict__ y0) {
      const int thread = static_cast<int>(threadIdx.x);
      const float x0_at = x0[thread];
      y0[thread] = -x0_at;
    }
    ...
    ```
  }];
}

#endif // SINTER_CODEGEN_CUDA_PASSES
