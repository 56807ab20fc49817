#include "compiler/Codegen/Loops/IndexSpace.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineMap.h"
#include <numeric>

using namespace mlir;
using namespace sinter;

namespace {
/// constant + sum of coefficient * atom; an atom is a dimension, a floordiv or a mod.
struct Linear {
  SmallVector<std::pair<AffineExpr, int64_t>> terms;
  int64_t constant = 0;

  void add(AffineExpr atom, int64_t coefficient) {
    for (auto it = terms.begin(); it != terms.end(); ++it)
      if (it->first == atom) {
        it->second += coefficient;
        if (it->second == 0)
          terms.erase(it);
        return;
      }
    if (coefficient != 0)
      terms.emplace_back(atom, coefficient);
  }
  void add(const Linear &other, int64_t factor = 1) {
    for (auto [atom, coefficient] : other.terms)
      add(atom, coefficient * factor);
    constant += other.constant * factor;
  }
};

/// Simplification of one expression.
class Simplifier {
public:
  Simplifier(MLIRContext *context, function_ref<IndexSpace::Range(unsigned)> dimRange)
      : context(context), dimRange(dimRange) {}

  Linear toLinear(AffineExpr expr) {
    Linear result;
    switch (expr.getKind()) {
    case AffineExprKind::Constant:
      result.constant = cast<AffineConstantExpr>(expr).getValue();
      return result;
    case AffineExprKind::DimId:
      result.add(expr, 1);
      return result;
    case AffineExprKind::SymbolId:
    case AffineExprKind::CeilDiv:
      llvm_unreachable("layouts and index ops make neither symbols nor ceildiv");
    default:
      break;
    }
    auto binary = cast<AffineBinaryOpExpr>(expr);
    result = toLinear(binary.getLHS());
    if (expr.getKind() == AffineExprKind::Add) {
      result.add(toLinear(binary.getRHS()));
      recombine(result);
      return result;
    }
    Linear right = toLinear(binary.getRHS());
    if (expr.getKind() == AffineExprKind::Mul && result.terms.empty())
      std::swap(result, right);
    assert(right.terms.empty() && "expected an affine expression");
    if (expr.getKind() == AffineExprKind::FloorDiv)
      return divide(result, right.constant);
    if (expr.getKind() == AffineExprKind::Mod)
      return remainder(result, right.constant);
    Linear product;
    product.add(result, right.constant);
    return product;
  }

  AffineExpr toExpr(const Linear &linear) const {
    AffineExpr expr = getAffineConstantExpr(linear.constant, context);
    for (auto [atom, coefficient] : linear.terms)
      expr = expr + atom * coefficient;
    return expr;
  }

  IndexSpace::Range getRange(const Linear &linear) {
    IndexSpace::Range sum{linear.constant, linear.constant};
    for (auto [atom, coefficient] : linear.terms) {
      IndexSpace::Range range = getAtomRange(atom);
      if (coefficient < 0)
        std::swap(range.first, range.last);
      sum.first += coefficient * range.first;
      sum.last += coefficient * range.last;
    }
    return sum;
  }

private:
  IndexSpace::Range getAtomRange(AffineExpr atom) {
    if (auto dim = dyn_cast<AffineDimExpr>(atom))
      return dimRange(dim.getPosition());
    auto binary = cast<AffineBinaryOpExpr>(atom);
    // Building a quotient may have folded it into something else.
    if (atom.getKind() != AffineExprKind::Mod && atom.getKind() != AffineExprKind::FloorDiv)
      return getRange(toLinear(atom));
    int64_t divisor = cast<AffineConstantExpr>(binary.getRHS()).getValue();
    if (atom.getKind() == AffineExprKind::Mod)
      return {0, divisor - 1};
    IndexSpace::Range range = getRange(toLinear(binary.getLHS()));
    return {llvm::divideFloorSigned(range.first, divisor),
            llvm::divideFloorSigned(range.last, divisor)};
  }

