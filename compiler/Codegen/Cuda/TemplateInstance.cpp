#include "compiler/Codegen/Cuda/TemplateInstance.h"
#include "compiler/Codegen/Cuda/CudaExpression.h"

using namespace mlir;
using namespace sinter;

void TemplateInstance::set(StringRef parameter, Type value) {
  parameters.push_back(builder.getNamedAttr(parameter, TypeAttr::get(value)));
}
void TemplateInstance::set(StringRef parameter, int64_t value) {
  parameters.push_back(builder.getNamedAttr(parameter, builder.getI64IntegerAttr(value)));
}
void TemplateInstance::set(StringRef parameter, bool value) {
  parameters.push_back(builder.getNamedAttr(parameter, builder.getBoolAttr(value)));
}
void TemplateInstance::set(StringRef parameter, double value) {
  parameters.push_back(builder.getNamedAttr(parameter, builder.getF64FloatAttr(value)));
}

void TemplateInstance::setType(StringRef parameter, StringRef name) {
  parameters.push_back(builder.getNamedAttr(parameter, builder.getStringAttr(name)));
}

std::string TemplateInstance::getTypeName(Type type) { return *getCudaType(type, /*wide=*/false); }

void TemplateInstance::setStrides(StringRef prefix, const StridedInput &input) {
  auto setPart = [&](StringRef part, int64_t value) { set((prefix + part).str(), value); };
  setPart("Offset", input.offset);
  setPart("BatchStride", input.strides[0]);
  setPart("RowStride", input.strides[1]);
  setPart("HeadStride", input.strides[2]);
}

void TemplateInstance::setIntegers(Type number, Type scale, int64_t group, bool hasMinima) {
  set("bits", int64_t(number.getIntOrFloatBitWidth()));
  // Integers of four bits are two a byte.
  set("RhsElement", number.isInteger(4) ? builder.getIntegerType(8) : number);
  set("ScaleElement", scale);
  set("group", group);
  set("hasMinima", hasMinima);
}

void TemplateInstance::pass(std::optional<unsigned> argument) {
  arguments.push_back(argument ? static_cast<int64_t>(*argument) : -1);
}

void TemplateInstance::write(func::FuncOp instance, bool usesShared) {
  NamedAttribute members[] = {
      builder.getNamedAttr("arguments", builder.getDenseI64ArrayAttr(arguments)),
      builder.getNamedAttr("function", builder.getStringAttr(name)),
      builder.getNamedAttr("header", builder.getStringAttr(header + ".cuh")),
      builder.getNamedAttr("parameters", builder.getDictionaryAttr(parameters)),
      builder.getNamedAttr(
          "figures",
          builder.getStrArrayAttr(usesShared ? ArrayRef<StringRef>{"grid", "block", "shared"}
                                             : ArrayRef<StringRef>{"grid", "block"})),
  };
  instance->setAttr(kTemplateAttribute, builder.getDictionaryAttr(members));
}
