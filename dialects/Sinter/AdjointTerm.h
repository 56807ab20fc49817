//===- AdjointTerm.h - Adjoints written as formulas -------------*- C++ -*-===//
//
// A value of the backward pass with the operators of arithmetic, so that the adjoint of an
// elementwise op is one formula in its definition: "g * (1.0 - y * y)" for tanh.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Interfaces/Adjoint.h"

namespace sinter {

class AdjointTerm {
public:
  AdjointTerm(Adjoint &adjoint, mlir::Value value) : adjoint(&adjoint), value(value) {}

  mlir::Value getValue() const { return value; }

  AdjointTerm operator-() const;
  friend AdjointTerm operator+(AdjointTerm lhs, AdjointTerm rhs);
  friend AdjointTerm operator-(AdjointTerm lhs, AdjointTerm rhs);
  friend AdjointTerm operator*(AdjointTerm lhs, AdjointTerm rhs);
  friend AdjointTerm operator/(AdjointTerm lhs, AdjointTerm rhs);

  friend AdjointTerm operator*(AdjointTerm lhs, double rhs) { return lhs * lhs.constant(rhs); }
  friend AdjointTerm operator+(double lhs, AdjointTerm rhs) { return rhs.constant(lhs) + rhs; }
  friend AdjointTerm operator-(double lhs, AdjointTerm rhs) { return rhs.constant(lhs) - rhs; }

  friend AdjointTerm sigmoid(AdjointTerm x);
  friend AdjointTerm step(AdjointTerm x);
  friend AdjointTerm geluDerivative(AdjointTerm x, bool tanh);

private:
  /// A number of this term's type.
  AdjointTerm constant(double number) const;
  template <typename Op, typename... Arguments> AdjointTerm make(Arguments... arguments) const;

  Adjoint *adjoint;
  mlir::Value value;
};

} // namespace sinter
