//===- SinterDialect.td - The graph dialect -----------------*- tablegen -*-===//
#ifndef SINTER_DIALECT
#define SINTER_DIALECT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/Interfaces/Interfaces.td"

def SinterDialect : Dialect {
  let name = "sinter";
  let cppNamespace = "::sinter";
  let summary = "The dataflow graph of a transformer";
  let description = [{
    Pure functions over statically shaped builtin tensors. Parameters, KV caches and step data are
    function arguments. An entry function's arguments carry what they are bound to:

    - `sinter.parameter = "model.norm.weight"`: a tensor of the checkpoint, by name;
    - `sinter.preprocessed = "..."`: a result of `@preprocess`, by position of the same name;
    - `sinter.state = "k_cache.0"`: lives from step to step, zero at first;
    - `sinter.input = "tokens"`: set by the caller before each step;
    - `sinter.donated = 3 : i64`: result 3 takes over this argument's memory.

    Results carry `sinter.output = "logits"`, `sinter.state = "k_cache.0"` or
    `sinter.preprocessed = "..."`.

    A parameter and a state also say what they are, so that nothing behind a frontend has to go back
    to the model's description:

    - `sinter.initializer = #sinter.normal<mean = 0.0, deviation = 0.02>`: how a tensor of the
      checkpoint begins where there is no checkpoint; without it, matrices with a deviation of
      0.02, biases (`"...bias"`) as zeros, other vectors as ones;
    - `sinter.role = #sinter.role<kv_cache>`: what a state is to the model. One with the role
      `parameter` is trained: it begins as the checkpoint's tensor of its name. One with the role
      `recurrent` is all that a layer keeps of the tokens before, however many they are.

    - `sinter.values = array<i8: 0, 1, 2, ...>`: the sixteen numbers that a parameter of bytes has,
      and no others;
    - `sinter.fixed`: a parameter that training leaves as it is: its gradient is zero.

    The type of such an argument is that of the whole tensor, over all devices. Where a module is for
    a grid of them (`sinter.grid = #sinter.grid<data = 2>`), an argument or a result also says which
    part a rank holds, `sinter.sharding = #sinter.sharding<[["data"], []]>`; once the Sharding phase
    has made the program of one rank, its type is that part's, and that of the whole tensor is
    `sinter.whole = tensor<8x4xf32>`. A state that is one part of several of what checkpoints know as
    one tensor says which, `sinter.box = #sinter.box<"w", tensor<8x12xf32>, [0, 4]>`.

    What a caller has to know of a module and no type says (the vocabulary, the ids that end a
    sequence) is text in its attribute `sinter.metadata = {vocab_size = "50257"}`, which the
    executable carries. RATIONALE.md beside this file says why.

    C1: a `sinter.*` attribute of an entry's argument or result is one of these. C2: names are not empty.
    C3: a role is a state's; a KV cache is `[batch, positions, heads, head size]`. C4: an
    initializer is that of a parameter, or of a state with the role `parameter`. C5: metadata are
    strings by name. C6: a sharding has a list of axes a dimension, axes of the module's grid.
    C7: a box is a state's, inside of the tensor. C8: values are sixteen, of a parameter of `i8`.
    C9: what is fixed is a parameter.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Adds the attributes (SinterAttributes.cpp).
    void registerAttributes();

    /// Names of the attributes of entry functions' arguments and results.
    static constexpr ::llvm::StringLiteral kParameter = "sinter.parameter";
    static constexpr ::llvm::StringLiteral kPreprocessed = "sinter.preprocessed";
    static constexpr ::llvm::StringLiteral kState = "sinter.state";
    static constexpr ::llvm::StringLiteral kInput = "sinter.input";
    static constexpr ::llvm::StringLiteral kOutput = "sinter.output";
    static constexpr ::llvm::StringLiteral kDonated = "sinter.donated";
    static constexpr ::llvm::StringLiteral kRole = "sinter.role";
    static constexpr ::llvm::StringLiteral kInitializer = "sinter.initializer";
    /// The only numbers that a parameter of bytes has: a DenseI8ArrayAttr of sixteen.
    static constexpr ::llvm::StringLiteral kValues = "sinter.values";
    /// A parameter that training leaves as it is (a unit attribute).
    static constexpr ::llvm::StringLiteral kFixed = "sinter.fixed";
    /// Of a training step's result before its update: the gradient of the parameter of this name.
    static constexpr ::llvm::StringLiteral kGradient = "sinter.gradient";
    /// Marks an op of the backward pass that does one of the forward pass again (a unit attribute,
    /// until kernels are outlined).
    static constexpr ::llvm::StringLiteral kRecompute = "sinter.recompute";
    /// Marks an entry function that Autodiff gives its backward pass (a unit attribute).
    static constexpr ::llvm::StringLiteral kDifferentiate = "sinter.differentiate";
    /// Marks an entry function (a unit attribute on the func.func).
    static constexpr ::llvm::StringLiteral kEntry = "sinter.entry";
    /// The family of an outlined kernel (a string on the func.func).
    static constexpr ::llvm::StringLiteral kKernel = "sinter.kernel";
    /// What callers have to know of a module: a dictionary of strings on the builtin.module.
    static constexpr ::llvm::StringLiteral kMetadata = "sinter.metadata";
    /// What a module is compiled for: a TargetAttr on the builtin.module.
    static constexpr ::llvm::StringLiteral kTarget = "sinter.target";
    /// The devices that a module is compiled for: a GridAttr on the builtin.module.
    static constexpr ::llvm::StringLiteral kGrid = "sinter.grid";
    /// Which part of an argument or a result a rank holds: a ShardingAttr.
    static constexpr ::llvm::StringLiteral kSharding = "sinter.sharding";
    /// The type of the whole tensor where an argument or a result is a rank's part (a TypeAttr).
    static constexpr ::llvm::StringLiteral kWhole = "sinter.whole";
    /// Of a state that is a box of another tensor, by which name and place checkpoints know it: a
    /// BoxAttr.
    static constexpr ::llvm::StringLiteral kBox = "sinter.box";
  }];
}

