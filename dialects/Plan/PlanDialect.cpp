#include "dialects/Plan/PlanDialect.h"
#include "dialects/Sinter/Stage.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace sinter::plan;

#include "dialects/Plan/PlanDialect.cpp.inc"
#include "dialects/Plan/PlanEnums.cpp.inc"
#include "dialects/Plan/PlanInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Plan/PlanAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Plan/PlanTypes.cpp.inc"

static ParseResult parseOptions(OpAsmParser &parser,
                                SmallVectorImpl<std::unique_ptr<Region>> &options) {
  do {
    options.push_back(std::make_unique<Region>());
    if (parser.parseRegion(*options.back()))
      return failure();
    if (options.back()->empty())
      options.back()->emplaceBlock();
  } while (succeeded(parser.parseOptionalKeyword("or")));
  return success();
}

static void printOptions(OpAsmPrinter &printer, Operation *, RegionRange options) {
  llvm::interleave(options, printer, [&](Region *option) { printer.printRegion(*option); }, " or ");
}

#define GET_OP_CLASSES
#include "dialects/Plan/PlanOps.cpp.inc"

void PlanDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Plan/PlanAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Plan/PlanTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Plan/PlanOps.cpp.inc"
      >();
}

SmallVector<char> sinter::plan::getElementBytes(ElementsAttr elements) {
  SmallVector<char> bytes;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(elements)) {
    ArrayRef<char> data = resource.getRawHandle().getBlob()->getData();
    bytes.append(data.begin(), data.end());
    return bytes;
  }
  auto dense = cast<DenseElementsAttr>(elements);
  ArrayRef<char> data = dense.getRawData();
  for (int64_t i = 0, copies = dense.isSplat() ? dense.getNumElements() : 1; i < copies; ++i)
    bytes.append(data.begin(), data.end());
  return bytes;
}

LogicalResult ConstantOp::verify() {
  if (static_cast<int64_t>(getOffset()) < 0 || getOffset() % 64 != 0) // constant_c1
    return emitOpError("expected an offset that is a multiple of 64");
  return success();
}

LogicalResult SliceOp::verify() {
  if (static_cast<int64_t>(getOffset()) < 0 || static_cast<int64_t>(getBytes()) < 0) // slice_c1
    return emitOpError("expected offset and bytes not to be negative");
  if (getSpace() == Space::Checkpoint && !getName()) // slice_c2
    return emitOpError("expected the name of a checkpoint tensor");
  return success();
}

SmallVector<Value> LaunchOp::getReads() { return llvm::to_vector(ValueRange(getInputs())); }
SmallVector<Value> LaunchOp::getWrites() { return llvm::to_vector(ValueRange(getOutputs())); }

int64_t LaunchOp::getBlocks() { return getGrid(); }

LogicalResult LaunchOp::verify() {
  int64_t inputs = getInputs().size();
  bool known = llvm::all_of(getReusable(), [&](int64_t i) { return i >= 0 && i < inputs; });
  if (!known) // launch_c1
    return emitOpError("expected reusable to list inputs");
  if (!getOutputTypes().empty() && getOutputTypes().size() != getOutputs().size()) // launch_c2
    return emitOpError("expected one type for each of ")
           << getOutputs().size() << " outputs, got " << getOutputTypes().size();
  return success();
}

SmallVector<Value> GemmOp::getReads() {
  SmallVector<Value> reads{getLhs(), getRhs()};
  if (getLhsScales())
    reads.append({getLhsScales(), getRhsScales()});
  llvm::append_range(reads, getExtras());
  return reads;
}

SmallVector<Value> GemmOp::getWrites() {
  SmallVector<Value> writes{getOut()};
  if (Value workspace = getWorkspace())
    writes.push_back(workspace);
  return writes;
}

// What the library chooses is not known here; most of its kernels make tiles of about this size.
int64_t GemmOp::getBlocks() {
  constexpr uint64_t kTile = 128;
  return llvm::divideCeil(getM(), kTile) * llvm::divideCeil(getN(), kTile);
}

