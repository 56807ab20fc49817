#include "compiler/Schedule/ProgramLowering.h"
#include "compiler/Analysis/CommandInfo.h"
#include "compiler/Analysis/CostModel.h"
#include "compiler/Analysis/KernelFamily.h"
#include "compiler/Codegen/Cuda/Kernels.h"
#include "compiler/Families/CommandBuilder.h"
#include "compiler/Schedule/Buffers.h"
#include "dialects/Sinter/Pipelining.h"
#include "runtime/Format/PipelineStages.h"
#include <map>

using namespace mlir;
using namespace sinter;
using plan::Space;

std::string sinter::getUnprocessedName(StringAttr tensor) { return tensor.str() + " (as stored)"; }

namespace {

/// Turns one entry into a program.
class ProgramLowering : CommandBuilder {
public:
  ProgramLowering(func::FuncOp entry, const SymbolTable &kernels, SharedSpaces &spaces)
      : entry(entry), kernels(kernels), families(entry.getContext()), spaces(spaces),
        builder(entry), sliceType(plan::SliceType::get(entry.getContext())),
        target(TargetAttr::lookup(entry)), stage(getPipelineStage(entry)),
        place(getPipelinePlace(entry, stage)), parameters(spaces.parameters[place]),
        states(spaces.states[place]) {}

  LogicalResult run() {
    auto program = plan::ProgramOp::create(builder, entry.getLoc(), entry.getName(),
                                           /*arena_bytes=*/IntegerAttr(),
                                           /*arena_lower_bound=*/IntegerAttr());
    if (Attribute own = entry->getAttr(kPipelineStage))
      program->setAttr(kPipelineStage, own);
    builder.setInsertionPointToStart(&program.getBody().emplaceBlock());
    if (failed(bindArguments()) || failed(bindResults()))
      return failure();
    for (Operation &op : entry.front().without_terminator())
      if (failed(lower(op)))
        return failure();
    copyResults();
    sendResults();
    return success();
  }

private:
  //===--------------------------------------------------------------------===//
  // Arguments and results
  //===--------------------------------------------------------------------===//

  /// The slice that an argument or a result is bound to by its attributes.
  FailureOr<Value> bind(DictionaryAttr attributes, Type type, Location loc, bool result) {
    struct Kind {
      StringRef attribute;
      Space space;
      NamedSpace *names;
    };
    const Kind argumentKinds[] = {
        {SinterDialect::kParameter, Space::Checkpoint, nullptr},
        {SinterDialect::kPreprocessed, Space::Parameter, &parameters},
        {SinterDialect::kState, Space::State, &states},
        {SinterDialect::kInput, Space::Input, &inputs},
        {kFlight, Space::State, nullptr},
    };
    const Kind resultKinds[] = {
        {SinterDialect::kPreprocessed, Space::Parameter, &parameters},
        {SinterDialect::kState, Space::State, &states},
        {SinterDialect::kOutput, Space::Output, &outputs},
        {kFlight, Space::State, nullptr},
    };
    for (const Kind &kind : result ? ArrayRef<Kind>(resultKinds) : ArrayRef<Kind>(argumentKinds)) {
      auto name = attributes ? attributes.getAs<StringAttr>(kind.attribute) : nullptr;
      if (!name)
        continue;
      if (kind.attribute == kFlight)
        return bindFlight(name, type, loc);
      if (kind.space == Space::Checkpoint && !runtime::isPreprocess(entry.getName().str()))
        return bindUnprocessed(name, type, loc);
      Value &slice = bound[{static_cast<unsigned>(kind.space), name}];
      if (slice)
        return slice;
      FailureOr<int64_t> offset =
          kind.names ? kind.names->place(name, type) : FailureOr<int64_t>(0);
      if (failed(offset))
        return emitError(loc, "expected ")
               << name << " to have one type in all entries, got " << type;
      auto placed = plan::SliceOp::create(builder, loc, sliceType, kind.space, *offset,
                                          getStorageBytes(type), name, TypeAttr::get(type));
      placed.setWholeAttr(attributes.getAs<TypeAttr>(SinterDialect::kWhole));
      if (placed.getWhole())
        placed.setShardingAttr(attributes.get(SinterDialect::kSharding));
      if (Attribute box = attributes.get(SinterDialect::kBox))
        placed.setBoxAttr(box);
      return slice = placed;
    }
    return emitError(loc, "expected an entry's ")
           << (result ? "result" : "argument") << " to be bound by an attribute";
  }

