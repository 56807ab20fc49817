//===- ElementwiseOps.td - One element from one element -----*- tablegen -*-===//
#ifndef SINTER_ELEMENTWISE_OPS
#define SINTER_ELEMENTWISE_OPS

include "dialects/Sinter/SinterAttributes.td"

/// result[i] = f(operands[i]). The role, the cost and the reference follow from the interface; an
/// op gives its formula (ElementwiseOps.cpp) and its flops an element.
class Sinter_ElementwiseOp<string mnemonic, int flopsPerElement, list<Trait> traits = []>
    : Sinter_ReferenceOp<mnemonic, !listconcat(traits,
        [DeclareOpInterfaceMethods<ElementwiseOpInterface>, Elementwise])> {
  let results = (outs Sinter_Tensor:$result);
  code elementwiseDefinition = [{
    int64_t $cppClass::getFlops() { return }] # flopsPerElement # [{ * getType().getNumElements(); }
    ::sinter::FusionRole $cppClass::getFusionRole() { return ::sinter::FusionRole::Elementwise; }
    ::llvm::SmallVector<::sinter::ReferenceTensor>
    $cppClass::evaluate(::llvm::ArrayRef<::sinter::ReferenceTensor> operands) {
      return ::sinter::evaluateElementwise(*this, operands);
    }
  }];
  let extraClassDefinition = elementwiseDefinition;
}

class Sinter_UnaryOp<string mnemonic, int flopsPerElement>
    : Sinter_ElementwiseOp<mnemonic, flopsPerElement, [SameOperandsAndResultType]> {
  let arguments = (ins Sinter_FloatTensor:$operand);
}

class Sinter_BinaryOp<string mnemonic, int flopsPerElement, list<Trait> traits = []>
    : Sinter_ElementwiseOp<mnemonic, flopsPerElement, !listconcat(traits, [SameOperandsAndResultType])> {
  let arguments = (ins Sinter_FloatTensor:$lhs, Sinter_FloatTensor:$rhs);
}

def AddOp : Sinter_BinaryOp<"add", 1, [Commutative]> { let summary = "lhs + rhs"; }
def SubOp : Sinter_BinaryOp<"sub", 1> { let summary = "lhs - rhs"; }
def MulOp : Sinter_BinaryOp<"mul", 1, [Commutative]> { let summary = "lhs * rhs"; }
def DivOp : Sinter_BinaryOp<"div", 1> { let summary = "lhs / rhs"; }
def MaximumOp : Sinter_BinaryOp<"maximum", 1, [Commutative]> {
  let summary = "the larger of lhs and rhs; NaN if either is";
}
def MinimumOp : Sinter_BinaryOp<"minimum", 1, [Commutative]> {
  let summary = "the smaller of lhs and rhs; NaN if either is";
}

def NegOp : Sinter_UnaryOp<"neg", 1> { let summary = "-x"; }
def ExpOp : Sinter_UnaryOp<"exp", 1> { let summary = "e^x"; }
def LogOp : Sinter_UnaryOp<"log", 1> {
  let summary = "the natural logarithm of x; NaN below zero";
}
def SqrtOp : Sinter_UnaryOp<"sqrt", 1> { let summary = "the square root of x; NaN below zero"; }
def RsqrtOp : Sinter_UnaryOp<"rsqrt", 2> { let summary = "1 / sqrt(x)"; }
def TanhOp : Sinter_UnaryOp<"tanh", 1> { let summary = "tanh(x)"; }
def SigmoidOp : Sinter_UnaryOp<"sigmoid", 3> { let summary = "1 / (1 + e^-x)"; }
def ReluOp : Sinter_UnaryOp<"relu", 1> { let summary = "max(x, 0)"; }
def SiluOp : Sinter_UnaryOp<"silu", 4> {
  let summary = "x / (1 + e^-x), also called swish";
  let description = [{ Elfwing, Uchibe, Doya, "Sigmoid-weighted linear units", 2017. }];
}

def GeluOp : Sinter_ElementwiseOp<"gelu", 5, [SameOperandsAndResultType]> {
  let summary = "x * Phi(x), Phi the normal distribution function";
  let description = [{
    Exactly `x/2 (1 + erf(x / sqrt 2))`; with `tanh`, the approximation
    `x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))` (Hendrycks, Gimpel, "GELUs", 2016, section 2).
  }];
  let arguments = (ins Sinter_FloatTensor:$operand, UnitAttr:$tanh);
}

def SoftcapOp : Sinter_ElementwiseOp<"softcap", 3, [SameOperandsAndResultType]> {
  let summary = "cap * tanh(x / cap)";
  let description = [{
    Keeps logits and attention scores within (-cap, cap) (Gemma 2 report, section 2).
    C1: cap is positive.
  }];
  let arguments = (ins Sinter_FloatTensor:$operand, F64Attr:$cap);
  let hasVerifier = 1;
}

def CastOp : Sinter_ElementwiseOp<"cast", 0, [SameOperandsAndResultShape]> {
  let summary = "x in another element type, rounded to nearest even";
  let arguments = (ins Sinter_Tensor:$operand);
  let hasFolder = 1;
}

#endif // SINTER_ELEMENTWISE_OPS
