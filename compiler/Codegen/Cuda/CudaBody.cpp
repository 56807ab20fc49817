#include "compiler/Codegen/Cuda/CudaBody.h"
#include "compiler/Codegen/Cuda/CudaExpression.h"
#include "compiler/Codegen/Cuda/Kernels.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace sinter;
using llvm::formatv;

/// Characters of an expression that is not given a name of its own, as a part of another one and
/// as all that a statement assigns.
static constexpr size_t kPartLength = 60, kAssignedLength = 88;

namespace {
/// A kernel that is the code of one thread.
class BodyPrinter {
public:
  BodyPrinter(raw_ostream &out, func::FuncOp kernel) : out(out), kernel(kernel) {
    for (Type type : kernel.getArgumentTypes())
      wide |= cast<MemRefType>(type).getNumElements() >= int64_t(1) << 31;
  }

  LogicalResult print(ArrayRef<std::string> arguments) {
    for (auto [argument, name] : llvm::zip_equal(kernel.getArguments(), arguments))
      values[argument] = {makeName(name)};
    printBlock(kernel.front());
    return failure(failed);
  }

private:
  //===--------------------------------------------------------------------===//
  // Text
  //===--------------------------------------------------------------------===//

  raw_ostream &line() { return out.indent(2 * depth); }

  std::string makeName(StringRef hint) {
    std::string name = hint.str();
    for (unsigned i = 1; !names.insert(name).second; ++i)
      name = hint.str() + std::to_string(i);
    return name;
  }

  std::string fail(Operation *op, const Twine &what) {
    if (!failed)
      op->emitError("expected ") << what << " that can be written as CUDA C++, got "
                                 << op->getName();
    failed = true;
    return "";
  }

  std::string typeOf(Operation *op, Type type) {
    if (std::optional<std::string> text = getCudaType(type, wide))
      return *text;
    return fail(op, "values of types");
  }
  std::string typeOf(Value value) {
    return typeOf(value.getParentBlock()->getParentOp(), value.getType());
  }

  const CudaExpression &get(Value value) {
    auto found = values.find(value);
    assert(found != values.end() && "expected a value before its use");
    return found->second;
  }
  std::string text(Value value, Binding limit = Binding::Choice) {
    return get(value).within(limit);
  }

  //===--------------------------------------------------------------------===//
  // Names and expressions
  //===--------------------------------------------------------------------===//

  /// Gives a value its expression: in the place of its only use where that is near and the text is
  /// short, else under a name.
  void define(Value value, CudaExpression expression, StringRef hint = "v") {
    if (value.use_empty())
      return;
    bool isAssigned =
        value.hasOneUse() && isa<vector::InsertOp, memref::StoreOp>(*value.user_begin());
    bool isShort = expression.text.size() <= (isAssigned ? kAssignedLength : kPartLength);
    if ((isShort || isa<vector::BroadcastOp>(value.getDefiningOp())) && canStandInUse(value)) {
      values[value] = std::move(expression);
      return;
    }
    name(value, expression, hint);
  }

  void name(Value value, const CudaExpression &expression, StringRef hint) {
    if (value.use_empty())
      return;
    std::string name = makeName(hint);
    line() << "const " << typeOf(value) << " " << name << " = " << expression.text << ";\n";
    values[value] = {name};
  }

  bool canStandInUse(Value value) {
    Operation *op = value.getDefiningOp();
    if (op->hasTrait<OpTrait::ConstantLike>() || isa<vector::BroadcastOp>(op))
      return true;
    if (!value.hasOneUse())
      return false;
    Operation *user = *value.user_begin();
    if (user->getBlock() != op->getBlock() || (user->getNumRegions() != 0 && !isa<scf::IfOp>(user)))
      return false;
    // A variable that is read later has another value by then, unless the reader updates it.
    bool readsVariable =
        llvm::any_of(op->getOperands(), [&](Value operand) { return readers.contains(operand); });
    if (!readsVariable)
      return true;
    if (!endsInUpdate(user))
      return false;
    readers.insert(value);
    return true;
  }

