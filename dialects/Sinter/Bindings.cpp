//===- Bindings.cpp - What the arguments and results of entries say of themselves -===//

#include "dialects/Sinter/Pipelining.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace sinter;

/// Checks an attribute that names a value, where it is one of `kinds`; fails on an attribute that
/// is neither of these nor of `others`.
static LogicalResult verifyName(Operation *op, const Twine &what, NamedAttribute attribute,
                                ArrayRef<StringRef> kinds, ArrayRef<StringRef> others) {
  StringRef key = attribute.getName();
  if (llvm::is_contained(others, key))
    return success();
  if (!llvm::is_contained(kinds, key)) // dialect_c1
    return op->emitError("unknown attribute '")
           << key << "' of " << what << ": expected one of " << llvm::join(kinds, ", ")
           << (others.empty() ? "" : ", ") << llvm::join(others, ", ");
  auto name = dyn_cast<StringAttr>(attribute.getValue());
  if (!name || name.getValue().empty()) // dialect_c2
    return op->emitError("expected '") << key << "' of " << what << " to be a name in quotes";
  return success();
}

static bool isParameter(DictionaryAttr attributes) {
  auto role = attributes.getAs<RoleAttr>(SinterDialect::kRole);
  return attributes.contains(SinterDialect::kParameter) ||
         (role && role.getValue() == Role::Parameter);
}

/// Checks what an argument or a result of type `type` says of who holds it.
static LogicalResult verifySharding(Operation *op, const Twine &what, NamedAttribute attribute,
                                    Type type) {
  if (attribute.getName() == SinterDialect::kWhole)
    return isa<TypeAttr>(attribute.getValue()) ? success()
                                               : op->emitError("expected '")
                                                     << SinterDialect::kWhole << "' of " << what
                                                     << " to be a type";
  if (attribute.getName() != SinterDialect::kSharding)
    return success();
  auto sharding = dyn_cast<ShardingAttr>(attribute.getValue());
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!sharding || !tensor || static_cast<int64_t>(sharding.getDims().size()) != tensor.getRank())
    return op->emitError("expected '") << SinterDialect::kSharding << "' of " << what
                                       << " to be a sharding with a list of axes a dimension";
  GridAttr grid = GridAttr::lookup(op);
  auto isKnown = [&](Attribute axis) { return grid && llvm::is_contained(grid.getNames(), axis); };
  ArrayAttr unreduced = sharding.getUnreduced();
  if ((unreduced && !llvm::all_of(unreduced, isKnown)) ||
      !llvm::all_of(sharding.getDims(), [&](Attribute axes) { // dialect_c6
        return llvm::all_of(cast<ArrayAttr>(axes), isKnown);
      }))
    return op->emitError("expected '")
           << SinterDialect::kSharding << "' of " << what
           << " to be along axes of the module's grid, got " << sharding;
  return success();
}

/// Checks what an argument or a result of type `type` says of the tensor that it is a part of.
static LogicalResult verifyBox(Operation *op, const Twine &what, DictionaryAttr attributes,
                               Type type) {
  auto known = attributes.get(SinterDialect::kBox);
  auto whole = attributes.getAs<TypeAttr>(SinterDialect::kWhole);
  auto part = dyn_cast<RankedTensorType>(whole ? whole.getValue() : type);
  auto box = dyn_cast<BoxAttr>(known);
  bool fits = box && part && attributes.contains(SinterDialect::kState) &&
              box.getWhole().getRank() == part.getRank() &&
              static_cast<int64_t>(box.getOffsets().size()) == part.getRank();
  for (int64_t dim = 0; fits && dim < part.getRank(); ++dim)
    fits = box.getOffsets()[dim] >= 0 &&
           box.getOffsets()[dim] <= box.getWhole().getDimSize(dim) - part.getDimSize(dim);
  if (!fits) // dialect_c7
    return op->emitError("expected '")
           << SinterDialect::kBox << "' of " << what << " to say where a state of type " << type
           << " lies in a tensor, got " << known;
  return success();
}

