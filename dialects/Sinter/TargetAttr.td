//===- TargetAttr.td - What a module is compiled for --------*- tablegen -*-===//
#ifndef SINTER_TARGET_ATTR
#define SINTER_TARGET_ATTR

include "dialects/Sinter/SinterDialect.td"

def Sinter_TargetAttr : AttrDef<SinterDialect, "Target"> {
  let mnemonic = "target";
  let summary = "a machine, as the cost model and the code generators see it";
  let description = [{
    The module's attribute `sinter.target`. Of kind "cpu", `cpu` and `features` are LLVM's names of
    the processor and of its instruction sets ("+avx2,+fma"); both are part of what an executable
    requires. Of kind "cuda", `cpu` is the architecture ("sm_90") and `features` is empty.

    Rates are of the whole machine, all `cores` together: `gflops_f32` and `gflops_bf16` of dense
    products (10^9 operations a second, a multiply-add counts as two), `memory_gbs` of reading
    memory (10^9 bytes a second). `launch_ns` is what starting one kernel on all cores costs.
    Caches are in bytes: `l1_bytes` and `l2_bytes` a core, `l3_bytes` shared by all.

    Of a GPU, `cores` are its multiprocessors, `vector_bits` is what a thread moves at once,
    `registers` are those that a thread may have, `l1_bytes` is the shared memory that a block may
    have, `l2_bytes` the first cache of a multiprocessor and `l3_bytes` the one shared by all.

    C1: the kind is "cpu" or "cuda". C2: all numbers are positive, except `l3_bytes`, which may be zero.
    C3: `vector_bits` is a multiple of 64.

    ```mlir
    #sinter.target<kind = "cpu", chip = "x86-64-v3", features = "+avx2,+fma", vector_bits = 256,
                   registers = 16, cores = 2, gflops_f32 = 192, gflops_bf16 = 192,
                   memory_gbs = 30, launch_ns = 1000,
                   l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>
    ```
  }];
  let parameters = (ins
    StringRefParameter<"the kind of device">:$kind,
    StringRefParameter<"LLVM's name of the processor, or the GPU's architecture">:$chip,
    StringRefParameter<"LLVM's feature string">:$features,
    "int64_t":$vector_bits, "int64_t":$registers, "int64_t":$cores,
    "int64_t":$gflops_f32, "int64_t":$gflops_bf16, "int64_t":$memory_gbs, "int64_t":$launch_ns,
    "int64_t":$l1_bytes, "int64_t":$l2_bytes, "int64_t":$l3_bytes);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Elements of this type in one vector register.
    int64_t getLanes(::mlir::Type elementType) const;
    /// Whether kernels run on a GPU: products read plain matrices, transposed or not, and a launch
    /// is in blocks of threads. Else they run on processor cores: products read panels.
    bool isGpu() const { return getKind() == "cuda"; }
    /// Bytes that the arena's slices start at multiples of: a cache line of a processor; on a GPU
    /// what cudaMalloc gives, which its libraries take for granted of their workspaces.
    int64_t getArenaAlignment() const { return isGpu() ? 256 : 64; }
    /// Logits that a loss holds at a time, so many that products of a block of rows run at full
    /// speed: 64 MiB of f32 on a processor, where a block has work for all cores, and 1 GiB on a
    /// GPU, where every block adds to all of the weight's gradient in memory.
    int64_t getHeldLogits() const { return int64_t(isGpu() ? 256 : 16) << 20; }
    /// Blocks of rows at the most whose sums over columns are made side by side. One block goes
    /// over its rows one after the other, so that a GPU wants several for each multiprocessor.
    int64_t getMostRowBlocks() const { return isGpu() ? 512 : 64; }
    /// Whether products read matrices in panels, which are packed once, and attention key panels.
    bool readsPackedRhs() const { return !isGpu(); }
    /// Whether units of their own multiply bf16, f16 and TF32 and accumulate in f32, in attention
    /// too, so fast that results are best as narrow as what was multiplied. Without them rounded
    /// values of f16 are widened before they are multiplied.
    bool hasMatrixUnits() const { return isGpu(); }
    /// Whether these take products of four warps together, which read shared memory themselves
    /// (wgmma): an instruction of compute capability 9.0 alone.
    bool hasWarpgroupProducts() const { return isGpu() && getChip() == "sm_90"; }
    /// Whether a core's own caches hold what one kernel left there for the next one.
    bool keepsPrivateCaches() const { return !isGpu(); }
    /// Whether GEMVs are kernels that normalize those rows for themselves, and
    /// rotate and append the heads that they compute.
    bool fusesGemv() const { return isGpu(); }
    /// Whether what adds up over keys and what adds up over queries in attention's gradient are
    /// kernels of their own, so that every sum is one block's.
    bool splitsAttentionGrad() const { return isGpu(); }
    /// Streams that a program's commands may be in. Beside a chain of commands there are seldom more
    /// than two others.
    int64_t getMostStreams() const { return isGpu() ? 3 : 1; }
    /// What a command that waits for one of another stream begins later by. A guess, not measured:
    /// half of what starting it costs.
    int64_t getEventNs() const { return getLaunchNs() / 2; }
    /// Whether the feature string switches this instruction set on ("avx512bf16").
    bool hasFeature(::llvm::StringRef feature) const;
    /// The target of a module (its attribute `sinter.target`), or null.
    static TargetAttr lookup(::mlir::Operation *op);
  }];
}

#endif // SINTER_TARGET_ATTR
