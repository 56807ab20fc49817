//===- StageEntries.h - Cuts an entry into those of a pipeline's stages -*- C++ -*-===//
#pragma once

#include "compiler/Sharding/EntryStages.h"
#include "mlir/IR/IRMapping.h"
#include <map>

namespace sinter {

/// Makes, behind an entry, those that its stages compute it by (Pipelining.h); the entry stays.
class StageEntries {
public:
  /// @param channels the number of the next channel, counted on.
  StageEntries(mlir::func::FuncOp entry, const ModelStages &model, const EntryStages &stages,
               int64_t &channels);

  void run();

  /// The stages that send to others than their neighbours.
  const llvm::SetVector<uint32_t> &getFarSenders() const { return farSenders; }

private:
  /// An entry while it is made.
  struct Part {
    mlir::func::FuncOp function;
    mlir::IRMapping mapping; ///< from values of the whole entry
    llvm::SmallVector<mlir::NamedAttrList> arguments, results;
    llvm::SmallVector<mlir::Value> values;         ///< of the results
    llvm::DenseMap<mlir::Value, unsigned> flights; ///< results, by value of the whole entry
  };

  void findUsers();
  void addUser(mlir::Value value, StagePlace place);
  Part &getPart(StagePlace place);
  mlir::Value use(mlir::Value value, StagePlace place);
  mlir::Value useArgument(mlir::BlockArgument argument, StagePlace place);
  mlir::Value useOfAnotherPart(mlir::Value value, StagePlace place);
  mlir::NamedAttrList &makeFlight(mlir::Value value, StagePlace place);
  void addInputs();
  void addResult(unsigned index);
  llvm::SmallVector<StagePlace> listResultPlaces(unsigned index);
  StagePlace getResultPlace(unsigned index);
  void finish(Part &part);

  mlir::func::FuncOp entry;
  const ModelStages &model;
  const EntryStages &stages;
  int64_t &channels;
  bool isInference;               ///< infers(entry)
  llvm::BitVector readParameters; ///< findReadParameters(entry)
  std::map<StagePlace, Part> parts;
  /// The places that use a value which is made elsewhere.
  llvm::DenseMap<mlir::Value, std::map<StagePlace, bool>> users;
  llvm::DenseMap<mlir::Value, std::string> names; ///< of what is in flight
  llvm::SetVector<uint32_t> farSenders;
};

/// What a parameter is called where another stage than its own has a copy.
std::string getCopyName(llvm::StringRef parameter, uint32_t stage);

} // namespace sinter
