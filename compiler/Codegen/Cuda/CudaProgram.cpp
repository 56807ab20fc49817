#include "compiler/Codegen/Cuda/CudaProgram.h"
#include "compiler/Codegen/Cuda/CudaPrinter.h"
#include "compiler/Codegen/Cuda/DeviceHeaders.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace sinter;

std::string_view sinter::getDeviceHeader(std::string_view name) {
  for (auto &[header, text] : kDeviceHeaders)
    if (header == name)
      return text;
  return {};
}

/// Writes a header with those that it includes in their place, each once.
static LogicalResult inlineHeader(raw_ostream &out, StringRef name, llvm::StringSet<> &included,
                                  Operation *user) {
  if (!included.insert(name).second)
    return success();
  StringRef text = getDeviceHeader(name);
  if (text.empty())
    return user->emitError("expected a header of kernels_templates/cuda, got \"") << name << "\"";
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    StringRef header = line;
    if (header.consume_front("#include \"")) {
      if (failed(inlineHeader(out, header.take_until([](char c) { return c == '"'; }), included,
                              user)))
        return failure();
    } else if (line != "#pragma once") {
      out << line << '\n';
    }
    text = rest;
  }
  return success();
}

FailureOr<std::vector<CudaProgram>> sinter::emitCudaPrograms(ModuleOp module,
                                                             size_t kernelsPerProgram) {
  std::vector<CudaProgram> programs;
  ModuleOp code = lookupKernels(module);
  if (!code)
    return programs;
  auto isInstance = [](func::FuncOp kernel) { return kernel->hasAttr(kTemplateAttribute); };
  auto kernels = llvm::filter_to_vector(code.getOps<func::FuncOp>(), [](func::FuncOp kernel) {
    return !kernel->hasAttr(kLibraryAttribute);
  });
  llvm::stable_sort(kernels, [&](func::FuncOp first, func::FuncOp second) {
    return isInstance(first) && !isInstance(second);
  });
  llvm::StringSet<> included;
  bool isFull = true;
  for (func::FuncOp kernel : kernels) {
    auto tensors = module.lookupSymbol<func::FuncOp>(kernel.getName());
    std::optional<CudaLaunch> launch = tensors ? getLaunch(tensors) : std::nullopt;
    if (!launch)
      return kernel.emitError("expected a kernel on tensors of this name that says its launch");
    if (isFull) {
      // The templates' figures are constexpr functions, for the device without saying so.
      programs.push_back({.source = "", .options = {"-default-device"}, .kernels = {}});
      included.clear();
    }
    CudaProgram &program = programs.back();
    llvm::raw_string_ostream out(program.source);
    if (failed(inlineHeader(out, "device.cuh", included, kernel)))
      return failure();
    if (auto instance = kernel->getAttrOfType<DictionaryAttr>(kTemplateAttribute))
      if (auto header = instance.getAs<StringAttr>("header");
          header && failed(inlineHeader(out, header.getValue(), included, kernel)))
        return failure();
    out << '\n';
    if (failed(printCudaKernel(out, tensors, kernel)))
      return failure();
    program.kernels.push_back(
        {kernel.getName().str(), launch->block, launch->sharedBytes, launch->waits});
    isFull = isInstance(kernel) || program.kernels.size() == kernelsPerProgram;
  }
  return programs;
}
