//===- CheckOps.td - Assertions inside IR -------------------*- tablegen -*-===//
#ifndef SINTER_CHECK_OPS
#define SINTER_CHECK_OPS

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/Interfaces/Interfaces.td"

def CheckDialect : Dialect {
  let name = "check";
  let cppNamespace = "::sinter::check";
  let summary = "Assertions inside IR, for tests";
  let description = [{
    Evaluated by `--sinter-evaluate`; a test written with them judges itself.
  }];
}

def ExpectCloseOp : Op<CheckDialect, "expect_close", [DeclareOpInterfaceMethods<ReferenceOpInterface>]> {
  let summary = "fails unless |actual - expected| <= tolerance * max(1, |expected|) everywhere";
  let description = [{ C1: both have one shape. C2: tolerance is not negative. }];
  let arguments = (ins AnyStaticShapeTensor:$actual, AnyStaticShapeTensor:$expected,
                       DefaultValuedAttr<F64Attr, "1.0e-12">:$tolerance);
  let assemblyFormat = "$actual `,` $expected attr-dict `:` type($actual) `,` type($expected)";
  let hasVerifier = 1;
}

def ExpectConstOp : Op<CheckDialect, "expect_const", [DeclareOpInterfaceMethods<ReferenceOpInterface>]> {
  let summary = "fails unless the value is the constant, within tolerance * max(1, |constant|)";
  let description = [{ C1: value and constant have one shape. C2: tolerance is not negative. }];
  let arguments = (ins AnyStaticShapeTensor:$actual, ElementsAttr:$expected,
                       DefaultValuedAttr<F64Attr, "1.0e-12">:$tolerance);
  let assemblyFormat = "$actual `,` $expected attr-dict `:` type($actual)";
  let hasVerifier = 1;
}

#endif // SINTER_CHECK_OPS
