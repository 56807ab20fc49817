//===- ElementwiseOps.td - One element from one element -----*- tablegen -*-===//
#ifndef SINTER_ELEMENTWISE_OPS
#define SINTER_ELEMENTWISE_OPS

include "dialects/Sinter/SinterAttributes.td"

/// result[i] = f(operands[i]). The role, the cost and the reference follow from the interface; an
/// op gives its formula (ElementwiseOps.cpp) and its flops an element.
class Sinter_ElementwiseOp<string mnemonic, int flopsPerElement, list<Trait> traits = []>
    : Sinter_ReferenceOp<mnemonic, !listconcat(traits,
        [DeclareOpInterfaceMethods<ElementwiseOpInterface>, Elementwise, Sinter_Shardable])> {
  let results = (outs Sinter_Tensor:$result);
  code elementwiseDefinition = [{
    int64_t $cppClass::getFlops() { return }] # flopsPerElement # [{ * getType().getNumElements(); }
    ::sinter::FusionRole $cppClass::getFusionRole() { return ::sinter::FusionRole::Elementwise; }
    ::sinter::LoopNest $cppClass::getLoopNest() { return ::sinter::makeElementwiseNest(*this); }
    ::llvm::SmallVector<::sinter::ReferenceTensor>
    $cppClass::evaluate(::llvm::ArrayRef<::sinter::ReferenceTensor> operands) {
      return ::sinter::evaluateElementwise(*this, operands);
    }
  }];
  let extraClassDefinition = elementwiseDefinition;
}

/// What an op adds that libraries do behind a product, under this name.
class Sinter_PostOp<string name> {
  code declaration = [{
    ::llvm::StringRef getPostOpName() { return "}] # name # [{"; }
  }];
}

/// An elementwise op of one operand `x` with the result `y`. `adjoint` is what it adds to the
/// gradient of x, an expression in x, y and the gradient `g` of y (AdjointTerm.h).
class Sinter_UnaryOp<string mnemonic, int flopsPerElement, string adjoint, dag attributes = (ins)>
    : Sinter_ElementwiseOp<mnemonic, flopsPerElement,
        [SameOperandsAndResultType, Sinter_Differentiable]> {
  let arguments = !con((ins Sinter_FloatTensor:$operand), attributes);
  let extraClassDefinition = elementwiseDefinition # [{
    void $cppClass::buildAdjoint(::sinter::Adjoint &adjoint) {
      ::sinter::AdjointTerm x(adjoint, getOperand()), y(adjoint, getResult()),
          g(adjoint, adjoint.getGradient(getResult()));
      (void)x, (void)y;
      adjoint.add(getOperand(), (}] # adjoint # [{).getValue());
    }
  }];
}

/// An elementwise op of operands `a` and `b` with the result `y`; `lhsAdjoint` and `rhsAdjoint` are
/// what it adds to their gradients.
class Sinter_BinaryOp<string mnemonic, int flopsPerElement, string lhsAdjoint, string rhsAdjoint,
                      list<Trait> traits = []>
    : Sinter_ElementwiseOp<mnemonic, flopsPerElement,
        !listconcat(traits, [SameOperandsAndResultType, Sinter_Differentiable])> {
  let arguments = (ins Sinter_FloatTensor:$lhs, Sinter_FloatTensor:$rhs);
  let extraClassDefinition = elementwiseDefinition # [{
    void $cppClass::buildAdjoint(::sinter::Adjoint &adjoint) {
      ::sinter::AdjointTerm a(adjoint, getLhs()), b(adjoint, getRhs()), y(adjoint, getResult()),
          g(adjoint, adjoint.getGradient(getResult()));
      (void)a, (void)b, (void)y;
      if (adjoint.isNeeded(getLhs()))
        adjoint.add(getLhs(), (}] # lhsAdjoint # [{).getValue());
      if (adjoint.isNeeded(getRhs()))
        adjoint.add(getRhs(), (}] # rhsAdjoint # [{).getValue());
    }
  }];
}

def AddOp : Sinter_BinaryOp<"add", 1, "g", "g", [Commutative]> {
  let summary = "lhs + rhs";
  let extraClassDeclaration = Sinter_PostOp<"add">.declaration;
}
def SubOp : Sinter_BinaryOp<"sub", 1, "g", "-g"> { let summary = "lhs - rhs"; }
def MulOp : Sinter_BinaryOp<"mul", 1, "g * b", "g * a", [Commutative]> {
  let summary = "lhs * rhs";
  let extraClassDeclaration = Sinter_PostOp<"multiply">.declaration;
}
def DivOp : Sinter_BinaryOp<"div", 1, "g / b", "-(g * y) / b"> { let summary = "lhs / rhs"; }
// Of equal operands the right-hand one takes the gradient.
def MaximumOp : Sinter_BinaryOp<"maximum", 1, "g * step(a - b)", "g * (1.0 - step(a - b))",
                                [Commutative]> {
  let summary = "the larger of lhs and rhs; NaN if either is";
}
def MinimumOp : Sinter_BinaryOp<"minimum", 1, "g * step(b - a)", "g * (1.0 - step(b - a))",
                                [Commutative]> {
  let summary = "the smaller of lhs and rhs; NaN if either is";
}
def WhereFiniteOp : Sinter_ElementwiseOp<"where_finite", 1, [SameOperandsAndResultType]> {
  let summary = "value where test is finite, otherwise where it is infinite or NaN";
  let arguments = (ins Sinter_FloatTensor:$test, Sinter_FloatTensor:$value,
                       Sinter_FloatTensor:$otherwise);
}