LogicalResult GemmOp::verify() {
  auto reading = llvm::count_if(getPostOps().getAsRange<PostOpAttr>(),
                                [](PostOpAttr postOp) { return postOp.hasOperand(); });
  if (reading != static_cast<int64_t>(getExtras().size())) // gemm_c1
    return emitOpError("expected ")
           << reading << " extra slices for its post-ops, got " << getExtras().size();
  bool isQuantized = getDtype().getIntOrFloatBitWidth() == 8;
  if (isQuantized != bool(getLhsScales()) || isQuantized != bool(getRhsScales())) // gemm_c2
    return emitOpError(
        "expected scales of both sides where they are of 8 bits, and none otherwise");
  if (std::optional<Type> rhs = getRhsDtype();
      rhs && (!isa<FloatType>(getDtype()) || !isa<FloatType>(*rhs) || !isQuantized ||
              rhs->getIntOrFloatBitWidth() != 8)) // gemm_c3
    return emitOpError("expected an element type of rhs alone with fp8 only, got ")
           << getDtype() << " and " << *rhs;
  return success();
}

SmallVector<Value> AttentionOp::getReads() { return {getQuery(), getKey(), getValue()}; }

SmallVector<Value> AttentionOp::getWrites() {
  SmallVector<Value> writes{getOut()};
  for (Value optional : {getLogsumexp(), getWorkspace()})
    if (optional)
      writes.push_back(optional);
  return writes;
}

// How many blocks the library makes is not known here.
int64_t AttentionOp::getBlocks() { return std::numeric_limits<int64_t>::max(); }

LogicalResult AttentionOp::verify() {
  for (ArrayRef<int64_t> layout : {getQueryLayout(), getKeyLayout(), getValueLayout()})
    if (layout.size() != 4 ||
        llvm::any_of(layout, [](int64_t number) { return number < 0; })) // attention_c1
      return emitOpError("expected layouts of an offset and three strides");
  if (getKeyHeads() == 0 || getHeads() % getKeyHeads() != 0) // attention_c2
    return emitOpError("expected ")
           << getHeads() << " heads to be a multiple of " << getKeyHeads() << " heads of keys";
  return success();
}

SmallVector<Value> PackOp::getReads() { return llvm::to_vector(ValueRange(getSources())); }
SmallVector<Value> PackOp::getWrites() { return {getOut()}; }

int64_t PackOp::getBlocks() { return std::numeric_limits<int64_t>::max(); }

LogicalResult PackOp::verify() {
  int64_t columns = 0;
  for (auto layout : getSourceLayouts().getAsRange<PackSourceAttr>())
    columns += layout.getN();
  if (getSourceLayouts().size() != getSources().size() ||
      columns != static_cast<int64_t>(getN())) // pack_c1
    return emitOpError("expected one layout a source, with n adding up to ") << getN();
  return success();
}

SmallVector<Value> CopyOp::getReads() { return {getSource()}; }
SmallVector<Value> CopyOp::getWrites() { return {getOut()}; }

int64_t CopyOp::getBlocks() { return std::numeric_limits<int64_t>::max(); }

SmallVector<Value> FillOp::getReads() { return {}; }
SmallVector<Value> FillOp::getWrites() { return {getOut()}; }
int64_t FillOp::getBlocks() { return std::numeric_limits<int64_t>::max(); }

SmallVector<Value> CollectiveOp::getReads() { return {getSource()}; }
SmallVector<Value> CollectiveOp::getWrites() { return {getOut()}; }
int64_t CollectiveOp::getBlocks() { return std::numeric_limits<int64_t>::max(); }

SmallVector<Value> SendOp::getReads() { return {getSource()}; }
SmallVector<Value> SendOp::getWrites() { return {}; }
int64_t SendOp::getBlocks() { return 0; }

SmallVector<Value> ReceiveOp::getReads() { return {}; }
SmallVector<Value> ReceiveOp::getWrites() { return {getOut()}; }
int64_t ReceiveOp::getBlocks() { return 0; }

/// Bytes of a slice that is made or placed.
static uint64_t getSliceBytes(Value value) {
  if (auto alloc = value.getDefiningOp<AllocOp>())
    return alloc.getBytes();
  return value.getDefiningOp<SliceOp>().getBytes();
}

