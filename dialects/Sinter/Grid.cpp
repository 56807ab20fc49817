#include "dialects/Sinter/SinterDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace sinter;

//===----------------------------------------------------------------------===//
// Grid
//===----------------------------------------------------------------------===//

Attribute GridAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  SMLoc loc = parser.getCurrentLocation();
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    if (parser.parseKeywordOrString(&name) || parser.parseEqual() ||
        parser.parseInteger(sizes.emplace_back()))
      return failure();
    names.push_back(StringAttr::get(parser.getContext(), name));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseAxis))
    return nullptr;
  return GridAttr::getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                              ArrayRef(names), ArrayRef(sizes));
}

void GridAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(llvm::zip_equal(getNames(), getSizes()), printer, [&](auto axis) {
    auto [name, size] = axis;
    printer.printKeywordOrString(name.getValue());
    printer << " = " << size;
  });
  printer << '>';
}

LogicalResult GridAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringAttr> names, ArrayRef<int64_t> sizes) {
  llvm::StringSet<> known;
  for (StringAttr name : names)
    if (name.getValue().empty() || !known.insert(name.getValue()).second) // grid_c1
      return emitError() << "expected axes with names, each once, got " << name;
  if (names.size() != sizes.size() ||
      llvm::any_of(sizes, [](int64_t size) { return size < 1; })) // grid_c2
    return emitError() << "expected a positive number of ranks along each axis";
  return success();
}

int64_t GridAttr::getRanks() const {
  int64_t ranks = 1;
  for (int64_t size : getSizes())
    ranks *= size;
  return ranks;
}

int64_t GridAttr::getSize(StringRef axis) const {
  for (auto [name, size] : llvm::zip_equal(getNames(), getSizes()))
    if (name.getValue() == axis)
      return size;
  return 1;
}

int64_t GridAttr::getSize(ArrayAttr axes) const {
  int64_t ranks = 1;
  for (auto axis : axes.getAsRange<StringAttr>())
    ranks *= getSize(axis.getValue());
  return ranks;
}

SmallVector<int64_t> GridAttr::getGroup(ArrayAttr axes, int64_t rank) const {
  SmallVector<int64_t> group;
  int64_t first = rank;
  llvm::StringMap<int64_t> strides;
  int64_t stride = getRanks();
  for (auto [name, size] : llvm::zip_equal(getNames(), getSizes()))
    strides[name.getValue()] = stride /= size;
  for (auto axis : axes.getAsRange<StringAttr>())
    first -= rank / strides[axis.getValue()] % getSize(axis.getValue()) * strides[axis.getValue()];
  for (int64_t place = 0, size = getSize(axes); place < size; ++place) {
    int64_t member = first, rest = place;
    for (Attribute axis : llvm::reverse(axes)) {
      StringRef name = cast<StringAttr>(axis).getValue();
      member += rest % getSize(name) * strides[name];
      rest /= getSize(name);
    }
    group.push_back(member);
  }
  return group;
}

GridAttr GridAttr::lookup(Operation *op) {
  for (; op; op = op->getParentOp())
    if (auto grid = op->getAttrOfType<GridAttr>(SinterDialect::kGrid))
      return grid;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

LogicalResult ShardingAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                   ArrayAttr dims, ArrayAttr unreduced) {
  llvm::StringSet<> known;
  auto isNew = [&](Attribute axis) {
    auto name = dyn_cast<StringAttr>(axis);
    return name && known.insert(name.getValue()).second;
  };
  bool each = !unreduced || llvm::all_of(unreduced, isNew);
  for (Attribute dim : dims) {
    auto axes = dyn_cast<ArrayAttr>(dim);
    each &= axes && llvm::all_of(axes, isNew);
  }
  if (!each) // sharding_c1
    return emitError() << "expected lists of axes by name, none of them twice";
  return success();
}

ShardingAttr ShardingAttr::getReplicated(MLIRContext *context, int64_t rank) {
  Builder builder(context);
  return get(context, builder.getArrayAttr(SmallVector<Attribute>(rank, builder.getArrayAttr({}))),
             nullptr);
}

bool ShardingAttr::isUnreduced() const { return getUnreduced() && !getUnreduced().empty(); }

bool ShardingAttr::isReplicated() const {
  return !isUnreduced() &&
         llvm::all_of(getDims(), [](Attribute axes) { return cast<ArrayAttr>(axes).empty(); });
}

ArrayAttr ShardingAttr::getAxes(int64_t dim) const { return cast<ArrayAttr>(getDims()[dim]); }

RankedTensorType ShardingAttr::getLocalType(RankedTensorType whole, GridAttr grid) const {
  SmallVector<int64_t> shape(whole.getShape());
  for (auto [dim, extent] : llvm::enumerate(shape))
    extent = llvm::divideCeil(extent, grid.getSize(getAxes(dim)));
  return whole.clone(shape);
}
