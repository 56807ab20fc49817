//===- Interfaces.td - What phases ask of ops ---------------*- tablegen -*-===//
//
// Knowledge about an op sits with the op. A pass asks one of these interfaces; it never switches
// over op names.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_INTERFACES
#define SINTER_INTERFACES

include "mlir/IR/OpBase.td"

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let description = [{
    The work of one op, from its shapes alone. A transcendental counts as one operation, a
    multiply-add as two. The cost model divides these by the target's peaks.
  }];
  let cppNamespace = "::sinter";
  let methods = [
    InterfaceMethod<"Floating-point operations executed.", "int64_t", "getFlops", (ins)>,
    InterfaceMethod<[{
        Bytes that must cross memory when the op runs alone: by default every operand read once and
        every result written once, in their storage layout.
      }], "int64_t", "getBytes", (ins), "", "return ::sinter::getOperandAndResultBytes($_op);">,
  ];
}

def ElementwiseOpInterface : OpInterface<"ElementwiseOpInterface"> {
  let description = [{
    result[i] = f(operands[i]) with all shapes equal. `f` is given twice: as arithmetic that
    kernels are generated from, and as the plain formula that it is checked against.
  }];
  let cppNamespace = "::sinter";
  let methods = [
    InterfaceMethod<[{
        Builds f with `arith` and `math` ops on scalars of the operands' element types; the result
        has the op's element type. Floating-point operands are f32 (or f64), whatever the storage.
        Given vectors instead of scalars, all of one shape, it builds f on each lane.
      }], "::mlir::Value", "emitScalar",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$operands)>,
    InterfaceMethod<"Computes f in double precision.", "double", "evaluateScalar",
      (ins "::llvm::ArrayRef<double>":$operands)>,
    InterfaceMethod<[{
        The name of f as a step that libraries do behind a product (plan::PostOpKind), or nothing.
        Of a step of two operands either may be the product.
      }], "::llvm::StringRef", "getPostOpName", (ins), "", "return {};">,
  ];
}

def ComposedOpInterface : OpInterface<"ComposedOpInterface"> {
  let description = [{
    An op that people have a name for and whose formula is made of simpler ops: kernels are
    generated from the formula, so a generated kernel needs no case for it.
  }];
  let cppNamespace = "::sinter";
  let methods = [
    InterfaceMethod<"Builds the formula at the builder's insertion point; one value a result.",
      "::llvm::SmallVector<::mlir::Value>", "decompose", (ins "::mlir::OpBuilder &":$builder)>,
  ];
}

def MoveOpInterface : OpInterface<"MoveOpInterface"> {
  let description = [{
    An op whose result has elements of its only operand in other places, each where an affine map
    says. Generated kernels need no case for it.
  }];
  let cppNamespace = "::sinter";
  let methods = [
    InterfaceMethod<"From an index of the result to that of the element in the operand.",
      "::mlir::AffineMap", "getSourceMap", (ins)>,
    InterfaceMethod<"Whether the result has each element along dimensions that the operand lacks.",
      "bool", "repeatsElements", (ins), "",
      "return ::mlir::getUnusedDimsBitVector($_op.getSourceMap()).any();">,
    InterfaceMethod<[{
        Whether the result has the operand's elements in their row-major order: dense, it is the
        same memory under another shape.
      }], "bool", "keepsOrder", (ins), "", "return false;">,
  ];
}

def LookupOpInterface : OpInterface<"LookupOpInterface"> {
  let description = [{
    An op that reads rows of a matrix, its table, which data choose: a few elements, wherever they
    lie. So the table may be transposed and have any layout.
  }];
  let cppNamespace = "::sinter";
  let methods = [
    InterfaceMethod<"The matrix.", "::mlir::Value", "getTable", (ins)>,
    InterfaceMethod<[{
        Builds the same lookup in `table`, which is the op's own transposed; the result has its
        element type.
      }], "::mlir::Value", "buildTransposed",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$table)>,
  ];
}

def NormOpInterface : OpInterface<"NormOpInterface"> {
  let description = [{
    A norm of rows x: `(x - c) / sqrt(mean((x - c)^2) + eps) * weight + bias`, with c their mean or
    zero.
  }];
  let cppNamespace = "::sinter";
  let methods = [
    InterfaceMethod<"The rows, `[..., d]`.", "::mlir::Value", "getOperand", (ins)>,
    InterfaceMethod<"`[d]`.", "::mlir::Value", "getWeight", (ins)>,
    InterfaceMethod<"`[d]`, or null.", "::mlir::Value", "getBias", (ins), "", "return {};">,
    InterfaceMethod<"Whether c is the mean.", "bool", "centersRows", (ins), "", "return false;">,
    InterfaceMethod<"What is added to the mean square.", "::llvm::APFloat", "getEps", (ins)>,
  ];
}

