#include "compiler/Import/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace sinter {
#define GEN_PASS_DEF_VERIFYIMPORTPASS
#include "compiler/Import/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using sinter::SinterDialect;

namespace {
struct VerifyImportPass : sinter::impl::VerifyImportPassBase<VerifyImportPass> {
  using VerifyImportPassBase::VerifyImportPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    unsigned entries = 0;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!function->hasAttr(SinterDialect::kEntry))
        continue;
      ++entries;
      if (failed(verifyOps(function)) || failed(verifyBindings(function)))
        return signalPassFailure();
    }
    if (entries == 0) {
      getOperation().emitError("expected an entry function (a func.func with sinter.entry)");
      signalPassFailure();
    }
  }

private:
  LogicalResult verifyOps(func::FuncOp function) {
    for (Operation &op : function.front().without_terminator())
      if (!isa_and_nonnull<SinterDialect>(op.getDialect()) || op.getNumRegions() != 0)
        return op.emitError("expected only graph ops in an entry after Import");
    return success();
  }

  /// The one binding among `kinds` that an argument or result carries.
  FailureOr<NamedAttribute> findBinding(func::FuncOp function, DictionaryAttr attributes,
                                        ArrayRef<StringRef> kinds, const Twine &what) {
    for (StringRef kind : kinds)
      if (attributes)
        if (std::optional<NamedAttribute> binding = attributes.getNamed(kind))
          if (isa<StringAttr>(binding->getValue()))
            return *binding;
    return function.emitError("expected ")
           << what << " to be bound by one of " << llvm::join(kinds, ", ");
  }

  LogicalResult verifyBindings(func::FuncOp function) {
    llvm::StringSet<> names;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      auto binding =
          findBinding(function, function.getArgAttrDict(i),
                      {SinterDialect::kParameter, SinterDialect::kState, SinterDialect::kInput},
                      "argument " + Twine(i));
      if (failed(binding))
        return failure();
      StringRef name = cast<StringAttr>(binding->getValue()).getValue();
      if (!names.insert((binding->getName().strref() + ":" + name).str()).second)
        return function.emitError("expected each argument to have a name of its own, got ")
               << name << " twice";
      if (binding->getName() == SinterDialect::kState && failed(verifyState(function, i, name)))
        return failure();
    }
    names.clear();
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      auto binding =
          findBinding(function, function.getResultAttrDict(i),
                      {SinterDialect::kOutput, SinterDialect::kState}, "result " + Twine(i));
      if (failed(binding))
        return failure();
      StringRef name = cast<StringAttr>(binding->getValue()).getValue();
      if (!names.insert(name).second)
        return function.emitError("expected each result to have a name of its own, got ")
               << name << " twice";
    }
    return success();
  }

  static bool returnsState(func::FuncOp function, StringRef name) {
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (auto bound = function.getResultAttrOfType<StringAttr>(i, SinterDialect::kState);
          bound && bound.getValue() == name)
        return true;
    return false;
  }

  LogicalResult verifyState(func::FuncOp function, unsigned argument, StringRef name) {
    auto donated = function.getArgAttrOfType<IntegerAttr>(argument, SinterDialect::kDonated);
    // A state that is not donated is only read.
    if (!donated && !returnsState(function, name))
      return success();
    if (!donated || donated.getInt() < 0 || donated.getInt() >= function.getNumResults())
      return function.emitError("expected state ") << name << " to be donated to a result";
    unsigned result = donated.getInt();
    auto bound = function.getResultAttrOfType<StringAttr>(result, SinterDialect::kState);
    if (!bound || bound.getValue() != name ||
        function.getResultTypes()[result] != function.getArgumentTypes()[argument])
      return function.emitError("expected state ")
             << name << " to be donated to a result of its name and type";
    return success();
  }
};
} // namespace
