//===- ModelStages.h - Which stage of a pipeline has what of a model -*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/Base/Error.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace sinter {

/// The layers of a model whose entry this is: what its forward ops are named by, up to a number, in
/// order.
llvm::SetVector<mlir::StringAttr> listLayers(mlir::func::FuncOp entry);

/// The first entry that reads tokens, or null.
mlir::func::FuncOp findModelEntry(mlir::ModuleOp module);

/// For each of `stages` stages the first of `layers` layers that is not its own any more, of a
/// text as "0-5,6-11"; fails where these are not as many, or leave layers out.
Expected<llvm::SmallVector<size_t>> parseStageLayers(llvm::StringRef text, size_t stages,
                                                     size_t layers);

/// Who has what: layers, what comes before and behind them, and states.
class ModelStages {
public:
  /// Cuts a module's model into stages of equal predicted time, or as `layers` says. Fails where it
  /// has fewer layers than stages, or `layers` does not fit it.
  static Expected<ModelStages> make(mlir::ModuleOp module, uint32_t stages, llvm::StringRef layers);

  uint32_t getCount() const { return count; }
  /// The layers of a stage, the first one and that behind the last, and its part of the predicted
  /// time.
  struct Part {
    size_t begin = 0, end = 0;
    double share = 0;
  };
  llvm::ArrayRef<Part> getParts() const { return parts; }
  /// The stage that ops of this place in the model are of.
  uint32_t getStage(mlir::Location location) const;
  /// The stage that has a state; none where it is no cache, and no parameter is in its name.
  std::optional<uint32_t> getHome(llvm::StringRef state) const;
  /// A stage that has neither a parameter nor a cache, since its layers share those of stages
  /// before it; or nothing.
  std::optional<uint32_t> findStageWithoutParameters() const;
  /// Parameters that other stages read, too, and these.
  const llvm::MapVector<mlir::StringAttr, llvm::SetVector<uint32_t>> &getCopies() const {
    return copies;
  }

private:
  void placeParameters(mlir::func::FuncOp entry);
  void placeCaches(mlir::func::FuncOp entry);

  uint32_t count = 1;
  llvm::SmallVector<Part> parts;
  llvm::StringMap<uint32_t> stages; ///< by layer or another name of a place in the model
  llvm::StringMap<uint32_t> homes;  ///< by parameter or cache
  llvm::MapVector<mlir::StringAttr, llvm::SetVector<uint32_t>> copies;
};

/// Whether an entry infers: it reads weights that are no states. The ranks of all stages get what
/// it puts out, and are given what it is given.
bool infers(mlir::func::FuncOp entry);

/// The arguments that are parameters which an entry reads and does not change.
llvm::BitVector findReadParameters(mlir::func::FuncOp entry);

} // namespace sinter