def FusibleOpInterface : OpInterface<"FusibleOpInterface"> {
  let description = [{
    What part an op can play in a fused kernel.
  }];
  let cppNamespace = "::sinter";
  let methods = [
    InterfaceMethod<[{
        The part that the op plays:
        `Elementwise` one result element from the same element of each operand;
        `RowReduction` works along the last dimension and needs a whole row of its first operand;
        `ColumnReduction` sums over rows: needs a whole column of an operand, in blocks of rows;
        `PartReduction` one result element from those of the same place in all parts of its operand;
        `Index` moves elements without arithmetic: fused, it is address arithmetic;
        `Gather` reads rows chosen by data;
        `Update` writes into an operand's memory;
        `Contraction` a matmul: root of a GEMM kernel, takes an epilogue;
        `GroupedContraction` products of groups of rows, of a part of what it multiplies by, alone;
        `Attention` root of an attention kernel;
        `AttentionGrad` root of a kernel with the gradients of an attention;
        `Opaque` runs alone.
      }], "::sinter::FusionRole", "getFusionRole", (ins)>,
  ];
}

def InPlaceOpInterface : OpInterface<"InPlaceOpInterface"> {
  let description = [{
    An op that updates: a result is the operand with some elements replaced. After planning both
    have the same address; where the old value is still needed, planning inserts a copy.
  }];
  let cppNamespace = "::sinter";
  let methods = [
    InterfaceMethod<"The operand that `result` replaces, or null.", "::mlir::OpOperand *",
      "getInPlaceOperand", (ins "::mlir::OpResult":$result)>,
    InterfaceMethod<[{
        Whether the memory may have narrower elements than what is written into it, which is then
        rounded, as into a cache of keys. What is read to be written again, as an optimizer's state
        is, must not be.
      }], "bool", "roundsIntoMemory", (ins), "", "return false;">,
  ];
}

def ReferenceOpInterface : OpInterface<"ReferenceOpInterface"> {
  let description = [{
    The meaning of an op, computed plainly in double precision. Layouts and element types do not
    matter here, except that a value of a 16-bit type is rounded to it.
  }];
  let cppNamespace = "::sinter";
  let methods = [
    InterfaceMethod<"The results for the given operands, in order.",
      "::llvm::SmallVector<::sinter::ReferenceTensor>", "evaluate",
      (ins "::llvm::ArrayRef<::sinter::ReferenceTensor>":$operands)>,
  ];
}

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let description = [{
    An op whose adjoint is known: what the gradients of its results contribute to those of its
    operands (Adjoint.h).
  }];
  let cppNamespace = "::sinter";
  let methods = [
    InterfaceMethod<"Adds to the gradients of the operands; at least one result has a gradient.",
      "void", "buildAdjoint", (ins "::sinter::Adjoint &":$adjoint)>,
    InterfaceMethod<"Whether it is known of this form of the op, too.",
      "bool", "hasAdjoint", (ins), "", "return true;">,
  ];
}

def ShardableOpInterface : OpInterface<"ShardableOpInterface"> {
  let description = [{
    An op that may be split over a grid of devices, as its loops say (LoopNest.h).
  }];
  let cppNamespace = "::sinter";
  let methods = [
    InterfaceMethod<"How the op's loops go over its operands and results.", "::sinter::LoopNest",
      "getLoopNest", (ins)>,
    InterfaceMethod<[{Tells `part`, this op on a device's part of the tensors, where that stands in
      the whole. Only of ops whose nest is `placed`.}],
      "void", "placePart", (ins "::mlir::Operation *":$part, "::sinter::PartPlace &":$place),
      /*methodBody=*/"", /*defaultImplementation=*/"(void)part, (void)place;">,
  ];
}

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let description = [{
    An op that moves its operand between the ranks of a group. Between kernels it is a command of its
    own, of the name that the op has behind its dialect's.
  }];
  let cppNamespace = "::sinter";
  let methods = [
    InterfaceMethod<"The axes that the group is along, by name.", "::mlir::ArrayAttr", "getAxes", (ins)>,
    InterfaceMethod<"What is moved.", "::mlir::Value", "getOperand", (ins)>,
    InterfaceMethod<"What a rank has afterwards.", "::mlir::Value", "getResult", (ins)>,
    InterfaceMethod<"Bytes that a rank sends to others, in a group of so many ranks.", "int64_t",
      "getSentBytes", (ins "int64_t":$ranks)>,
    InterfaceMethod<[{
        The result on the rank with number `place` of a group, whose operands are given in order,
        computed plainly.
      }], "::sinter::ReferenceTensor", "evaluateRank",
      (ins "::llvm::ArrayRef<::sinter::ReferenceTensor>":$operands, "int64_t":$place)>,
  ];
}

def LayoutAttrInterface : AttrInterface<"LayoutAttrInterface"> {
  let description = [{
    How the elements of a tensor lie in memory; the encoding of a tensor type. A type without one
    is dense and row-major.
  }];
  let cppNamespace = "::sinter";
  let methods = [
    InterfaceMethod<"Elements that storage takes, padding included.", "int64_t",
      "getStorageElements", (ins "::llvm::ArrayRef<int64_t>":$shape)>,
    InterfaceMethod<"From a logical index to the element's offset in storage.", "::mlir::AffineMap",
      "getOffsetMap", (ins "::llvm::ArrayRef<int64_t>":$shape)>,
    InterfaceMethod<"What is wrong with the layout for this shape, or nothing.", "::std::string",
      "checkShape", (ins "::llvm::ArrayRef<int64_t>":$shape), "", "return {};">,
  ];
}

#endif // SINTER_INTERFACES
