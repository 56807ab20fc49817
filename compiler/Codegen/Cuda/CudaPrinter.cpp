#include "compiler/Codegen/Cuda/CudaPrinter.h"
#include "compiler/Analysis/CommandInfo.h"
#include "compiler/Codegen/Cuda/CudaBody.h"
#include "compiler/Codegen/Cuda/CudaExpression.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace sinter;
using llvm::formatv;

namespace {
/// The head of a kernel: what it computes and what it is called with.
class HeadPrinter {
public:
  HeadPrinter(raw_ostream &out, func::FuncOp tensors, func::FuncOp kernel)
      : out(out), tensors(tensors), kernel(kernel), launch(*getLaunch(tensors)) {}

  std::string getArgumentName(unsigned i) {
    unsigned operands = tensors.getNumArguments();
    if (i == operands + tensors.getNumResults())
      return "scratch";
    return i < operands ? formatv("x{0}", i).str() : formatv("y{0}", i - operands).str();
  }

  LogicalResult print() {
    if (!llvm::all_of(kernel.getName(), [](char c) { return llvm::isAlnum(c) || c == '_'; }))
      return kernel.emitError("expected a kernel's name to be one in C++, too, got \"")
             << kernel.getName() << "\"";
    printComment();
    out << "extern \"C\" __global__ void __launch_bounds__(" << launch.block << ")\n"
        << kernel.getName() << "(";
    for (unsigned i = 0; i < kernel.getNumArguments(); ++i) {
      Type element = cast<MemRefType>(kernel.getArgumentTypes()[i]).getElementType();
      std::optional<std::string> type = getCudaType(element, /*wide=*/false);
      if (!type)
        return kernel.emitError("expected elements of a type that CUDA C++ has, got ") << element;
      bool isOperand = i < tensors.getNumArguments();
      // What a kernel waits for changes while it runs: the compiler must not take it for constant,
      // and read it before the wait or through the cache of constants.
      bool isAlone = kernel.getArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName()) && !launch.waits;
      out << (i == 0 ? "" : ", ") << (isOperand ? "const " : "") << *type << " *"
          << (isAlone ? "__restrict__ " : "") << getArgumentName(i);
    }
    out << ") {\n";
    return success();
  }

private:
  void printComment() {
    std::string layer = getLayer(tensors.getLoc());
    out << "// " << getLabel(tensors.front());
    if (!layer.empty())
      out << " of " << layer;
    out << "\n//";
    for (unsigned i = 0; i < tensors.getNumArguments() + tensors.getNumResults(); ++i) {
      bool isOperand = i < tensors.getNumArguments();
      Type tensor = isOperand ? tensors.getArgumentTypes()[i]
                              : tensors.getResultTypes()[i - tensors.getNumArguments()];
      auto ranked = cast<RankedTensorType>(tensor);
      out << (i == tensors.getNumArguments() ? " ->"
              : i == 0                       ? ""
                                             : ",")
          << " " << getArgumentName(i) << " ";
      for (int64_t extent : ranked.getShape())
        out << extent << "x";
      out << ranked.getElementType();
    }
    int64_t flops = 0, bytes = 0;
    for (Operation &op : tensors.front().without_terminator())
      if (auto cost = dyn_cast<CostOpInterface>(op))
        flops += cost.getFlops();
    for (TypeRange types :
         {TypeRange(tensors.getArgumentTypes()), TypeRange(tensors.getResultTypes())})
      for (Type type : types)
        bytes += getStorageBytes(cast<RankedTensorType>(type));
    out << "\n// " << flops << " operations on " << bytes << " bytes; ";
    auto items = kernel->getAttrOfType<IntegerAttr>(kItemsAttribute);
    auto threads = kernel->getAttrOfType<IntegerAttr>(kThreadsAttribute);
    if (items && threads)
      out << items.getInt() << " items of " << threads.getInt() << " threads in ";
    out << launch.grid << " blocks of " << launch.block << "\n";
  }

  raw_ostream &out;
  func::FuncOp tensors, kernel;
  CudaLaunch launch;
};

/// A kernel that a template gives.
class InstancePrinter {
public:
  InstancePrinter(raw_ostream &out, func::FuncOp tensors, func::FuncOp kernel)
      : out(out), kernel(kernel),
        instance(kernel->getAttrOfType<DictionaryAttr>(kTemplateAttribute)),
        launch(*getLaunch(tensors)) {}

