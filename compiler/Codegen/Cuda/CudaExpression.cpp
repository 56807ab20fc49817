#include "compiler/Codegen/Cuda/CudaExpression.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

CudaExpression sinter::makeBinary(const CudaExpression &left, StringRef op,
                                  const CudaExpression &right, Binding binding) {
  auto tighter = static_cast<Binding>(static_cast<int>(binding) - 1);
  return {left.within(binding) + " " + op.str() + " " + right.within(tighter), binding};
}

CudaExpression sinter::makeCall(const Twine &function, ArrayRef<std::string> arguments) {
  return {function.str() + "(" + llvm::join(arguments, ", ") + ")", Binding::Primary};
}

/// The shortest decimal that reads back as the value.
template <typename Float> static std::string printShortest(Float value, const char *suffix) {
  std::string text;
  for (int digits : {6, 9, 17}) {
    char buffer[40];
    snprintf(buffer, sizeof(buffer), "%.*g", digits, static_cast<double>(value));
    text = buffer;
    if (static_cast<Float>(strtod(buffer, nullptr)) == value)
      break;
  }
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text + suffix;
}

std::string sinter::makeFloatLiteral(const APFloat &value) {
  bool isDouble = &value.getSemantics() == &APFloat::IEEEdouble();
  if (value.isNaN())
    return isDouble ? "__builtin_nan(\"\")" : "__builtin_nanf(\"\")";
  if (value.isInfinity())
    return value.isNegative() ? "-sinter::kInfinity" : "sinter::kInfinity";
  if (isDouble)
    return printShortest(value.convertToDouble(), "");
  APFloat single = value;
  bool loses = false;
  single.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &loses);
  return printShortest(single.convertToFloat(), "f");
}

std::optional<std::string> sinter::getCudaType(Type type, bool wide) {
  if (type.isF32())
    return "float";
  if (type.isF64())
    return "double";
  if (type.isBF16())
    return "__nv_bfloat16";
  if (type.isF16())
    return "__half";
  if (isa<Float8E4M3FNType>(type))
    return "sinter::E4M3";
  if (isa<Float8E5M2Type>(type))
    return "sinter::E5M2";
  if (type.isIndex())
    return wide ? "long long" : "int";
  if (type.isInteger(1))
    return "bool";
  if (type.isInteger(8))
    return "signed char";
  if (type.isInteger(16))
    return "short";
  if (type.isInteger(32))
    return "int";
  if (type.isInteger(64))
    return "long long";
  auto vector = dyn_cast<VectorType>(type);
  if (!vector || vector.getRank() != 1)
    return std::nullopt;
  std::optional<std::string> element = getCudaType(vector.getElementType(), wide);
  if (!element)
    return std::nullopt;
  return llvm::formatv("sinter::Vector<{0}, {1}>", *element, vector.getNumElements()).str();
}