  /// Whether all that is made of an op's result is one update of a variable at the block's end.
  static bool endsInUpdate(Operation *op) {
    while (!isa<vector::InsertOp, scf::YieldOp>(op)) {
      if (op->getNumResults() != 1 || op->getNumRegions() != 0 || !op->hasOneUse() ||
          (*op->user_begin())->getBlock() != op->getBlock())
        return false;
      op = *op->user_begin();
    }
    return true;
  }

  /// A value that lives in a variable, which later values take over.
  void setVariable(Value value, const std::string &name) {
    values[value] = {name};
    readers.insert(value);
  }

  /// Whether an op may change the variable of a value: nothing reads it any more.
  bool canTakeOver(Value value, Operation *op) {
    if (!readers.contains(value) || get(value).binding != Binding::Primary)
      return false;
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      if (op->isAncestor(user))
        return true;
      if (user->getBlock() == op->getBlock() && user->isBeforeInBlock(op))
        return true;
      auto branches = dyn_cast<scf::IfOp>(user->getParentOp());
      return isa<scf::YieldOp>(user) && branches && branches->isProperAncestor(op) &&
             user->getBlock() == branches.elseBlock();
    });
  }

  //===--------------------------------------------------------------------===//
  // Operations
  //===--------------------------------------------------------------------===//

  void printBlock(Block &block) {
    for (Operation &op : block)
      if (!failed)
        printOp(&op);
  }

  void printOp(Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](scf::ForOp loop) { printFor(loop); })
        .Case([&](scf::IfOp branches) { printIf(branches); })
        .Case([&](scf::YieldOp yield) { printYield(yield); })
        // A variable that is written before it is read.
        .Case<func::ReturnOp, ub::PoisonOp>([&](auto) {})
        .Case([&](memref::AllocaOp buffer) { printBuffer(buffer); })
        .Case([&](memref::LoadOp load) { printLoad(load); })
        .Case([&](memref::StoreOp store) {
          line() << element(store.getMemRef(), store.getIndices()) << " = "
                 << text(store.getValueToStore()) << ";\n";
        })
        .Case([&](vector::LoadOp load) {
          VectorType type = load.getVectorType();
          name(load.getResult(),
               makeCall(formatv("sinter::load<{0}, {1}>", typeOf(op, type.getElementType()),
                                type.getNumElements()),
                        address(load.getBase(), load.getIndices())),
               text(load.getBase()) + "_row");
        })
        .Case([&](vector::StoreOp store) {
          line() << "sinter::store(" << address(store.getBase(), store.getIndices()) << ", "
                 << text(store.getValueToStore()) << ");\n";
        })
        .Case([&](vector::InsertOp insert) { printInsert(insert); })
        .Case([&](gpu::BarrierOp) {
          auto threads = kernel->getAttrOfType<IntegerAttr>(kThreadsAttribute);
          line() << (threads && threads.getInt() <= 32 ? "__syncwarp();\n" : "__syncthreads();\n");
        })
        .Case([&](gpu::AllReduceOp reduce) {
          auto block = kernel->getAttrOfType<IntegerAttr>(kThreadsAttribute);
          bool isSum = reduce.getOp() == gpu::AllReduceOperation::ADD;
          name(reduce.getResult(),
               makeCall(
                   formatv("sinter::block_reduce_{0}<{1}>", isSum ? "sum" : "max", block.getInt()),
                   text(reduce.getValue())),
               isSum ? "total" : "largest");
        })
        .Case([&](gpu::SubgroupReduceOp reduce) {
          bool isSum = reduce.getOp() == gpu::AllReduceOperation::ADD;
          name(reduce.getResult(),
               makeCall(formatv("sinter::warp_reduce_{0}<{1}>", isSum ? "sum" : "max",
                                reduce.getClusterSize().value_or(32)),
                        text(reduce.getValue())),
               isSum ? "total" : "largest");
        })
        .Case([&](arith::MulUIExtendedOp multiply) {
          std::string product = makeName("product");
          line() << "const unsigned long long " << product
                 << " = static_cast<unsigned long long>(static_cast<unsigned>("
                 << text(multiply.getLhs()) << ")) * static_cast<unsigned>("
                 << text(multiply.getRhs()) << ");\n";
          define(multiply.getLow(), {"static_cast<int>(" + product + ")"});
          define(multiply.getHigh(), {"static_cast<int>(" + product + " >> 32)"});
        })
        .Default([&](Operation *op) {
          if (op->getNumResults() != 1 || op->getNumRegions() != 0) {
            fail(op, "an operation");
            return;
          }
          StringRef hint = isa<gpu::ThreadIdOp>(op)               ? "thread"
                           : isa<gpu::BlockIdOp>(op)              ? "block"
                           : op->getResult(0).getType().isIndex() ? "n"
                                                                  : "v";
          define(op->getResult(0), express(op), hint);
        });
  }

  template <class Op> static bool isApproximate(Op op) {
    return arith::bitEnumContainsAny(op.getFastmath(), arith::FastMathFlags::afn) &&
           op.getType().isF32();
  }

  /// The expression of an operation without regions that computes one value of others.
  CudaExpression express(Operation *op) {
    auto arg = [&](unsigned i) -> const CudaExpression & { return get(op->getOperand(i)); };
    auto binary = [&](StringRef symbol, Binding binding) {
      return makeBinary(arg(0), symbol, arg(1), binding);
    };
    auto call = [&](StringRef function) {
      SmallVector<std::string> arguments;
      for (Value operand : op->getOperands())
        arguments.push_back(text(operand));
      return makeCall("sinter::" + function, arguments);
    };
    auto castTo = [&](const Twine &type) -> CudaExpression {
      return {"static_cast<" + type.str() + ">(" + arg(0).text + ")"};
    };
    std::string type = typeOf(op, op->getResult(0).getType());
    // A constant is an int, beside wider numbers too.
    auto callOfType = [&](StringRef function) {
      return call(type == "int" ? function.str() : (function + "<" + type + ">").str());
    };
    auto asUnsigned = [&](unsigned i) -> CudaExpression {
      Type type = op->getOperand(i).getType();
      bool isLong = type.isInteger(64) || (type.isIndex() && wide);
      return {std::string("static_cast<unsigned") + (isLong ? " long long>(" : ">(") +
              text(op->getOperand(i)) + ")"};
    };
    return llvm::TypeSwitch<Operation *, CudaExpression>(op)
        .Case([&](arith::ConstantOp constant) { return printConstant(constant); })
        .Case([&](arith::AddFOp) { return binary("+", Binding::Sum); })
        .Case(
            [&](arith::AddIOp) { return arg(0).text == "0" ? arg(1) : binary("+", Binding::Sum); })
        .Case<arith::SubFOp, arith::SubIOp>([&](auto) { return binary("-", Binding::Sum); })
        .Case<arith::MulFOp, arith::MulIOp>([&](auto) { return binary("*", Binding::Product); })
        .Case([&](arith::DivFOp division) {
          return isApproximate(division) ? call("divide_fast") : binary("/", Binding::Product);
        })
        // Indices are not negative.
        .Case<arith::DivUIOp, arith::RemUIOp>([&](Operation *op) {
          StringRef symbol = isa<arith::DivUIOp>(op) ? "/" : "%";
          if (op->getResult(0).getType().isIndex())
            return binary(symbol, Binding::Product);
          return makeBinary(asUnsigned(0), symbol, asUnsigned(1), Binding::Product);
        })
        .Case<arith::DivSIOp>([&](auto) { return binary("/", Binding::Product); })
        .Case<arith::RemSIOp>([&](auto) { return binary("%", Binding::Product); })
        .Case([&](arith::AndIOp) { return binary(type == "bool" ? "&&" : "&", Binding::And); })
        .Case([&](arith::OrIOp) { return binary(type == "bool" ? "||" : "|", Binding::Or); })
        .Case([&](arith::XOrIOp) { return binary(type == "bool" ? "!=" : "^", Binding::Xor); })
        .Case(
            [&](arith::ShRUIOp) { return makeBinary(asUnsigned(0), ">>", arg(1), Binding::Shift); })
        .Case([&](arith::NegFOp) {
          return CudaExpression{"-" + arg(0).within(Binding::Primary), Binding::Unary};
        })
        .Case([&](arith::MaximumFOp) { return call("maximum"); })
        .Case([&](arith::MinimumFOp) { return call("minimum"); })
        .Case([&](arith::MaxNumFOp) { return call("maxnum"); })
        .Case([&](arith::MinNumFOp) { return call("minnum"); })
        .Case([&](arith::MaxSIOp) { return callOfType("max_of"); })
        .Case([&](arith::MinSIOp) { return callOfType("min_of"); })
        .Case<arith::ExtFOp, arith::TruncFOp>([&](Operation *op) {
          Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
          if (to.isF32() && from.getIntOrFloatBitWidth() <= 16)
            return makeCall("sinter::to_float", arg(0).text);
          if (from.isF32() && to.getIntOrFloatBitWidth() <= 16)
            return makeCall("sinter::from_float<" + type + ">", arg(0).text);
          return makeCall("sinter::convert<" + type + ">", arg(0).text);
        })
        .Case<arith::SIToFPOp, arith::FPToSIOp, arith::TruncIOp, arith::ExtSIOp>(
            [&](auto) { return castTo(type); })
        .Case([&](arith::UIToFPOp) {
          return CudaExpression{"static_cast<" + type + ">(" + asUnsigned(0).text + ")"};
        })
        .Case([&](arith::IndexCastOp cast) {
          return typeOf(op, cast.getIn().getType()) == type ? arg(0) : castTo(type);
        })
        .Case([&](arith::CmpIOp compare) { return printCompare(compare, asUnsigned); })
        .Case([&](arith::CmpFOp compare) { return printCompare(compare); })
        .Case([&](arith::SelectOp) {
          return CudaExpression{text(op->getOperand(0), Binding::Or) + " ? " +
                                    text(op->getOperand(1), Binding::Or) + " : " +
                                    text(op->getOperand(2), Binding::Or),
                                Binding::Choice};
        })
        .Case([&](math::ExpOp exponential) {
          return call(isApproximate(exponential) ? "exp_fast" : "exp");
        })
        .Case([&](math::Exp2Op exponential) {
          return call(isApproximate(exponential) ? "exp2_fast" : "exp2");
        })
        .Case([&](math::LogOp) { return call("log"); })
        .Case([&](math::TanhOp) { return call("tanh"); })
        .Case([&](math::ErfOp) { return call("erf"); })
        .Case([&](math::SqrtOp) { return call("sqrt"); })
        .Case([&](math::RsqrtOp) { return call("rsqrt"); })
        .Case([&](math::SinOp) { return call("sin"); })
        .Case([&](math::CosOp) { return call("cos"); })
        .Case([&](math::AbsFOp) { return call("abs"); })
        .Case([&](math::RoundEvenOp) { return call("round_even"); })
        .Case([&](math::FmaOp) { return call("fma"); })
        .Case([&](affine::AffineApplyOp apply) {
          return printAffine(apply.getAffineMap().getResult(0), apply.getMapOperands());
        })
        .Case([&](gpu::ThreadIdOp) {
          return CudaExpression{"static_cast<" + type + ">(threadIdx.x)"};
        })
        .Case(
            [&](gpu::BlockIdOp) { return CudaExpression{"static_cast<" + type + ">(blockIdx.x)"}; })
        .Case([&](vector::ExtractOp extract) {
          SmallVector<OpFoldResult> position = extract.getMixedPosition();
          return CudaExpression{text(extract.getSource(), Binding::Primary) + "[" +
                                printPosition(position) + "]"};
        })
        // What variables begin with.
        .Case([&](vector::BroadcastOp broadcast) {
          int64_t lanes = cast<VectorType>(broadcast.getType()).getNumElements();
          return CudaExpression{
              "{" + llvm::join(SmallVector<std::string>(lanes, arg(0).text), ", ") + "}"};
        })
        .Case([&](vector::ReductionOp reduce) { return printReduction(reduce); })
        .Case([&](func::CallOp call) { return printCall(call); })
        .Default([&](Operation *op) { return CudaExpression{fail(op, "an operation")}; });
  }

  std::string printPosition(ArrayRef<OpFoldResult> position) {
    if (position.size() != 1)
      return "";
    if (auto value = dyn_cast<Value>(position[0]))
      return text(value);
    return std::to_string(cast<IntegerAttr>(cast<Attribute>(position[0])).getInt());
  }

  CudaExpression printConstant(arith::ConstantOp constant) {
    if (auto number = dyn_cast<FloatAttr>(constant.getValue())) {
      std::string literal = makeFloatLiteral(number.getValue());
      Binding binding = literal[0] == '-' ? Binding::Unary : Binding::Primary;
      if (number.getType().getIntOrFloatBitWidth() >= 32)
        return {literal, binding};
      return makeCall("sinter::from_float<" + *getCudaType(number.getType(), wide) + ">", literal);
    }
    auto number = dyn_cast<IntegerAttr>(constant.getValue());
    if (!number)
      return {fail(constant, "a constant")};
    if (constant.getType().isInteger(1))
      return {number.getValue().isZero() ? "false" : "true"};
    int64_t value = number.getValue().getSExtValue();
    // There is no literal of the smallest number.
    if (value == std::numeric_limits<int32_t>::min())
      return {"(-2147483647 - 1)"};
    return {std::to_string(value) + (constant.getType().isInteger(64) ? "ll" : ""),
            value < 0 ? Binding::Unary : Binding::Primary};
  }

  CudaExpression printCompare(arith::CmpIOp compare,
                              llvm::function_ref<CudaExpression(unsigned)> asUnsigned) {
    using P = arith::CmpIPredicate;
    P predicate = compare.getPredicate();
    if (predicate == P::eq || predicate == P::ne)
      return makeBinary(get(compare.getLhs()),
                        predicate == P::eq ? "==" : "!=", get(compare.getRhs()), Binding::Equality);
    bool isUnsigned = predicate >= P::ult;
    StringRef symbol = predicate == P::slt || predicate == P::ult   ? "<"
                       : predicate == P::sle || predicate == P::ule ? "<="
                       : predicate == P::sgt || predicate == P::ugt ? ">"
                                                                    : ">=";
    if (isUnsigned)
      return makeBinary(asUnsigned(0), symbol, asUnsigned(1), Binding::Order);
    return makeBinary(get(compare.getLhs()), symbol, get(compare.getRhs()), Binding::Order);
  }

  /// C++'s comparisons are false where an operand is a NaN, but for `!=`.
  CudaExpression printCompare(arith::CmpFOp compare) {
    using P = arith::CmpFPredicate;
    auto print = [&](StringRef symbol, Binding binding) {
      return makeBinary(get(compare.getLhs()), symbol, get(compare.getRhs()), binding);
    };
    auto negate = [&](StringRef symbol) {
      return CudaExpression{"!(" + print(symbol, Binding::Order).text + ")", Binding::Unary};
    };
    switch (compare.getPredicate()) {
    case P::OEQ:
      return print("==", Binding::Equality);
    case P::UNE:
      return print("!=", Binding::Equality);
    case P::OLT:
      return print("<", Binding::Order);
    case P::OLE:
      return print("<=", Binding::Order);
    case P::OGT:
      return print(">", Binding::Order);
    case P::OGE:
      return print(">=", Binding::Order);
    case P::ULT:
      return negate(">=");
    case P::ULE:
      return negate(">");
    case P::UGT:
      return negate("<=");
    case P::UGE:
      return negate("<");
    default:
      return {fail(compare, "a comparison")};
    }
  }

  CudaExpression printAffine(AffineExpr expr, ValueRange operands) {
    if (auto number = dyn_cast<AffineConstantExpr>(expr))
      return {std::to_string(number.getValue()),
              number.getValue() < 0 ? Binding::Unary : Binding::Primary};
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      return get(operands[dim.getPosition()]);
    auto binary = cast<AffineBinaryOpExpr>(expr);
    CudaExpression left = printAffine(binary.getLHS(), operands);
    auto number = dyn_cast<AffineConstantExpr>(binary.getRHS());
    if (expr.getKind() == AffineExprKind::Add && number && number.getValue() < 0)
      return makeBinary(left, "-", {std::to_string(-number.getValue())}, Binding::Sum);
    CudaExpression right = printAffine(binary.getRHS(), operands);
    if (left.text == "0")
      return expr.getKind() == AffineExprKind::Add ? right : left;
    switch (expr.getKind()) {
    case AffineExprKind::Add:
      return makeBinary(left, "+", right, Binding::Sum);
    case AffineExprKind::Mul:
      return makeBinary(left, "*", right, Binding::Product);
    // What is divided is not negative.
    case AffineExprKind::FloorDiv:
      return makeBinary(left, "/", right, Binding::Product);
    default:
      return makeBinary(left, "%", right, Binding::Product);
    }
  }

  /// Lanes pairwise, halves of the vector first: a fixed tree.
  CudaExpression printReduction(vector::ReductionOp reduce) {
    bool isSum = reduce.getKind() == vector::CombiningKind::ADD;
    if ((!isSum && reduce.getKind() != vector::CombiningKind::MAXIMUMF) || reduce.getAcc())
      return {fail(reduce, "a reduction")};
    SmallVector<CudaExpression> lanes;
    std::string vector = text(reduce.getVector(), Binding::Primary);
    for (int64_t i = 0; i < reduce.getSourceVectorType().getNumElements(); ++i)
      lanes.push_back({vector + "[" + std::to_string(i) + "]"});
    for (; lanes.size() > 1; lanes.resize(lanes.size() / 2))
      for (size_t i = 0, half = lanes.size() / 2; i < half; ++i)
        lanes[i] = isSum ? makeBinary(lanes[i], "+", lanes[i + half], Binding::Sum)
                         : makeCall("sinter::maximum", {lanes[i].text, lanes[i + half].text});
    return lanes.front();
  }

  CudaExpression printCall(func::CallOp call) {
    auto word = [&](unsigned i) -> std::string {
      APInt constant;
      if (matchPattern(call.getOperand(i), m_ConstantInt(&constant)))
        return std::to_string(constant.getZExtValue()) + "u";
      return "static_cast<unsigned>(" + text(call.getOperand(i)) + ")";
    };
    auto words = [&](unsigned i) { return "make_uint2(" + word(i) + ", " + word(i + 1) + ")"; };
    if (call.getCallee() == "is_kept")
      return makeCall("sinter::is_kept", {text(call.getOperand(0)), word(1), words(2), word(4)});
    if (call.getCallee() == "stochastic_round")
      return makeCall("sinter::stochastic_round",
                      {text(call.getOperand(0)), text(call.getOperand(1)), words(2), words(4)});
    return {fail(call, "a call")};
  }

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  std::string element(Value memory, ValueRange indices) {
    return text(memory) + "[" + (indices.empty() ? "0" : text(indices[0])) + "]";
  }

  std::string address(Value memory, ValueRange indices) {
    std::string index = text(indices[0], Binding::Sum);
    return index == "0" ? text(memory) : text(memory) + " + " + index;
  }

  void printLoad(memref::LoadOp load) {
    CudaExpression expression{element(load.getMemRef(), load.getIndices())};
    // Nothing is written between a load and its conversion right after it.
    Operation *next = load->getNextNode();
    if (load->hasOneUse() && *load->user_begin() == next && isa<arith::ExtFOp>(next)) {
      values[load] = std::move(expression);
      return;
    }
    name(load, expression, text(load.getMemRef()) + "_at");
  }

  void printBuffer(memref::AllocaOp buffer) {
    MemRefType type = buffer.getType();
    std::string element = typeOf(buffer, type.getElementType());
    if (!gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(type)) {
      std::string name = makeName("own");
      line() << element << " " << name << "[" << type.getNumElements() << "];\n";
      values[buffer] = {name};
      return;
    }
    std::string name = makeName("row");
    line() << element << " *const " << name << " = ";
    if (sharedBytes == 0)
      out << "sinter::dynamic_shared<" << element << ">();\n";
    else
      out << "reinterpret_cast<" << element << " *>(sinter::dynamic_shared<unsigned char>() + "
          << sharedBytes << ");\n";
    sharedBytes += getSharedBytes(type.getNumElements() * type.getElementTypeBitWidth() / 8);
    values[buffer] = {name};
  }

  void printInsert(vector::InsertOp insert) {
    std::string variable;
    if (canTakeOver(insert.getDest(), insert)) {
      variable = get(insert.getDest()).text;
    } else {
      variable = makeName("row");
      line() << typeOf(insert.getResult()) << " " << variable << " = " << text(insert.getDest())
             << ";\n";
    }
    line() << variable << "[" << printPosition(insert.getMixedPosition())
           << "] = " << text(insert.getValueToStore()) << ";\n";
    setVariable(insert.getResult(), variable);
  }

  //===--------------------------------------------------------------------===//
  // Control flow
  //===--------------------------------------------------------------------===//

  void declare(Value value, const std::string &name, const std::string &init) {
    line() << typeOf(value) << " " << name << (init.empty() ? "" : " = " + init) << ";\n";
  }

  void printFor(scf::ForOp loop) {
    SmallVector<std::string> variables;
    for (auto [argument, init] : llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs())) {
      bool empty = init.getDefiningOp<ub::PoisonOp>() != nullptr;
      std::string name;
      if (!empty && canTakeOver(init, loop)) {
        name = get(init).text;
      } else {
        bool ahead = isa_and_nonnull<vector::LoadOp, memref::LoadOp>(init.getDefiningOp());
        name = makeName(empty ? "result" : ahead ? "ahead" : "part");
        declare(argument, name, empty ? "" : text(init));
      }
      variables.push_back(name);
      setVariable(argument, name);
    }
    bool inner = loop->getParentOfType<scf::ForOp>() != nullptr;
    std::string counter = makeName(inner ? "j" : "i");
    values[loop.getInductionVar()] = {counter};
    if (auto unroll = loop->getAttrOfType<IntegerAttr>(kUnrollAttribute)) {
      APInt end;
      bool whole = matchPattern(loop.getUpperBound(), m_ConstantInt(&end)) &&
                   unroll.getInt() >= end.getSExtValue();
      out << "#pragma unroll" << (whole ? "" : " " + std::to_string(unroll.getInt())) << "\n";
    }
    std::string type = typeOf(loop.getInductionVar()), step = text(loop.getStep());
    line() << "for (" << type << " " << counter << " = " << text(loop.getLowerBound()) << "; "
           << counter << " < " << text(loop.getUpperBound()) << "; "
           << (step == "1" ? "++" + counter : counter + " += " + step) << ") {\n";
    targets.push_back(variables);
    ++depth;
    printBlock(*loop.getBody());
    --depth;
    targets.pop_back();
    line() << "}\n";
    for (auto [result, name] : llvm::zip(loop.getResults(), variables))
      setVariable(result, name);
  }

  void printIf(scf::IfOp branches) {
    SmallVector<std::string> variables;
    bool plain = branches.elseBlock() && branches.elseBlock()->getOperations().size() == 1;
    for (auto [i, result] : llvm::enumerate(branches.getResults())) {
      Value other = plain ? branches.elseYield().getOperand(i) : Value();
      std::string name;
      if (other && canTakeOver(other, branches)) {
        name = get(other).text;
      } else {
        name = makeName("v");
        declare(result, name, plain ? text(other) : "");
      }
      variables.push_back(name);
    }
    targets.push_back(variables);
    line() << "if (" << text(branches.getCondition()) << ") {\n";
    ++depth;
    printBlock(*branches.thenBlock());
    --depth;
    if (branches.elseBlock() && !plain) {
      line() << "} else {\n";
      ++depth;
      printBlock(*branches.elseBlock());
      --depth;
    }
    line() << "}\n";
    targets.pop_back();
    for (auto [result, name] : llvm::zip(branches.getResults(), variables))
      setVariable(result, name);
  }

  void printYield(scf::YieldOp yield) {
    SmallVector<std::pair<std::string, std::string>> updates;
    for (auto [target, operand] : llvm::zip_equal(targets.back(), yield.getOperands()))
      if (std::string value = text(operand); value != target)
        updates.emplace_back(target, value);
    // Several values change at once.
    if (updates.size() > 1)
      for (auto &[target, value] : updates) {
        std::string next = makeName("next");
        line() << "const auto " << next << " = " << value << ";\n";
        value = next;
      }
    for (auto &[target, value] : updates)
      line() << target << " = " << value << ";\n";
  }

  raw_ostream &out;
  func::FuncOp kernel;
  bool wide = false, failed = false;
  unsigned depth = 1;
  int64_t sharedBytes = 0;
  llvm::StringSet<> names;
  llvm::DenseMap<Value, CudaExpression> values;
  /// Values that live in a variable, or whose text reads one.
  llvm::DenseSet<Value> readers;
  /// The variables that the yields of the ops around write to.
  SmallVector<SmallVector<std::string>> targets;
};

} // namespace

LogicalResult sinter::printCudaBody(llvm::raw_ostream &out, func::FuncOp kernel,
                                    ArrayRef<std::string> arguments) {
  return BodyPrinter(out, kernel).print(arguments);
}
