#include "compiler/Codegen/Cuda/CudaProgram.h"
#include "compiler/Codegen/Cuda/CudaPrinter.h"
#include "compiler/Codegen/Cuda/DeviceHeaders.h"
#include "llvm/ADT/Sequence.h"
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

/// Puts texts into `count` groups of about the same length, which keep their order: the longest
/// first, each to the shortest group so far.
static SmallVector<SmallVector<size_t>> divide(ArrayRef<std::string> texts, size_t count) {
  SmallVector<size_t> longest = llvm::to_vector(llvm::seq<size_t>(texts.size()));
  llvm::stable_sort(longest, [&](size_t first, size_t second) {
    return texts[first].size() > texts[second].size();
  });
  SmallVector<SmallVector<size_t>> groups(count);
  SmallVector<size_t> lengths(count, 0);
  for (size_t text : longest) {
    auto group = static_cast<size_t>(llvm::min_element(lengths) - lengths.begin());
    groups[group].push_back(text);
    lengths[group] += texts[text].size();
  }
  for (SmallVector<size_t> &group : groups)
    llvm::sort(group);
  return groups;
}

/// A program without kernels that includes a template's header, or none.
static FailureOr<CudaProgram> beginProgram(StringAttr header, Operation *user) {
  // The templates' figures are constexpr functions, for the device without saying so.
  CudaProgram program{.source = "", .options = {"-default-device"}, .kernels = {}};
  llvm::raw_string_ostream out(program.source);
  llvm::StringSet<> included;
  if (failed(inlineHeader(out, "device.cuh", included, user)) ||
      (header && failed(inlineHeader(out, header.getValue(), included, user))))
    return failure();
  return program;
}

FailureOr<std::vector<CudaProgram>> sinter::emitCudaPrograms(ModuleOp module,
                                                             size_t kernelsPerProgram) {
  std::vector<CudaProgram> programs;
  ModuleOp code = lookupKernels(module);
  if (!code)
    return programs;
  // Of the kernels that are no instances of templates.
  SmallVector<std::string> texts;
  SmallVector<CudaKernel> descriptions;
  for (auto kernel : code.getOps<func::FuncOp>()) {
    if (kernel->hasAttr(kLibraryAttribute))
      continue;
    auto tensors = module.lookupSymbol<func::FuncOp>(kernel.getName());
    std::optional<CudaLaunch> launch = tensors ? getLaunch(tensors) : std::nullopt;
    if (!launch)
      return kernel.emitError("expected a kernel on tensors of this name that says its launch");
    CudaKernel description{kernel.getName().str(), launch->block, launch->sharedBytes,
                           launch->waits};
    std::string text = "\n";
    llvm::raw_string_ostream out(text);
    if (failed(printCudaKernel(out, tensors, kernel)))
      return failure();
    if (auto instance = kernel->getAttrOfType<DictionaryAttr>(kTemplateAttribute)) {
      FailureOr<CudaProgram> program = beginProgram(instance.getAs<StringAttr>("header"), kernel);
      if (failed(program))
        return failure();
      program->source += text;
      program->kernels.push_back(std::move(description));
      programs.push_back(std::move(*program));
    } else {
      texts.push_back(std::move(text));
      descriptions.push_back(std::move(description));
    }
  }
  for (ArrayRef<size_t> group : divide(texts, llvm::divideCeil(texts.size(), kernelsPerProgram))) {
    FailureOr<CudaProgram> program = beginProgram(/*header=*/nullptr, module);
    if (failed(program))
      return failure();
    for (size_t kernel : group) {
      program->source += texts[kernel];
      program->kernels.push_back(std::move(descriptions[kernel]));
    }
    programs.push_back(std::move(*program));
  }
  return programs;
}
