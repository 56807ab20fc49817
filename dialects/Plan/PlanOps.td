//===- PlanOps.td - What runs -------------------------------*- tablegen -*-===//
#ifndef SINTER_PLAN_OPS
#define SINTER_PLAN_OPS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def PlanDialect : Dialect {
  let name = "plan";
  let cppNamespace = "::sinter::plan";
  let summary = "Commands over fixed buffers";
  let description = [{
    A `plan.program` is a straight list of commands over slices of memory. Before the Memory phase
    a slice that lives inside a step is a `plan.alloc`; after it every slice is a `plan.slice` with
    a space and an offset, and the program prints as exactly what happens, in order, and where
    every byte lives. It serializes one to one into runtime/Format/Executable.fbs.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

def Plan_Space : I32EnumAttr<"Space", "where a slice lives", [
    I32EnumAttrCase<"Checkpoint", 0, "checkpoint">,
    I32EnumAttrCase<"Parameter", 1, "parameter">,
    I32EnumAttrCase<"State", 2, "state">,
    I32EnumAttrCase<"Input", 3, "input">,
    I32EnumAttrCase<"Output", 4, "output">,
    I32EnumAttrCase<"Constant", 5, "constant">,
    I32EnumAttrCase<"Arena", 6, "arena">]> {
  let cppNamespace = "::sinter::plan";
}

def Plan_PostOpKind : I32EnumAttr<"PostOpKind", "a step of a GEMM's epilogue", [
    I32EnumAttrCase<"Bias", 0, "bias">,
    I32EnumAttrCase<"Gelu", 1, "gelu">,
    I32EnumAttrCase<"GeluTanh", 2, "gelu_tanh">,
    I32EnumAttrCase<"Silu", 3, "silu">,
    I32EnumAttrCase<"Relu", 4, "relu">,
    I32EnumAttrCase<"Add", 5, "add">,
    I32EnumAttrCase<"Multiply", 6, "multiply">]> {
  let cppNamespace = "::sinter::plan";
}

def Plan_CollectiveKind : I32EnumAttr<"CollectiveKind", "what a collective moves", [
    I32EnumAttrCase<"AllGather", 0, "all_gather">,
    I32EnumAttrCase<"AllToAll", 1, "all_to_all">,
    I32EnumAttrCase<"AllSlice", 2, "all_slice">,
    I32EnumAttrCase<"AllReduce", 3, "all_reduce">]> {
  let cppNamespace = "::sinter::plan";
}

def Plan_SliceType : TypeDef<PlanDialect, "Slice"> {
  let mnemonic = "slice";
  let summary = "a range of bytes, fixed for the program's life";
}

def Plan_PostOpAttr : AttrDef<PlanDialect, "PostOp"> {
  let mnemonic = "post_op";
  let summary = "one step of a GEMM's epilogue";
  let description = [{
    Bias, Add and Multiply read the GEMM's next extra operand, of element type `dtype`, Add and
    Multiply with row stride `stride` (elements).
  }];
  let parameters = (ins "::sinter::plan::PostOpKind":$kind, "::mlir::Type":$dtype, "int64_t":$stride);
  let assemblyFormat = "`<` $kind `,` $dtype `,` $stride `>`";
  let extraClassDeclaration = [{
    /// Whether the step reads an operand.
    bool hasOperand() const {
      return getKind() == PostOpKind::Bias || getKind() == PostOpKind::Add ||
             getKind() == PostOpKind::Multiply;
    }
  }];
}

def Plan_PackSourceAttr : AttrDef<PlanDialect, "PackSource"> {
  let mnemonic = "pack_source";
  let summary = "how one source of a pack lies in memory";
  let description = [{
    A row-major matrix of `dtype` with `stride` elements between rows that fills the next `n`
    columns of the packed `[k, n]` matrix; stored `[n, k]` if transposed.
  }];
  let parameters = (ins "::mlir::Type":$dtype, "int64_t":$n, "int64_t":$stride, "bool":$transposed);
  let assemblyFormat = "`<` struct(params) `>`";
}

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<PlanDialect, mnemonic, traits>;

def ProgramOp : Plan_Op<"program", [IsolatedFromAbove, SingleBlock, NoTerminator, Symbol,
    NoRegionArguments]> {
  let summary = "a straight list of commands";
  let description = [{
    `arena_bytes` and `arena_lower_bound` (the peak of live bytes) are set by the Memory phase.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<I64Attr>:$arena_bytes,
                       OptionalAttr<I64Attr>:$arena_lower_bound);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let extraClassDeclaration = [{
    ::mlir::Block *getBlock() { return &getBody().front(); }
  }];
}

def ConstantOp : Plan_Op<"constant"> {
  let summary = "bytes that the executable carries, in the constant space";
  let description = [{
    Stands beside the programs; they read it through slices of the constant space.
    C1: offset is a multiple of 64.

    ```mlir
    plan.constant 64 dense<[1.0, 0.5]> : tensor<2xf32>
    ```
  }];
  let arguments = (ins I64Attr:$offset, ElementsAttr:$value);
  let assemblyFormat = "$offset $value attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The elements as they lie in memory, row-major.
    ::llvm::SmallVector<char> getBytes() { return ::sinter::plan::getElementBytes(getValue()); }
  }];
}

def ParameterOp : Plan_Op<"parameter"> {
  let summary = "a tensor of the checkpoint, and how it begins without one";
  let description = [{
    Stands beside the programs. Slices of the checkpoint are of these, and a state of such a name
    begins as one. `type` is that of the whole tensor; without a checkpoint it begins as normal
    numbers of a mean and a standard deviation.

    ```mlir
    plan.parameter "model.norm.weight" : tensor<8xf32> mean 1.0 deviation 0.0
    ```
  }];
  let arguments = (ins StrAttr:$name, TypeAttrOf<AnyRankedTensor>:$type, F64Attr:$mean,
                       F64Attr:$deviation);
  let assemblyFormat = "$name `:` $type `mean` $mean `deviation` $deviation attr-dict";
}

def AllocOp : Plan_Op<"alloc"> {
  let summary = "bytes that live inside a step, not yet placed";
  let arguments = (ins I64Attr:$bytes);
  let results = (outs Plan_SliceType:$slice);
  let assemblyFormat = "$bytes attr-dict";
}

def SliceOp : Plan_Op<"slice"> {
  let summary = "`bytes` bytes at `offset` of a space";
  let description = [{
    In the checkpoint space, of the tensor `name`; in the others `name`, where given, is what a
    person or a caller calls the slice ("tokens", "k_cache.0"), with its `type`.
    Where a rank holds a part of a tensor, `type` is that part's, `whole` that of all of it, and
    `sharding` (#sinter.sharding) says which part. Where that tensor is itself a part of one that
    checkpoints have, `box` (#sinter.box) says of which and where.
    C1: offset and bytes are not negative. C2: a checkpoint slice has a name.
  }];
  let arguments = (ins Plan_Space:$space, I64Attr:$offset, I64Attr:$bytes,
                       OptionalAttr<StrAttr>:$name, OptionalAttr<TypeAttr>:$type,
                       OptionalAttr<AnyAttr>:$sharding, OptionalAttr<TypeAttr>:$whole,
                       OptionalAttr<AnyAttr>:$box);
  let builders = [
    /// Of a tensor that is whole, or of bytes.
    OpBuilder<(ins "::mlir::Type":$slice, "::sinter::plan::Space":$space, "int64_t":$offset,
                   "int64_t":$bytes, "::mlir::StringAttr":$name, "::mlir::TypeAttr":$type), [{
      build($_builder, $_state, slice, space, offset, bytes, name, type, nullptr, nullptr, nullptr);
    }]>
  ];
  let results = (outs Plan_SliceType:$slice);
  let assemblyFormat = "$space `[` $offset `,` $bytes `]` ($name^)? (`:` $type^)? attr-dict";
  let hasVerifier = 1;
}

def Plan_CommandInterface : OpInterface<"CommandInterface"> {
  let cppNamespace = "::sinter::plan";
  let description = [{
    A command: what it reads and writes (for liveness and for the order between streams), how much
    of a GPU it takes, and what it costs (for people). A slice that is read and written appears in
    both.

    On a GPU commands of one stream run one after the other; one of another stream may run beside
    them, unless it waits. `waits` are the numbers of earlier commands, counted from the program's
    first, that a command begins after.
  }];
  let methods = [
    InterfaceMethod<"Operands that the command reads.", "::mlir::SmallVector<::mlir::Value>", "getReads", (ins)>,
    InterfaceMethod<"Operands that the command writes.", "::mlir::SmallVector<::mlir::Value>", "getWrites", (ins)>,
    InterfaceMethod<"Useful floating-point operations.", "int64_t", "getFlops", (ins)>,
    InterfaceMethod<"Those that multiply 16-bit numbers by instructions of their own.", "int64_t",
      "getNarrowFlops", (ins)>,
    InterfaceMethod<"Those that multiply bytes by bytes.", "int64_t", "getByteFlops", (ins)>,
    InterfaceMethod<"Those that multiply bytes by integers of four bits.", "int64_t",
      "getNibbleFlops", (ins)>,
    InterfaceMethod<"Bytes read and written at the least.", "int64_t", "getBytes", (ins)>,
    InterfaceMethod<"Those of values that fit the cache that all cores share.", "int64_t",
      "getSharedBytes", (ins)>,
    InterfaceMethod<"Those of values that fit the cores' own caches.", "int64_t", "getPrivateBytes",
      (ins)>,
    InterfaceMethod<"The cost model's estimate.", "int64_t", "getPredictedNs", (ins)>,
    InterfaceMethod<"What the command is, for people.", "::llvm::StringRef", "getLabel", (ins)>,
    InterfaceMethod<"The part of the model it belongs to.", "::llvm::StringRef", "getLayer", (ins)>,
    InterfaceMethod<"The stage of a training step it belongs to.", "::llvm::StringRef", "getStage", (ins)>,
    InterfaceMethod<[{Blocks that may run at a time, as far as the command goes: a GPU that has more
      multiprocessors has room for something else beside it.}], "int64_t", "getBlocks", (ins)>,
    InterfaceMethod<"The stream that it runs in, from 0.", "int64_t", "getStream", (ins)>,
    InterfaceMethod<"Numbers of the commands of other streams that it waits for.",
      "::llvm::ArrayRef<int64_t>", "getWaits", (ins)>,
    InterfaceMethod<"Puts it into a stream, behind these commands of others.", "void", "setOrder",
      (ins "int64_t":$stream, "::llvm::ArrayRef<int64_t>":$waits), [{
      $_op.setStream(stream);
      $_op.setWaits(waits);
    }]>,
  ];
}

/// forward, backward, recompute or optimizer.
def Plan_StageName : ConfinedAttr<StrAttr, [AttrConstraint<
    CPred<"::sinter::parseStage(::llvm::cast<::mlir::StringAttr>($_self).getValue()).has_value()">,
    "that names a stage of a training step">]>;

class Plan_Command<string mnemonic, list<Trait> traits = []> : Plan_Op<mnemonic, !listconcat(traits,
    [DeclareOpInterfaceMethods<Plan_CommandInterface, ["getReads", "getWrites", "getBlocks"]>])> {
  dag metrics = (ins DefaultValuedAttr<I64Attr, "0">:$flops,
                     DefaultValuedAttr<I64Attr, "0">:$narrow_flops,
                     DefaultValuedAttr<I64Attr, "0">:$byte_flops,
                     DefaultValuedAttr<I64Attr, "0">:$nibble_flops,
                     DefaultValuedAttr<I64Attr, "0">:$bytes,
                     DefaultValuedAttr<I64Attr, "0">:$shared_bytes,
                     DefaultValuedAttr<I64Attr, "0">:$private_bytes,
                     DefaultValuedAttr<I64Attr, "0">:$predicted_ns,
                     DefaultValuedAttr<StrAttr, "\"\"">:$label,
                     DefaultValuedAttr<StrAttr, "\"\"">:$layer,
                     DefaultValuedAttr<Plan_StageName, "\"forward\"">:$stage,
                     DefaultValuedAttr<I64Attr, "0">:$stream,
                     DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$waits);
}

def LaunchOp : Plan_Command<"launch", [AttrSizedOperandSegments]> {
  let summary = "runs a generated kernel over `grid` independent work items";
  let description = [{
    The kernel gets the addresses of `inputs` and then `outputs`. A slice that is updated in place
    is in both. The output that has as many bytes as the inputs that `reusable` lists may also be
    written over one of them: a row of it is computed from theirs in the same place, by one work
    item that reads the row before it writes it.

    `output_types` says what the outputs' elements are, for those who look at them.

    C1: `reusable` lists inputs. C2: `output_types` is empty or has one type an output.
  }];
  let arguments = !con((ins FlatSymbolRefAttr:$kernel, I64Attr:$grid,
                        Variadic<Plan_SliceType>:$inputs, Variadic<Plan_SliceType>:$outputs,
                        DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$reusable,
                        DefaultValuedAttr<TypeArrayAttr, "{}">:$output_types), metrics);
  let assemblyFormat = "$kernel `grid` $grid `(` $inputs `)` `->` `(` $outputs `)` attr-dict";
  let hasVerifier = 1;
}

def GemmOp : Plan_Command<"gemm", [AttrSizedOperandSegments]> {
  let summary = "out = epilogue(lhs . rhs), by the device's library";
  let description = [{
    `[m, k] . [k, n]`. See `Gemm` in Executable.fbs. `workspace` is memory for the library.
    `rhs_dtype` is that of rhs where it is another than `dtype`.
    C1: `extras` has one slice for each post-op that reads one. C2: there are scales of both sides if
    and only if they are of 8 bits. C3: with `rhs_dtype` both are fp8.
  }];
  let arguments = !con((ins I64Attr:$m, I64Attr:$n, I64Attr:$k, TypeAttr:$dtype, TypeAttr:$out_dtype,
                        I64Attr:$lhs_stride, I64Attr:$rhs_stride, I64Attr:$out_stride,
                        OptionalAttr<TypeAttr>:$rhs_dtype,
                        Plan_SliceType:$lhs, Plan_SliceType:$rhs,
                        Optional<Plan_SliceType>:$lhs_scales, Optional<Plan_SliceType>:$rhs_scales,
                        Variadic<Plan_SliceType>:$extras, Plan_SliceType:$out,
                        Optional<Plan_SliceType>:$workspace,
                        DefaultValuedAttr<TypedArrayAttrBase<Plan_PostOpAttr, "post-ops">, "{}">:$post_ops,
                        UnitAttr:$lhs_transposed, UnitAttr:$rhs_transposed, UnitAttr:$tf32),
                       metrics);
  let assemblyFormat = [{
    `(` $lhs `,` $rhs (`,` $extras^)? `)` (`scales` `(` $lhs_scales^ `,` $rhs_scales `)`)?
    (`workspace` `(` $workspace^ `)`)? `->` `(` $out `)` attr-dict
  }];
  let hasVerifier = 1;
}

def AttentionOp : Plan_Command<"attention", [AttrSizedOperandSegments]> {
  let summary = "out = softmax(scale query . key + mask) . value, by the device's library";
  let description = [{
    See `Attention` in Executable.fbs. A layout is the offset of a tensor's first element in its slice
    and the strides of batches, rows and heads, all in elements; `out` and `logsumexp` are dense.
    `workspace` is memory for the library.
    C1: each layout has four numbers, none of them negative. C2: heads is a multiple of key_heads.

    ```mlir
    plan.attention(%qkv, %qkv, %qkv) -> (%out) {
      batch = 2 : i64, length = 64 : i64, keys = 64 : i64, heads = 4 : i64, key_heads = 4 : i64,
      head_size = 32 : i64, dtype = bf16, out_dtype = bf16, scale = 1.250000e-01 : f32, causal,
      query_layout = array<i64: 0, 24576, 384, 32>, key_layout = array<i64: 128, 24576, 384, 32>,
      value_layout = array<i64: 256, 24576, 384, 32>}
    ```
  }];
  let arguments = !con((ins I64Attr:$batch, I64Attr:$length, I64Attr:$keys, I64Attr:$heads,
                        I64Attr:$key_heads, I64Attr:$head_size, TypeAttr:$dtype, TypeAttr:$out_dtype,
                        DenseI64ArrayAttr:$query_layout, DenseI64ArrayAttr:$key_layout,
                        DenseI64ArrayAttr:$value_layout, F32Attr:$scale, UnitAttr:$causal,
                        DefaultValuedAttr<I64Attr, "0">:$window,
                        Plan_SliceType:$query, Plan_SliceType:$key, Plan_SliceType:$value,
                        Plan_SliceType:$out, Optional<Plan_SliceType>:$logsumexp,
                        Optional<Plan_SliceType>:$workspace), metrics);
  let assemblyFormat = [{
    `(` $query `,` $key `,` $value `)` (`workspace` `(` $workspace^ `)`)?
    `->` `(` $out (`,` $logsumexp^)? `)` attr-dict
  }];
  let hasVerifier = 1;
}

def PackOp : Plan_Command<"pack"> {
  let summary = "writes a matrix in panels";
  let description = [{
    See `Pack` in Executable.fbs. C1: one layout in `source_layouts` a source; their n add up to n.
  }];
  let arguments = !con((ins I64Attr:$k, I64Attr:$n, TypeAttr:$dtype, I64Attr:$width, I64Attr:$interleave,
                        I64Attr:$depth, OptionalAttr<DenseI8ArrayAttr>:$values,
                        Variadic<Plan_SliceType>:$sources, Plan_SliceType:$out,
                        TypedArrayAttrBase<Plan_PackSourceAttr, "layouts">:$source_layouts), metrics);
  let assemblyFormat = "`(` $sources `)` `->` `(` $out `)` attr-dict";
  let hasVerifier = 1;
}

def CopyOp : Plan_Command<"copy"> {
  let summary = "copies a slice to another of the same size";
  let arguments = !con((ins Plan_SliceType:$source, Plan_SliceType:$out), metrics);
  let assemblyFormat = "`(` $source `)` `->` `(` $out `)` attr-dict";
}

def FillOp : Plan_Command<"fill"> {
  let summary = "sets every byte of a slice";
  let arguments = !con((ins Plan_SliceType:$out, I64Attr:$value), metrics);
  let assemblyFormat = "$value `->` `(` $out `)` attr-dict";
}

def AlternativesOp : Plan_Op<"alternatives", [NoTerminator, SingleBlock, NoRegionArguments,
    DeclareOpInterfaceMethods<Plan_CommandInterface, ["getReads", "getWrites", "getBlocks", "getFlops",
        "getNarrowFlops", "getByteFlops", "getNibbleFlops", "getBytes", "getSharedBytes",
        "getPrivateBytes", "getPredictedNs", "getLabel", "getLayer", "getStage"]>]> {
  let summary = "one command of several that do the same";
  let description = [{
    Every option is one command, and all compute the same function of the same slices, up to
    rounding. Which of them runs is left to the device that the executable is bound on; without
    tuning it is the first, the compiler's own pick, whose costs are the choice's.

    ```mlir
    plan.alternatives {
      plan.launch @attention_64 grid 96 (%qkv) -> (%out)
    } or {
      plan.launch @attention_128 grid 48 (%qkv) -> (%out)
    }
    ```

    A choice reads and writes what any of its options does, so that all of it has a place, and what
    lives at the same time as any of it has another.

    C1: there are two options or more. C2: each is one command, not a choice. C3: what one option
    writes all write, but for memory of its own: bytes of the arena that no other command uses
    (workspaces), and states that are the scratch of its kernel.
  }];
  let arguments = (ins DefaultValuedAttr<I64Attr, "0">:$stream,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$waits);
  let regions = (region VariadicRegion<SizedRegion<1>>:$options);
  let assemblyFormat = "custom<Options>($options) attr-dict";
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    /// Of commands that exist: they move into it, and the first is the compiler's pick.
    OpBuilder<(ins "::mlir::ArrayRef<::mlir::Operation *>":$commands)>
  ];
  let extraClassDeclaration = [{
    /// The commands, the compiler's pick first.
    ::llvm::SmallVector<::sinter::plan::CommandInterface> getCommands();
  }];
}

include "dialects/Plan/RankOps.td"

#endif // SINTER_PLAN_OPS