LogicalResult CollectiveOp::verify() {
  uint64_t source = getSliceBytes(getSource()), out = getSliceBytes(getOut());
  bool fits = source == out;
  if (getKind() == CollectiveKind::AllGather)
    fits = source != 0 && out % source == 0;
  if (getKind() == CollectiveKind::AllSlice)
    fits = out != 0 && source % out == 0;
  if (!fits) // collective_c1
    return emitOpError("expected slices of whole parts, got ")
           << source << " bytes and " << out << " bytes";
  if (getKind() == CollectiveKind::AllReduce && !getDtype()) // collective_c2
    return emitOpError("expected the type of what is added");
  return success();
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

void AlternativesOp::build(OpBuilder &, OperationState &state, ArrayRef<Operation *> commands) {
  for (Operation *command : commands) {
    Block &option = state.addRegion()->emplaceBlock();
    command->remove();
    option.push_back(command);
  }
}

SmallVector<CommandInterface> AlternativesOp::getCommands() {
  return llvm::map_to_vector(
      getOptions(), [](Region &option) { return cast<CommandInterface>(option.front().front()); });
}

SmallVector<Value> AlternativesOp::getReads() {
  llvm::SetVector<Value> reads;
  for (CommandInterface command : getCommands())
    reads.insert_range(command.getReads());
  return reads.takeVector();
}

SmallVector<Value> AlternativesOp::getWrites() {
  llvm::SetVector<Value> writes;
  for (CommandInterface command : getCommands())
    writes.insert_range(command.getWrites());
  return writes.takeVector();
}

static CommandInterface getPick(AlternativesOp choice) { return choice.getCommands().front(); }

int64_t AlternativesOp::getBlocks() {
  int64_t most = 0;
  for (CommandInterface command : getCommands())
    most = std::max(most, command.getBlocks());
  return most;
}

int64_t AlternativesOp::getFlops() { return getPick(*this).getFlops(); }
int64_t AlternativesOp::getNarrowFlops() { return getPick(*this).getNarrowFlops(); }
int64_t AlternativesOp::getByteFlops() { return getPick(*this).getByteFlops(); }
int64_t AlternativesOp::getNibbleFlops() { return getPick(*this).getNibbleFlops(); }
int64_t AlternativesOp::getBytes() { return getPick(*this).getBytes(); }
int64_t AlternativesOp::getSharedBytes() { return getPick(*this).getSharedBytes(); }
int64_t AlternativesOp::getPrivateBytes() { return getPick(*this).getPrivateBytes(); }
int64_t AlternativesOp::getPredictedNs() { return getPick(*this).getPredictedNs(); }
StringRef AlternativesOp::getLabel() { return getPick(*this).getLabel(); }
StringRef AlternativesOp::getLayer() { return getPick(*this).getLayer(); }
StringRef AlternativesOp::getStage() { return getPick(*this).getStage(); }

/// Whether bytes that a command writes are of no use to any other.
static bool isOwn(Value written, Operation *command) {
  auto slice = written.getDefiningOp<SliceOp>();
  if (slice && slice.getSpace() == Space::State)
    return slice.getName() && slice.getName()->starts_with(kScratchPrefix);
  bool inArena = slice ? slice.getSpace() == Space::Arena : !!written.getDefiningOp<AllocOp>();
  return inArena &&
         llvm::all_of(written.getUsers(), [&](Operation *user) { return user == command; });
}

LogicalResult AlternativesOp::verify() {
  if (getOptions().size() < 2) // alternatives_c1
    return emitOpError("expected two options or more");
  for (Region &option : getOptions())
    if (!llvm::hasSingleElement(option.front()) || !isa<CommandInterface>(option.front().front()) ||
        isa<AlternativesOp>(option.front().front())) // alternatives_c2
      return emitOpError("expected each option to be one command");
  SmallVector<CommandInterface> commands = getCommands();
  for (CommandInterface command : commands)
    for (Value written : command.getWrites()) {
      bool byAll = llvm::all_of(commands, [&](CommandInterface other) {
        return llvm::is_contained(other.getWrites(), written);
      });
      if (!byAll && !isOwn(written, command)) // alternatives_c3
        return (emitOpError("expected what one option writes to be written by all")
                    .attachNote(written.getLoc())
                << "these bytes are not");
    }
  return success();
}