  bool liesWithin(const Linear &linear, int64_t extent) { return getQuotient(linear, extent) == 0; }

  /// The one value that linear floordiv divisor takes, if it does not change.
  std::optional<int64_t> getQuotient(const Linear &linear, int64_t divisor) {
    IndexSpace::Range range = getRange(linear);
    int64_t quotient = llvm::divideFloorSigned(range.first, divisor);
    if (quotient != llvm::divideFloorSigned(range.last, divisor))
      return std::nullopt;
    return quotient;
  }

  /// Moves the terms that are multiples of `factor` out of `linear`; returns them divided by it.
  static Linear takeMultiples(Linear &linear, int64_t factor) {
    Linear multiples, rest;
    for (auto [atom, coefficient] : linear.terms)
      if (coefficient % factor == 0)
        multiples.add(atom, coefficient / factor);
      else
        rest.add(atom, coefficient);
    multiples.constant = llvm::divideFloorSigned(linear.constant, factor);
    rest.constant = linear.constant - multiples.constant * factor;
    linear = rest;
    return multiples;
  }

  /// A factor g of `divisor` with linear = g * big + small and 0 <= small < g, or 1.
  int64_t findGrain(const Linear &linear, int64_t divisor) {
    int64_t best = 1;
    for (auto [atom, coefficient] : linear.terms) {
      int64_t grain = std::gcd(coefficient, divisor);
      Linear small = linear;
      takeMultiples(small, grain);
      if (grain > best && liesWithin(small, grain))
        best = grain;
    }
    return best;
  }

  Linear divide(Linear linear, int64_t divisor) {
    Linear quotient = takeMultiples(linear, divisor);
    if (std::optional<int64_t> fixed = getQuotient(linear, divisor)) {
      quotient.constant += *fixed;
      return quotient;
    }
    if (int64_t grain = findGrain(linear, divisor); grain > 1) {
      Linear big = takeMultiples(linear, grain);
      quotient.add(divide(big, divisor / grain));
      return quotient;
    }
    if (linear.terms.size() == 1 && linear.constant == 0 && linear.terms[0].second == 1)
      if (AffineExpr atom = linear.terms[0].first; atom.getKind() == AffineExprKind::FloorDiv) {
        auto inner = cast<AffineBinaryOpExpr>(atom);
        int64_t product = divisor * cast<AffineConstantExpr>(inner.getRHS()).getValue();
        quotient.add(divide(toLinear(inner.getLHS()), product));
        return quotient;
      }
    quotient.add(toExpr(linear).floorDiv(divisor), 1);
    return quotient;
  }

  Linear remainder(Linear linear, int64_t divisor) {
    takeMultiples(linear, divisor);
    if (std::optional<int64_t> fixed = getQuotient(linear, divisor)) {
      linear.constant -= *fixed * divisor;
      return linear;
    }
    if (int64_t grain = findGrain(linear, divisor); grain > 1) {
      Linear big = takeMultiples(linear, grain);
      linear.add(remainder(big, divisor / grain), grain);
      return linear;
    }
    Linear result;
    result.add(toExpr(linear) % divisor, 1);
    return result;
  }

  /// Rewrites c * (x floordiv n) + (c / n) * (x mod n) as (c / n) * x until none is left.
  void recombine(Linear &linear) {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto [atom, coefficient] : linear.terms) {
        if (atom.getKind() != AffineExprKind::Mod)
          continue;
        auto mod = cast<AffineBinaryOpExpr>(atom);
        int64_t divisor = cast<AffineConstantExpr>(mod.getRHS()).getValue();
        // The quotient may have been simplified into parts; all of them must be there.
        Linear expected = divide(toLinear(mod.getLHS()), divisor);
        bool found = !expected.terms.empty() && llvm::all_of(expected.terms, [&](auto part) {
          return llvm::is_contained(linear.terms,
                                    std::pair(part.first, part.second * divisor * coefficient));
        });
        if (!found)
          continue;
        AffineExpr whole = mod.getLHS();
        int64_t scale = coefficient;
        linear.add(expected, -divisor * scale);
        linear.add(atom, -scale);
        linear.add(toLinear(whole), scale);
        changed = true;
        break;
      }
    }
  }

  MLIRContext *context;
  function_ref<IndexSpace::Range(unsigned)> dimRange;
};
} // namespace