  /// What is in flight has no name outside.
  Value bindFlight(StringAttr name, Type type, Location loc) {
    Value &slice = flights[name];
    if (!slice) {
      auto placed = plan::SliceOp::create(builder, loc, sliceType, Space::State,
                                          *spaces.flights[stage].place(name, type),
                                          getStorageBytes(type), StringAttr(), TypeAttr::get(type));
      spaces.flightSlices.push_back({placed, stage});
      slice = placed;
    }
    return slice;
  }

  /// Remembers a tensor of the checkpoint: a parameter, or a state that begins as one.
  void declareParameter(DictionaryAttr attributes, BlockArgument argument) {
    auto role = attributes.getAs<RoleAttr>(SinterDialect::kRole);
    bool trained = role && role.getValue() == Role::Parameter;
    auto name =
        attributes.getAs<StringAttr>(trained ? SinterDialect::kState : SinterDialect::kParameter);
    auto whole = attributes.getAs<TypeAttr>(SinterDialect::kWhole);
    Type type = whole ? whole.getValue() : argument.getType();
    if (auto box = attributes.getAs<BoxAttr>(SinterDialect::kBox); name && box) {
      name = box.getName();
      type = box.getWhole();
    }
    if (name)
      spaces.checkpoint.insert({name,
                                {cast<RankedTensorType>(type),
                                 attributes.getAs<NormalAttr>(SinterDialect::kInitializer)}});
  }

  /// Only `@preprocess` sees the checkpoint; it will copy the tensor here.
  FailureOr<Value> bindUnprocessed(StringAttr tensor, Type type, Location loc) {
    StringAttr name = builder.getStringAttr(getUnprocessedName(tensor));
    FailureOr<int64_t> offset = parameters.place(name, type);
    if (failed(offset))
      return emitError(loc, "expected ")
             << tensor << " to have one type in all entries, got " << type;
    spaces.unprocessed[place][tensor] = type;
    return Value(plan::SliceOp::create(builder, loc, sliceType, Space::Parameter, *offset,
                                       getStorageBytes(type), name, TypeAttr::get(type)));
  }

  LogicalResult bindArguments() {
    for (BlockArgument argument : entry.getArguments()) {
      DictionaryAttr attributes = entry.getArgAttrDict(argument.getArgNumber());
      auto received = attributes ? attributes.getAs<DenseI64ArrayAttr>(kReceive) : nullptr;
      if (received && attributes.size() == 1) {
        slices[argument] = createAlloc(argument.getLoc(), getStorageBytes(argument.getType()));
      } else {
        FailureOr<Value> slice =
            bind(attributes, argument.getType(), argument.getLoc(), /*result=*/false);
        if (failed(slice))
          return failure();
        slices[argument] = *slice;
        argumentsIn[*slice].push_back(argument);
        declareParameter(attributes, argument);
      }
    }
    receiveArguments();
    return success();
  }

  /// Waits for what other stages send, all of it before anything is computed. Both ends go by the
  /// order of channels: some devices receive in the order of sending.
  void receiveArguments() {
    std::map<int64_t, std::pair<BlockArgument, int64_t>> received; // by channel, with the sender
    for (BlockArgument argument : entry.getArguments())
      if (auto own = entry.getArgAttrOfType<DenseI64ArrayAttr>(argument.getArgNumber(), kReceive))
        received[own[1]] = {argument, own[0]};
    for (const auto &[channel, from] : received) {
      auto [argument, sender] = from;
      plan::ReceiveOp::create(builder, argument.getLoc(), channel, sender, slices.at(argument),
                              /*flops=*/0, /*narrow_flops=*/0, /*byte_flops=*/0, /*nibble_flops=*/0,
                              getStorageBytes(argument.getType()),
                              /*shared_bytes=*/0, /*private_bytes=*/0, /*predicted_ns=*/0,
                              "receive", getLayer(argument.getLoc()),
                              stringifyStage(Stage::Forward));
    }
  }

