//===- GridAttr.td - A grid of devices and who holds what ---*- tablegen -*-===//
#ifndef SINTER_GRID_ATTR
#define SINTER_GRID_ATTR

include "dialects/Sinter/SinterDialect.td"

def Sinter_GridAttr : AttrDef<SinterDialect, "Grid"> {
  let mnemonic = "grid";
  let summary = "the devices that run one program, along named axes";
  let description = [{
    What a module is compiled for beside its target, its attribute `sinter.grid`. A device is a rank:
    its number is that of its place on the axes, the last of which counts fastest. Every rank runs the
    same program, on its own part of what is sharded.

    C1: names are not empty and not given twice. C2: sizes are positive.

    ```mlir
    #sinter.grid<data = 2, tensor = 4>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr", "axes, slowest first">:$names,
                        ArrayRefParameter<"int64_t", "ranks along each">:$sizes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Ranks of the whole grid.
    int64_t getRanks() const;
    /// Ranks along an axis; 1 for one that the grid does not have.
    int64_t getSize(::llvm::StringRef axis) const;
    /// Ranks of a group along these axes (names): the product of their sizes.
    int64_t getSize(::mlir::ArrayAttr axes) const;
    /// The ranks of the group along `axes` that `rank` is in, in the order of their places on these
    /// axes, the last of which counts fastest.
    ::llvm::SmallVector<int64_t> getGroup(::mlir::ArrayAttr axes, int64_t rank) const;
    /// The grid of a module (its attribute `sinter.grid`), or null: one device.
    static GridAttr lookup(::mlir::Operation *op);
  }];
}

def Sinter_ShardingAttr : AttrDef<SinterDialect, "Sharding"> {
  let mnemonic = "sharding";
  let summary = "which part of a tensor a rank holds";
  let description = [{
    For each dimension the axes that it is split along, slowest first: in as many equal parts as
    these have ranks, the last ones shorter or empty where they do not divide its extent. A tensor
    that is split along no axis is whole on every rank of it. `unreduced` are axes along which every
    rank has a term, of the whole shape: the tensor is the terms' sum.

    C1: no axis twice. C2: as many dimensions as the tensor has.

    ```mlir
    #sinter.sharding<[["data", "tensor"], []]>
    #sinter.sharding<[[], []] unreduced ["data"]>
    ```
  }];
  let parameters = (ins "::mlir::ArrayAttr":$dims, OptionalParameter<"::mlir::ArrayAttr">:$unreduced);
  let assemblyFormat = "`<` $dims (`unreduced` $unreduced^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Of a tensor that every rank has whole.
    static ShardingAttr getReplicated(::mlir::MLIRContext *context, int64_t rank);
    /// Whether ranks have terms of a sum.
    bool isUnreduced() const;
    /// Whether every rank has all of it.
    bool isReplicated() const;
    /// The axes of a dimension.
    ::mlir::ArrayAttr getAxes(int64_t dim) const;
    /// The type of a rank's part, the first and largest, of a tensor of type `whole`.
    ::mlir::RankedTensorType getLocalType(::mlir::RankedTensorType whole, GridAttr grid) const;
  }];
}

def Sinter_BoxAttr : AttrDef<SinterDialect, "Box"> {
  let mnemonic = "box";
  let summary = "where a state lies in a tensor of which it is a part";
  let description = [{
    What a program has in several states, as the parts of a fused matrix, is one tensor `name` of
    the type `whole` in weight files and checkpoints; this state is its elements from `offsets` on.

    ```mlir
    #sinter.box<"h.0.attn.c_attn.weight", tensor<768x2304xf32>, [0, 768]>
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::RankedTensorType":$whole,
                        ArrayRefParameter<"int64_t", "of the first element">:$offsets);
  let assemblyFormat = "`<` $name `,` $whole `,` `[` $offsets `]` `>`";
}

#endif // SINTER_GRID_ATTR