def NegOp : Sinter_UnaryOp<"neg", 1, "-g"> { let summary = "-x"; }
def ExpOp : Sinter_UnaryOp<"exp", 1, "g * y"> { let summary = "e^x"; }
def LogOp : Sinter_UnaryOp<"log", 1, "g / x"> {
  let summary = "the natural logarithm of x; NaN below zero";
}
def SqrtOp : Sinter_UnaryOp<"sqrt", 1, "g / y * 0.5"> {
  let summary = "the square root of x; NaN below zero";
}
def RsqrtOp : Sinter_UnaryOp<"rsqrt", 2, "g * (y * y * y) * -0.5"> {
  let summary = "1 / sqrt(x)";
}
def TanhOp : Sinter_UnaryOp<"tanh", 1, "g * (1.0 - y * y)"> { let summary = "tanh(x)"; }
def SigmoidOp : Sinter_UnaryOp<"sigmoid", 3, "g * (y * (1.0 - y))"> {
  let summary = "1 / (1 + e^-x)";
}
def ReluOp : Sinter_UnaryOp<"relu", 1, "g * step(x)"> {
  let summary = "max(x, 0)";
  let extraClassDeclaration = Sinter_PostOp<"relu">.declaration;
}
def SiluOp : Sinter_UnaryOp<"silu", 4, "g * (sigmoid(x) * (1.0 + x * (1.0 - sigmoid(x))))"> {
  let summary = "x / (1 + e^-x), also called swish";
  let description = [{ Elfwing, Uchibe, Doya, "Sigmoid-weighted linear units", 2017. }];
  let extraClassDeclaration = Sinter_PostOp<"silu">.declaration;
}

def GeluOp : Sinter_UnaryOp<"gelu", 5, "g * geluDerivative(x, getTanh())", (ins UnitAttr:$tanh)> {
  let summary = "x * Phi(x), Phi the normal distribution function";
  let description = [{
    Exactly `x/2 (1 + erf(x / sqrt 2))`; with `tanh`, the approximation
    `x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))` (Hendrycks, Gimpel, "GELUs", 2016, section 2).
  }];
  let extraClassDeclaration = [{
    ::llvm::StringRef getPostOpName() { return getTanh() ? "gelu_tanh" : "gelu"; }
  }];
}

def SoftcapOp : Sinter_UnaryOp<"softcap", 3,
    "g * (1.0 - y * y * (1.0 / (getCap().convertToDouble() * getCap().convertToDouble())))",
    (ins F64Attr:$cap)> {
  let summary = "cap * tanh(x / cap)";
  let description = [{
    Keeps logits and attention scores within (-cap, cap) (Gemma 2 report, section 2).
    C1: cap is positive.
  }];
  let hasVerifier = 1;
}

// Derivatives that are kernels' work but no combination of the above.

def StepOp : Sinter_ElementwiseOp<"step", 1, [SameOperandsAndResultType]> {
  let summary = "1 where x > 0, else 0: the derivative of relu";
  let arguments = (ins Sinter_FloatTensor:$operand);
}

def RoundOp : Sinter_ElementwiseOp<"round", 1, [SameOperandsAndResultType]> {
  let summary = "the integer nearest to x, the even one of two";
  let arguments = (ins Sinter_FloatTensor:$operand);
}

def GeluDerivativeOp : Sinter_ElementwiseOp<"gelu_derivative", 9, [SameOperandsAndResultType]> {
  let summary = "the derivative of gelu";
  let description = [{
    `Phi(x) + x phi(x)` with the normal distribution's function and density; with `tanh`, the
    derivative of the approximation.
  }];
  let arguments = (ins Sinter_FloatTensor:$operand, UnitAttr:$tanh);
}

def CastOp : Sinter_ElementwiseOp<"cast", 0, [SameOperandsAndResultShape, Sinter_Differentiable]> {
  let summary = "x in another element type, rounded to nearest even; to integers, towards zero";
  let arguments = (ins Sinter_Tensor:$operand);
  let hasFolder = 1;
}

#endif // SINTER_ELEMENTWISE_OPS