  /// Sends what other stages wait for.
  void sendResults() {
    Operation *terminator = entry.front().getTerminator();
    std::map<int64_t, std::pair<unsigned, int64_t>> sent; // results by channel, with the receiver
    for (unsigned i = 0; i < destinations.size(); ++i)
      if (auto targets = entry.getResultAttrOfType<DenseI64ArrayAttr>(i, kSend))
        for (size_t target = 0; target < static_cast<size_t>(targets.size()); target += 2)
          sent[targets[target + 1]] = {i, targets[target]};
    for (const auto &[channel, to] : sent) {
      auto [result, receiver] = to;
      Value value = terminator->getOperand(result);
      plan::SendOp::create(builder, value.getLoc(), channel, receiver, destinations[result],
                           /*flops=*/0, /*narrow_flops=*/0, /*byte_flops=*/0, /*nibble_flops=*/0,
                           getStorageBytes(value.getType()),
                           /*shared_bytes=*/0, /*private_bytes=*/0, /*predicted_ns=*/0, "send",
                           getLayer(value.getLoc()), stringifyStage(latest));
    }
  }

  /// Finds the slice of each result, and which values can be computed right there.
  LogicalResult bindResults() {
    Operation *terminator = entry.front().getTerminator();
    for (OpOperand &returned : terminator->getOpOperands()) {
      FailureOr<Value> slice = bind(entry.getResultAttrDict(returned.getOperandNumber()),
                                    returned.get().getType(), entry.getLoc(), /*result=*/true);
      if (failed(slice))
        return failure();
      Value buffer = roots.get(returned.get());
      destinations.push_back(*slice);
      if (canComputeIn(buffer, *slice) && !slices.contains(buffer))
        slices[buffer] = *slice;
    }
    return success();
  }

  /// Whether a buffer may live in a returned value's slice from the start: it is made by a command,
  /// as large, and if the slice is a state's, nothing needs the old state any more, or the command
  /// reads each element of it where it writes one.
  bool canComputeIn(Value buffer, Value slice) {
    Operation *producer = buffer.getDefiningOp();
    if (!producer || isa<ConstantOp>(producer) ||
        getStorageBytes(buffer.getType()) !=
            static_cast<int64_t>(slice.getDefiningOp<plan::SliceOp>().getBytes()))
      return false;
    return llvm::none_of(argumentsIn.lookup(slice),
                         [&](BlockArgument argument) { return isNeededFrom(argument, buffer); });
  }

  /// Whether the memory of an argument, in any version, is used by the op that computes `buffer`,
  /// other than by reading each element where one of it is written, or after that op.
  bool isNeededFrom(BlockArgument argument, Value buffer) {
    Operation *op = buffer.getDefiningOp();
    SmallVector<Value> versions = {argument};
    for (size_t i = 0; i < versions.size(); ++i)
      for (OpOperand &use : versions[i].getUses()) {
        Operation *user = use.getOwner();
        for (Value result : user->getResults())
          if (getSharedOperand(result) == &use)
            versions.push_back(result);
        if (!isAlias(user) && !user->isBeforeInBlock(op) &&
            (user != op || !mayOverwrite(use, buffer)))
          return true;
      }
    return false;
  }

  /// Whether a command may write a result over an operand.
  bool mayOverwrite(OpOperand &operand, Value result) {
    unsigned index = operand.getOperandNumber();
    if (operand.get().getType() != result.getType())
      return false;
    if (auto call = dyn_cast<CallKernelOp>(operand.getOwner())) {
      auto kernel = kernels.lookup<func::FuncOp>(call.getKernel());
      return llvm::is_contained(findReusableArguments(kernel.front()), index);
    }
    if (operand.getOwner()->getNumResults() != 1)
      return false;
    auto fusion = dyn_cast<FusionOp>(operand.getOwner());
    const KernelFamily *family = fusion ? families.lookup(fusion) : nullptr;
    return family && family->mayOverwrite(fusion, index);
  }

  /// Copies what was not computed where it belongs. A copy runs before one that overwrites its
  /// source; in a cycle, one source is put aside.
  void copyResults() {
    Operation *terminator = entry.front().getTerminator();
    SmallVector<std::pair<Value, Value>> pending;
    for (auto [value, destination] : llvm::zip_equal(terminator->getOperands(), destinations))
      if (Value source = getSlice(value); source != destination)
        pending.push_back({source, destination});
    while (!pending.empty()) {
      auto free = llvm::find_if(pending, [&](auto &copy) {
        return llvm::none_of(pending, [&](auto &other) { return other.first == copy.second; });
      });
      if (free == pending.end()) {
        Value source = pending.front().first;
        Value aside = createAlloc(terminator->getLoc(), getBytes(source));
        createCopy(terminator->getLoc(), source, aside, "copy", "", latest);
        for (auto &copy : pending)
          if (copy.first == source)
            copy.first = aside;
        continue;
      }
      createCopy(terminator->getLoc(), free->first, free->second, "copy", "", latest);
      pending.erase(free);
    }
  }