class Sinter_Op<string mnemonic, list<Trait> traits = []>
    : Op<SinterDialect, mnemonic, !listconcat(traits, [Pure,
        DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
        DeclareOpInterfaceMethods<FusibleOpInterface>])> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

/// An op with a plain meaning of its own.
class Sinter_ReferenceOp<string mnemonic, list<Trait> traits = []>
    : Sinter_Op<mnemonic, !listconcat(traits, [DeclareOpInterfaceMethods<ReferenceOpInterface>])>;

/// An op that states its adjoint.
def Sinter_Differentiable : DeclareOpInterfaceMethods<DifferentiableOpInterface>;

/// An op that moves elements.
def Sinter_Move : DeclareOpInterfaceMethods<MoveOpInterface>;

/// An op that says how it may be split over devices.
def Sinter_Shardable : DeclareOpInterfaceMethods<ShardableOpInterface>;

/// The same of one that computes by where an element stands.
def Sinter_PlacedShardable : DeclareOpInterfaceMethods<ShardableOpInterface, ["placePart"]>;

def Sinter_Float : AnyTypeOf<[F32, BF16, F16, F64]>;
def Sinter_I4 : I<4>;
/// Of four bits each has a byte of its own, unless a layout says otherwise.
def Sinter_Tensor : StaticShapeTensorOf<[F32, BF16, F16, F64, I32, I8, Sinter_I4, F8E4M3FN, F8E5M2]>;
def Sinter_FloatTensor : StaticShapeTensorOf<[Sinter_Float]>;
/// Numbers, or what sinter.quantize makes of them.
def Sinter_CacheTensor : StaticShapeTensorOf<[Sinter_Float, I8, F8E4M3FN]>;
def Sinter_LhsTensor : StaticShapeTensorOf<[Sinter_Float, I8, F8E4M3FN, F8E5M2]>;
def Sinter_RhsTensor : StaticShapeTensorOf<[Sinter_Float, I8, Sinter_I4, F8E4M3FN, F8E5M2]>;
def Sinter_IndexTensor : StaticShapeTensorOf<[I32]>;

#endif // SINTER_DIALECT