  std::string getStructName() { return (kernel.getName() + "_parameters").str(); }
  std::string getFunction() { return instance.getAs<StringAttr>("function").getValue().str(); }

  LogicalResult printParameters() {
    if (!instance || !instance.getAs<StringAttr>("header") ||
        !instance.getAs<StringAttr>("function") || !instance.getAs<DictionaryAttr>("parameters"))
      return kernel.emitError("expected ")
             << kTemplateAttribute << " to have a header, a function and parameters";
    out << "struct " << getStructName() << " {\n";
    for (NamedAttribute parameter : instance.getAs<DictionaryAttr>("parameters")) {
      std::string text = printParameter(parameter);
      if (text.empty())
        return kernel.emitError("expected a type, a bool, an integer, a float or a type's name as "
                                "a template's parameter ")
               << parameter.getName() << ", got " << parameter.getValue();
      out << "  " << text << "\n";
    }
    out << "};\n";
    auto figures = instance.getAs<ArrayAttr>("figures");
    for (StringRef figure : figures ? llvm::to_vector(figures.getAsValueRange<StringAttr>())
                                    : SmallVector<StringRef>())
      out << "static_assert(sinter::" << getFunction() << "_" << figure << "<" << getStructName()
          << ">() == "
          << (figure == "grid"    ? launch.grid
              : figure == "block" ? launch.block
                                  : launch.sharedBytes)
          << ");\n";
    return success();
  }

  void printCall(llvm::function_ref<std::string(unsigned)> getArgumentName) {
    SmallVector<std::string> arguments;
    if (auto order = instance.getAs<DenseI64ArrayAttr>("arguments")) {
      for (int64_t i : order.asArrayRef())
        arguments.push_back(i < 0 ? "nullptr" : getArgumentName(i));
    } else {
      for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
        arguments.push_back(getArgumentName(i));
    }
    out << "  sinter::" << getFunction() << "<" << getStructName() << ">("
        << llvm::join(arguments, ", ") << ");\n";
  }

private:
  static std::string printParameter(NamedAttribute parameter) {
    StringRef name = parameter.getName().getValue();
    Attribute value = parameter.getValue();
    auto constant = [&](StringRef type, const std::string &text) {
      return formatv("static constexpr {0} {1} = {2};", type, name, text).str();
    };
    if (auto type = dyn_cast<TypeAttr>(value))
      if (std::optional<std::string> text = getCudaType(type.getValue(), /*wide=*/false))
        return formatv("using {0} = {1};", name, *text);
    if (auto type = dyn_cast<StringAttr>(value))
      return formatv("using {0} = {1};", name, type.getValue());
    if (auto flag = dyn_cast<BoolAttr>(value))
      return constant("bool", flag.getValue() ? "true" : "false");
    if (auto number = dyn_cast<IntegerAttr>(value)) {
      bool isLong = !llvm::isInt<32>(number.getInt());
      return constant(isLong ? "long long" : "int",
                      std::to_string(number.getInt()) + (isLong ? "ll" : ""));
    }
    if (auto number = dyn_cast<FloatAttr>(value))
      return constant(number.getType().isF64() ? "double" : "float",
                      makeFloatLiteral(number.getValue()));
    return "";
  }

  raw_ostream &out;
  func::FuncOp kernel;
  DictionaryAttr instance;
  CudaLaunch launch;
};
} // namespace

LogicalResult sinter::printCudaKernel(raw_ostream &out, func::FuncOp tensorKernel,
                                      func::FuncOp kernel) {
  HeadPrinter head(out, tensorKernel, kernel);
  if (kernel.isExternal()) {
    InstancePrinter instance(out, tensorKernel, kernel);
    if (failed(instance.printParameters()) || failed(head.print()))
      return failure();
    instance.printCall([&](unsigned i) { return head.getArgumentName(i); });
    out << "}\n";
    return success();
  }
  if (failed(head.print()))
    return failure();
  if (getLaunch(tensorKernel)->waits)
    out << "  sinter::pdl_launch_dependents();\n  sinter::pdl_wait();\n";
  SmallVector<std::string> arguments;
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
    arguments.push_back(head.getArgumentName(i));
  if (failed(printCudaBody(out, kernel, arguments)))
    return failure();
  out << "}\n";
  return success();
}
