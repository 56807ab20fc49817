//===- SinterAttributes.td - Enums and layouts --------------*- tablegen -*-===//
#ifndef SINTER_ATTRIBUTES
#define SINTER_ATTRIBUTES

include "dialects/Sinter/GridAttr.td"
include "dialects/Sinter/SinterDialect.td"
include "dialects/Sinter/TargetAttr.td"

def Sinter_ReductionKind : I32EnumAttr<"ReductionKind", "how a reduction combines elements", [
    I32EnumAttrCase<"Sum", 0, "sum">,
    I32EnumAttrCase<"Mean", 1, "mean">,
    I32EnumAttrCase<"Max", 2, "max">]> {
  let cppNamespace = "::sinter";
}

def Sinter_Role : I32EnumAttr<"Role", "what a state is to the model", [
    I32EnumAttrCase<"Parameter", 0, "parameter">,
    I32EnumAttrCase<"Optimizer", 1, "optimizer">,
    I32EnumAttrCase<"Gradient", 2, "gradient">,
    I32EnumAttrCase<"KvCache", 3, "kv_cache">,
    I32EnumAttrCase<"Recurrent", 4, "recurrent">]> {
  let cppNamespace = "::sinter";
  let genSpecializedAttr = 0;
}
def Sinter_RoleAttr : EnumAttr<SinterDialect, Sinter_Role, "role"> {
  let assemblyFormat = "`<` $value `>`";
}

/// A number in double precision.
class Sinter_DoubleParameter<string desc> : APFloatParameter<desc> {
  let parser = [{[&]() -> ::mlir::FailureOr<::llvm::APFloat> {
    double number;
    if ($_parser.parseFloat(number))
      return ::mlir::failure();
    return ::llvm::APFloat(number);
  }()}];
  let printer = "$_printer.printFloat($_self)";
}

def Sinter_NormalAttr : AttrDef<SinterDialect, "Normal"> {
  let mnemonic = "normal";
  let summary = "normal numbers, as what a parameter begins as";
  let description = [{
    Normal numbers of a mean and a standard deviation: all of them the mean where that is 0.
    C1: both are finite. C2: the deviation is not negative.

    ```mlir
    #sinter.normal<mean = 0.0, deviation = 0.02>
    ```
  }];
  let parameters = (ins Sinter_DoubleParameter<"their mean">:$mean,
                        Sinter_DoubleParameter<"their standard deviation">:$deviation);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

class Sinter_LayoutAttr<string name, string attrMnemonic>
    : AttrDef<SinterDialect, name, [DeclareAttrInterfaceMethods<LayoutAttrInterface, ["checkShape"]>]> {
  let mnemonic = attrMnemonic;
}

def Sinter_PanelsAttr : Sinter_LayoutAttr<"Panels", "panels"> {
  let summary = "a GEMM's right-hand side, cut into column panels";
  let description = [{
    A `[k, n]` matrix as panels of `width` columns, the last one padded, `k` padded to a multiple
    of `depth`; a panel is `[k / interleave][width][interleave]`, contiguous. A kernel that
    computes `width` outputs streams one panel from front to back. Several matrices `[g, k, n]` of
    whole panels lie one after another, as one matrix `[k, g * n]` would.

    Of integers of four bits a panel is `[k][width / 2]` bytes, each of which has column `j` in its
    lower half and column `j + width / 2` in its upper one: the bytes that fill a vector become two
    of neighbouring columns. A GPU has such integers in one panel as wide as the rows of a
    transposed right-hand side, padded to whole 32: of each 32 elements byte `j` has element `j` in
    its lower half and element `j + 16` in its upper one.

    With `values`, sixteen of them, a matrix of bytes that has no others is kept in four bits an
    element, which number them, in panels as of integers of four bits: C1: of interleave 4.

    Panels of bytes with interleave 4 are for instructions that multiply unsigned by signed bytes,
    where what is signed has 128 added. They end with a row of `width` integers of 32 bits that
    take it off again: -128 times the sum of each column.
  }];
  let parameters = (ins "int64_t":$width, "int64_t":$interleave, "int64_t":$depth,
                        OptionalParameter<"::mlir::DenseI8ArrayAttr">:$values);
  let builders = [AttrBuilder<(ins "int64_t":$width, "int64_t":$interleave, "int64_t":$depth), [{
    return $_get($_ctxt, width, interleave, depth, ::mlir::DenseI8ArrayAttr());
  }]>];
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Sinter_KeyPanelsAttr : Sinter_LayoutAttr<"KeyPanels", "key_panels"> {
  let summary = "a key cache, transposed in groups of positions";
  let description = [{
    A `[b, c, h, d]` cache as `[b][h][c / width][d / interleave][width][interleave]`, `c` and `d`
    padded. Scores of `width` positions are then sums of whole vectors: one load an element of the
    query and no horizontal additions.
  }];
  let parameters = (ins "int64_t":$width, "int64_t":$interleave);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Sinter_HeadMajorAttr : Sinter_LayoutAttr<"HeadMajor", "head_major"> {
  let summary = "a value cache, one head's rows contiguous";
  let description = [{
    A `[b, c, h, d]` cache as `[b][h][c][d]`: attention reads the rows of one head in a stream.
  }];
  let assemblyFormat = "";
}

#endif // SINTER_ATTRIBUTES