  //===--------------------------------------------------------------------===//
  // Commands
  //===--------------------------------------------------------------------===//

  LogicalResult lower(Operation &op) {
    latest = std::max(latest, getStage(op.getLoc()));
    if (isAlias(&op))
      return success();
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      auto type = cast<RankedTensorType>(constant.getType());
      if (type.getEncoding())
        return op.emitError("expected a constant between kernels to be dense");
      slices[constant] =
          plan::SliceOp::create(builder, op.getLoc(), sliceType, Space::Constant,
                                spaces.constants.place(constant.getValue()), getStorageBytes(type),
                                StringAttr(), TypeAttr::get(type));
      return success();
    }
    if (auto call = dyn_cast<CallKernelOp>(op))
      return lowerCall(call);
    if (auto copy = dyn_cast<CopyOp>(op)) {
      CommandInfo info = describeCommand(copy, target);
      createCopy(op.getLoc(), getSlice(copy.getOperand()), makeSlice(copy), info.label, info.layer,
                 info.stage);
      return success();
    }
    if (auto collective = dyn_cast<CollectiveOpInterface>(op))
      return lowerCollective(collective);
    auto fusion = dyn_cast<FusionOp>(op);
    const KernelFamily *family = fusion ? families.lookup(fusion) : nullptr;
    if (family && family->isCommand())
      return family->lowerToCommand(fusion, *this);
    return op.emitError("expected a kernel call, a collective, a fusion that is a command, a "
                        "reshape of dense tensors or a constant");
  }

  /// A launch, or a choice between the launches of all kernels that compute it.
  LogicalResult lowerCall(CallKernelOp call) {
    auto kernel = kernels.lookup<func::FuncOp>(call.getKernel());
    SmallVector<Value> inputs, outputs;
    for (Value operand : call.getInputs())
      inputs.push_back(getSlice(operand));
    for (Value result : call.getOutputs())
      outputs.push_back(makeSlice(result));
    auto [known, isNew] = described.try_emplace(kernel);
    if (isNew)
      known->second = describeCommand(call, target);
    CommandInfo info = known->second;
    info.layer = getLayer(call.getLoc());
    info.stage = getStage(call.getLoc());
    SmallVector<func::FuncOp> ways = {kernel};
    if (auto others = kernel->getAttrOfType<ArrayAttr>(kAlternativesAttribute))
      for (auto other : others.getAsRange<FlatSymbolRefAttr>())
        ways.push_back(kernels.lookup<func::FuncOp>(other.getAttr()));
    SmallVector<Operation *> launches;
    for (func::FuncOp way : ways) {
      FailureOr<plan::LaunchOp> launch = createLaunch(call, way, inputs, outputs, info);
      if (failed(launch))
        return failure();
      launches.push_back(*launch);
    }
    if (launches.size() > 1)
      plan::AlternativesOp::create(builder, call.getLoc(), launches);
    return success();
  }

  FailureOr<plan::LaunchOp> createLaunch(CallKernelOp call, func::FuncOp kernel,
                                         ArrayRef<Value> inputs, SmallVector<Value> outputs,
                                         const CommandInfo &info) {
    auto grid = kernel->getAttrOfType<IntegerAttr>(kGridAttribute);
    if (!grid)
      return kernel.emitError("expected a lowered kernel (with ") << kGridAttribute << ")";
    SmallVector<Type> outputTypes;
    for (Value result : call.getOutputs())
      outputTypes.push_back(cast<RankedTensorType>(result.getType()).getElementType());
    if (auto scratch = kernel->getAttrOfType<IntegerAttr>(kScratchAttribute)) {
      FailureOr<Value> slice = bindScratch(kernel, scratch.getInt());
      if (failed(slice))
        return failure();
      outputs.push_back(*slice);
      outputTypes.push_back(builder.getI32Type());
    }
    SmallVector<int64_t> reusable;
    for (int64_t argument : findReusableArguments(kernel.front()))
      reusable.push_back(argument);
    return plan::LaunchOp::create(builder, call.getLoc(), kernel.getName(), grid.getInt(), inputs,
                                  outputs, reusable, builder.getTypeArrayAttr(outputTypes),
                                  info.flops, info.narrowFlops, info.byteFlops, info.nibbleFlops,
                                  info.bytes, info.sharedBytes, info.privateBytes, info.predictedNs,
                                  info.label, info.layer, stringifyStage(info.stage));
  }