AffineExpr IndexSpace::addDim(Value value, int64_t lower, int64_t upper) {
  assert(lower < upper && "expected a range that is not empty");
  dims.push_back({value, {lower, upper - 1}});
  return getAffineDimExpr(dims.size() - 1, context);
}

AffineExpr IndexSpace::simplify(AffineExpr expr) const {
  auto dimRange = [&](unsigned position) { return dims[position].range; };
  Simplifier simplifier(context, dimRange);
  Linear linear = simplifier.toLinear(expr);
  Range range = simplifier.getRange(linear);
  return range.first == range.last ? constant(range.first) : simplifier.toExpr(linear);
}

IndexSpace::Range IndexSpace::getRange(AffineExpr expr) const {
  auto dimRange = [&](unsigned position) { return dims[position].range; };
  Simplifier simplifier(context, dimRange);
  return simplifier.getRange(simplifier.toLinear(expr));
}

AffineExpr IndexSpace::linearize(ArrayRef<AffineExpr> index, ArrayRef<int64_t> shape) const {
  AffineExpr linear = constant(0);
  for (auto [expr, extent] : llvm::zip_equal(index, shape))
    linear = linear * extent + expr;
  return simplify(linear);
}

SmallVector<AffineExpr> IndexSpace::delinearize(AffineExpr linear, ArrayRef<int64_t> shape) const {
  SmallVector<AffineExpr> index(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    index[i] = shape[i] == 1 ? constant(0) : simplify(i == 0 ? linear : linear % shape[i]);
    linear = simplify(linear.floorDiv(shape[i]));
  }
  return index;
}

SmallVector<AffineExpr> IndexSpace::apply(AffineMap map, ArrayRef<AffineExpr> index) const {
  SmallVector<AffineExpr> results;
  for (AffineExpr expr : map.getResults())
    results.push_back(simplify(expr.replaceDims(index)));
  return results;
}

bool IndexSpace::dependsOn(AffineExpr expr, AffineExpr dim) {
  return expr.isFunctionOfDim(cast<AffineDimExpr>(dim).getPosition());
}

bool IndexSpace::dependsOn(ArrayRef<AffineExpr> index, AffineExpr dim) {
  return llvm::any_of(index, [&](AffineExpr expr) { return dependsOn(expr, dim); });
}

bool IndexSpace::haveValues(ArrayRef<AffineExpr> exprs) const {
  auto hasValue = [&](AffineExpr expr) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    return !dim || dims[dim.getPosition()].value;
  };
  return llvm::all_of(exprs, [&](AffineExpr expr) {
    bool all = true;
    expr.walk([&](AffineExpr part) { all &= hasValue(part); });
    return all;
  });
}

Value IndexSpace::materialize(OpBuilder &builder, Location loc, AffineExpr expr) const {
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return arith::ConstantIndexOp::create(builder, loc, number.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()].value;
  SmallVector<Value> operands;
  SmallVector<AffineExpr> replacements;
  for (auto [position, dim] : llvm::enumerate(dims)) {
    bool used = expr.isFunctionOfDim(position);
    replacements.push_back(used ? getAffineDimExpr(operands.size(), context) : constant(0));
    if (used)
      operands.push_back(dim.value);
  }
  AffineMap map = AffineMap::get(operands.size(), 0, expr.replaceDims(replacements));
  return affine::AffineApplyOp::create(builder, loc, map, operands);
}