LogicalResult SinterDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned index,
                                                      NamedAttribute attribute) {
  if (!op->hasAttr(kEntry))
    return success();
  std::string what = "argument " + std::to_string(index);
  if (failed(verifyName(
          op, what, attribute, {kParameter, kPreprocessed, kState, kInput, kFlight},
          {kDonated, kRole, kInitializer, kValues, kFixed, kSharding, kWhole, kBox, kReceive})))
    return failure();
  StringRef key = attribute.getName();
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  if (failed(verifySharding(op, what, attribute, function.getArgumentTypes()[index])))
    return failure();
  DictionaryAttr attributes = function.getArgAttrDict(index);
  if (key == kBox)
    return verifyBox(op, what, attributes, function.getArgumentTypes()[index]);
  if (key == kDonated && !isa<IntegerAttr>(attribute.getValue()))
    return op->emitError("expected '") << key << "' of " << what << " to be a result's number";
  if (key == kRole) { // dialect_c3
    auto role = dyn_cast<RoleAttr>(attribute.getValue());
    if (!role)
      return op->emitError("expected '")
             << key << "' of " << what << " to be a role, as #sinter.role<kv_cache>";
    if (!attributes.contains(kState))
      return op->emitError("expected ")
             << what << " with '" << key << "' to be a state (with '" << kState << "')";
    auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[index]);
    if (role.getValue() == Role::KvCache && (!type || type.getRank() != 4))
      return op->emitError("expected a KV cache to be [batch, positions, heads, head size], got ")
             << what << " of type " << function.getArgumentTypes()[index];
  }
  if (key == kValues) { // dialect_c8
    auto values = dyn_cast<DenseI8ArrayAttr>(attribute.getValue());
    if (!values || values.size() != 16 || !attributes.contains(kParameter) ||
        !getElementTypeOrSelf(function.getArgumentTypes()[index]).isInteger(8))
      return op->emitError("expected '")
             << key << "' of " << what << " to be 16 bytes, of a parameter of i8";
  }
  if (key == kFixed && // dialect_c9
      (!isa<UnitAttr>(attribute.getValue()) || !isParameter(attributes)))
    return op->emitError("expected '")
           << key << "' of " << what << " to be a mark of a parameter (with '" << kParameter
           << "' or the role parameter)";
  if (key == kInitializer) { // dialect_c4
    if (!isa<NormalAttr>(attribute.getValue()))
      return op->emitError("expected '")
             << key << "' of " << what
             << " to be normal numbers, as #sinter.normal<mean = 0.0, deviation = 0.02>";
    if (!isParameter(attributes))
      return op->emitError("expected ") << what << " with '" << key << "' to be a parameter (with '"
                                        << kParameter << "' or the role parameter)";
  }
  return success();
}

LogicalResult SinterDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned index,
                                                         NamedAttribute attribute) {
  if (!op->hasAttr(kEntry))
    return success();
  std::string what = "result " + std::to_string(index);
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (function && failed(verifySharding(op, what, attribute, function.getResultTypes()[index])))
    return failure();
  if (function && attribute.getName() == kBox)
    return verifyBox(op, what, function.getResultAttrDict(index), function.getResultTypes()[index]);
  return verifyName(op, what, attribute, {kOutput, kState, kPreprocessed, kGradient, kFlight},
                    {kSharding, kWhole, kBox, kSend});
}

LogicalResult SinterDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != kMetadata)
    return success();
  auto metadata = dyn_cast<DictionaryAttr>(attribute.getValue());
  if (!metadata || !llvm::all_of(metadata, [](NamedAttribute entry) { // dialect_c5
        return isa<StringAttr>(entry.getValue());
      }))
    return op->emitError("expected '") << kMetadata << "' to be strings by name, as "
                                       << "{vocab_size = \"50257\"}";
  return success();
}