  /// What a kernel finds again as it left it is a state. Launches of one kernel share it.
  FailureOr<Value> bindScratch(func::FuncOp kernel, int64_t bytes) {
    auto type = RankedTensorType::get({bytes / 4}, builder.getI32Type());
    StringAttr name = builder.getStringAttr(plan::kScratchPrefix + kernel.getName());
    Value &slice = bound[{static_cast<unsigned>(Space::State), name}];
    if (slice)
      return slice;
    FailureOr<int64_t> offset = states.place(name, type);
    if (failed(offset))
      return kernel.emitError("expected ") << name << " to have one size in all entries";
    return slice = plan::SliceOp::create(builder, kernel.getLoc(), sliceType, Space::State, *offset,
                                         bytes, name, TypeAttr::get(type));
  }

  LogicalResult lowerCollective(CollectiveOpInterface op) {
    std::optional<plan::CollectiveKind> kind =
        plan::symbolizeCollectiveKind(op->getName().stripDialect());
    if (!kind)
      return op.emitError("expected a collective that there is a command for");
    CommandInfo info = describeCommand(op, target);
    Type element = cast<RankedTensorType>(op.getResult().getType()).getElementType();
    bool adds = kind == plan::CollectiveKind::AllReduce;
    plan::CollectiveOp::create(
        builder, op.getLoc(), *kind, op.getAxes(), getSlice(op.getOperand()),
        makeSlice(op.getResult()), adds ? TypeAttr::get(element) : TypeAttr(), info.flops,
        info.narrowFlops, info.byteFlops, info.nibbleFlops, info.bytes, info.sharedBytes,
        info.privateBytes, info.predictedNs, info.label, info.layer, stringifyStage(info.stage));
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Slices
  //===--------------------------------------------------------------------===//

  static int64_t getBytes(Value slice) {
    if (auto alloc = slice.getDefiningOp<plan::AllocOp>())
      return alloc.getBytes();
    return slice.getDefiningOp<plan::SliceOp>().getBytes();
  }

  Value createAlloc(Location loc, int64_t bytes) {
    return plan::AllocOp::create(builder, loc, sliceType, bytes);
  }

  void createCopy(Location loc, Value source, Value out, StringRef label, StringRef layer,
                  Stage stage) {
    int64_t bytes = 2 * getBytes(source);
    int64_t ns = target ? bytes / target.getMemoryGbs() : 0;
    plan::CopyOp::create(builder, loc, source, out, /*flops=*/0, /*narrow_flops=*/0,
                         /*byte_flops=*/0, /*nibble_flops=*/0, bytes,
                         /*shared_bytes=*/0, /*private_bytes=*/0, ns, label, layer,
                         stringifyStage(stage));
  }

  OpBuilder &getBuilder() override { return builder; }
  TargetAttr getTarget() const override { return target; }
  Value getSlice(Value value) override { return slices.at(roots.get(value)); }
  Value makeSlice(Value value) override {
    Value &slice = slices[roots.get(value)];
    if (!slice)
      slice = createAlloc(value.getLoc(), getStorageBytes(value.getType()));
    return slice;
  }

  func::FuncOp entry;
  const SymbolTable &kernels;
  KernelFamilies families;
  SharedSpaces &spaces;
  BufferRoots roots;
  DenseMap<func::FuncOp, CommandInfo> described; ///< calls of a kernel, but for where they belong
  OpBuilder builder;
  Type sliceType;
  TargetAttr target;
  int64_t stage, place;            ///< of a pipeline
  NamedSpace &parameters, &states; ///< of its ranks
  NamedSpace inputs, outputs;
  DenseMap<StringAttr, Value> flights;                     ///< by name
  DenseMap<std::pair<unsigned, StringAttr>, Value> bound;  ///< by space and name
  DenseMap<Value, Value> slices;                           ///< by buffer
  DenseMap<Value, SmallVector<BlockArgument>> argumentsIn; ///< by slice
  SmallVector<Value> destinations;                         ///< of the results
  Stage latest = Stage::Forward; ///< of what is lowered so far: what is moved at the end is of it
};

} // namespace

LogicalResult sinter::lowerEntry(func::FuncOp entry, const SymbolTable &kernels,
                                 SharedSpaces &spaces) {
  return ProgramLowering(entry, kernels, spaces).run();
}
