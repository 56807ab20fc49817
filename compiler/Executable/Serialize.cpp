#include "compiler/Executable/Serialize.h"
#include "dialects/Sinter/Pipelining.h"
#include "dialects/Sinter/SinterDialect.h"
#include "dialects/Sinter/Stage.h"
#include "runtime/Format/ExecutableFile.h"
#include "runtime/Format/Executable_generated.h"
#include "runtime/Format/KernelMarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sinter;
using flatbuffers::Offset;

/// Room for everything but code, constants, attachments and weights.
static constexpr uint64_t kTableBytes = uint64_t(64) << 20;

DType sinter::toDType(Type elementType) {
  if (elementType.isF32())
    return DType::F32;
  if (elementType.isBF16())
    return DType::BF16;
  if (elementType.isF16())
    return DType::F16;
  if (elementType.isF64())
    return DType::F64;
  if (elementType.isInteger(8))
    return DType::I8;
  if (elementType.isInteger(4))
    return DType::I4;
  if (isa<Float8E4M3FNType>(elementType))
    return DType::E4M3;
  if (isa<Float8E5M2Type>(elementType))
    return DType::E5M2;
  assert(elementType.isInteger(32) && "expected an element type of the graph");
  return DType::I32;
}

static fb::DType toFb(Type elementType) { return static_cast<fb::DType>(toDType(elementType)); }

namespace {

/// Builds the flatbuffer, leaves first.
class Serializer {
public:
  Serializer(ModuleOp plan, const KernelCode &code, const ExecutableContents &contents)
      : plan(plan), grid(GridAttr::lookup(plan)), code(code), contents(contents) {}

  Expected<std::vector<std::byte>> run() {
    SINTER_CHECK(checkSize());
    SINTER_CHECK(indexKernels());
    SINTER_CHECK(indexTensors());
    std::vector<Offset<fb::Program>> programs;
    for (auto program : plan.getOps<plan::ProgramOp>()) {
      SINTER_TRY(Offset<fb::Program> serialized, serializeProgram(program));
      programs.push_back(serialized);
    }
    builder.Finish(serializeRoot(programs), fb::ExecutableIdentifier());
    const auto *begin = reinterpret_cast<const std::byte *>(builder.GetBufferPointer());
    return std::vector<std::byte>(begin, begin + builder.GetSize());
  }

private:
  //===--------------------------------------------------------------------===//
  // Tables that commands refer to
  //===--------------------------------------------------------------------===//

  Expected<void> checkSize() {
    uint64_t bytes = kTableBytes + getCodeBytes() + contents.embeddedWeights.size();
    for (auto constant : plan.getOps<plan::ConstantOp>())
      bytes += getElementCount(constant) * 8;
    for (const auto &[name, content] : contents.attachments)
      bytes += content.size();
    if (bytes >= FLATBUFFERS_MAX_BUFFER_SIZE)
      return fail("the executable", "it would pass the format's 2 GiB",
                  contents.embeddedWeights.empty()
                      ? "give a smaller `max_sequence`: tables have a row for each position"
                      : "do not embed the weights");
    return {};
  }

  uint64_t getCodeBytes() const {
    if (const auto *machine = std::get_if<MachineCode>(&code))
      return machine->image.size();
    const auto &cuda = std::get<CudaCode>(code);
    uint64_t bytes = 0;
    for (const CudaProgram &program : cuda.programs)
      bytes += program.source.size();
    for (const auto &byArchitecture : cuda.cubins)
      for (const auto &[architecture, cubin] : byArchitecture)
        bytes += cubin.size();
    return bytes;
  }

  static uint64_t getElementCount(plan::ConstantOp constant) {
    return constant.getValue().getNumElements();
  }

  Expected<void> indexKernels() {
    SINTER_TRY(llvm::StringMap<runtime::KernelLaunch> launches, collectLaunches());
    if (const auto *machine = std::get_if<MachineCode>(&code)) {
      image = machine->image;
      for (const auto &[name, offset] : machine->offsets) {
        uint64_t fingerprint = getFingerprint(launches, {name});
        runtime::markEntry(image, offset, fingerprint);
        addKernel(name, fb::CreateKernelDirect(builder, name.c_str(), offset, 0, 0, 0, false,
                                               fingerprint));
      }
      runtime::sealImage(image);
    } else {
      for (auto [i, program] : llvm::enumerate(std::get<CudaCode>(code).programs))
        for (const CudaKernel &kernel : program.kernels) {
          auto block = static_cast<uint32_t>(kernel.block);
          auto sharedBytes = static_cast<uint32_t>(kernel.sharedBytes);
          uint64_t fingerprint =
              getFingerprint(launches, {kernel.name, 0, block, sharedBytes, kernel.waits});
          addKernel(kernel.name,
                    fb::CreateKernelDirect(builder, kernel.name.c_str(), /*offset=*/0, i, block,
                                           sharedBytes, kernel.waits, fingerprint));
        }
    }
    for (const auto &[name, launch] : launches)
      if (!kernelIndex.contains(name.str()))
        return makeDefect("kernel " + name, "it is launched but there is no code for it");
    return {};
  }

  static tl::unexpected<Error> makeDefect(const Twine &what, std::string why) {
    auto error = fail(what.str(), std::move(why), "report this as a defect");
    error.value().defect = true;
    return error;
  }

  /// How each kernel is launched.
  Expected<llvm::StringMap<runtime::KernelLaunch>> collectLaunches() {
    llvm::StringMap<runtime::KernelLaunch> launches;
    StringRef differing;
    plan.walk([&](plan::LaunchOp op) {
      runtime::KernelLaunch launch;
      launch.grid = op.getGrid();
      for (Value value : op.getOperands())
        launch.sliceBytes.push_back(value.getDefiningOp<plan::SliceOp>().getBytes());
      for (Type type : op.getOutputTypes().getAsValueRange<TypeAttr>())
        launch.outputs.push_back(::toFb(type));
      auto [known, isNew] = launches.try_emplace(op.getKernel(), launch);
      if (!isNew && known->second.getFingerprint() != launch.getFingerprint())
        differing = op.getKernel();
    });
    if (!differing.empty())
      return makeDefect("kernel " + differing, "it is launched with slices of different sizes");
    return launches;
  }

  /// The fingerprint of a kernel, of which all but its launches is given; 0 without any.
  static uint64_t getFingerprint(const llvm::StringMap<runtime::KernelLaunch> &launches,
                                 runtime::KernelLaunch kernel) {
    auto launch = launches.find(kernel.name);
    if (launch == launches.end())
      return 0;
    kernel.grid = launch->second.grid;
    kernel.sliceBytes = launch->second.sliceBytes;
    kernel.outputs = launch->second.outputs;
    return kernel.getFingerprint();
  }

  void addKernel(const std::string &name, Offset<fb::Kernel> kernel) {
    kernelIndex.insert({name, kernels.size()});
    kernels.push_back(kernel);
  }

  /// Numbers the checkpoint's tensors, and finds out how large the shared spaces are.
  Expected<void> indexTensors() {
    for (auto parameter : plan.getOps<plan::ParameterOp>())
      parameters[parameter.getName()] = parameter;
    plan.walk([&](plan::SliceOp slice) {
      uint64_t end = llvm::alignTo(slice.getOffset() + slice.getBytes(), kLineBytes);
      switch (slice.getSpace()) {
      case plan::Space::Checkpoint:
        if (slice.getType())
          checkpoint.insert({*slice.getName(), slice});
        break;
      case plan::Space::Parameter:
        parameterBytes = std::max(parameterBytes, end);
        break;
      case plan::Space::State:
        stateBytes = std::max(stateBytes, end);
        if (slice.getName() && states.insert({*slice.getName(), slice}).second)
          stageOfState[*slice.getName()] = getStage(slice->getParentOp());
        break;
      default:
        break;
      }
    });
    // What is trained is a state, and begins as the checkpoint's tensor of its name or a box of it.
    for (auto [name, slice] : states) {
      auto box = dyn_cast_or_null<BoxAttr>(slice.getBoxAttr());
      StringRef tensor = box ? box.getName().getValue() : name;
      if (parameters.contains(tensor))
        checkpoint.insert({tensor, slice});
    }
    for (auto [index, entry] : llvm::enumerate(checkpoint)) {
      if (!parameters.contains(entry.first))
        return makeDefect("tensor '" + entry.first + "'", "it is read but not declared");
      checkpointIndex[entry.first] = index;
    }
    return {};
  }

  //===--------------------------------------------------------------------===//
  // Leaves
  //===--------------------------------------------------------------------===//

  fb::Slice toFb(Value value) {
    auto slice = value.getDefiningOp<plan::SliceOp>();
    bool raw = slice.getSpace() == plan::Space::Checkpoint;
    return fb::Slice(static_cast<fb::Space>(slice.getSpace()),
                     raw ? checkpointIndex.lookup(*slice.getName()) : 0, slice.getOffset(),
                     slice.getBytes());
  }

  /// The shape of a named tensor; of one in a padded layout, its storage as one dimension.
  static std::vector<int64_t> getShape(plan::SliceOp slice) {
    auto type = cast<RankedTensorType>(*slice.getType());
    int64_t width = sizeOf(toDType(type.getElementType()));
    if (type.getNumElements() * width == static_cast<int64_t>(slice.getBytes()))
      return type.getShape().vec();
    return {static_cast<int64_t>(slice.getBytes()) / width};
  }

  static Type getElementType(plan::SliceOp slice) {
    return cast<RankedTensorType>(*slice.getType()).getElementType();
  }

  /// The stage of a pipeline that a program is of.
  static uint32_t getStage(Operation *program) {
    auto stage = program->getAttrOfType<IntegerAttr>(kPipelineStage);
    return stage ? static_cast<uint32_t>(stage.getInt()) : 0;
  }

  Offset<fb::Binding> serializeBinding(plan::SliceOp slice, uint32_t stage = 0) {
    fb::Slice place = toFb(slice.getSlice());
    std::vector<int64_t> shape = getShape(slice), whole;
    std::vector<Offset<fb::Axes>> sharding;
    if (auto split = dyn_cast_or_null<ShardingAttr>(slice.getShardingAttr())) {
      whole = cast<RankedTensorType>(*slice.getWhole()).getShape().vec();
      for (Attribute axes : split.getDims())
        sharding.push_back(fb::CreateAxes(builder, createAxes(cast<ArrayAttr>(axes))));
    }
    Offset<fb::Box> box;
    if (auto known = dyn_cast_or_null<BoxAttr>(slice.getBoxAttr())) {
      std::vector<int64_t> of = known.getWhole().getShape().vec(),
                           offset = known.getOffsets().vec();
      box = fb::CreateBoxDirect(builder, known.getName().str().c_str(), &of, &offset);
    }
    return fb::CreateBindingDirect(
        builder, slice.getName()->str().c_str(), ::toFb(getElementType(slice)), &shape, &place,
        whole.empty() ? nullptr : &whole, sharding.empty() ? nullptr : &sharding, stage, box);
  }

  template <typename T> Offset<flatbuffers::Vector<uint8_t>> createBytes(const T &content) {
    // The alignment is that of `force_align` in the schema.
    builder.ForceVectorAlignment(content.size(), sizeof(uint8_t), kLineBytes);
    return builder.CreateVector(reinterpret_cast<const uint8_t *>(content.data()), content.size());
  }

  //===--------------------------------------------------------------------===//
  // Programs
  //===--------------------------------------------------------------------===//

  Expected<Offset<fb::Program>> serializeProgram(plan::ProgramOp program) {
    std::vector<Offset<fb::Command>> commands;
    std::vector<Offset<fb::Binding>> inputs, outputs;
    uint64_t inputBytes = 0, outputBytes = 0;
    for (Operation &op : *program.getBlock()) {
      if (isa<plan::CommandInterface>(op)) {
        commands.push_back(serializeCommand(&op));
        continue;
      }
      auto slice = cast<plan::SliceOp>(op);
      if (!slice.getName())
        continue; // a part of another
      uint64_t end = llvm::alignTo(slice.getOffset() + slice.getBytes(), kLineBytes);
      if (slice.getSpace() == plan::Space::Input) {
        inputs.push_back(serializeBinding(slice));
        inputBytes = std::max(inputBytes, end);
      } else if (slice.getSpace() == plan::Space::Output) {
        outputs.push_back(serializeBinding(slice));
        outputBytes = std::max(outputBytes, end);
      }
    }
    return fb::CreateProgramDirect(builder, program.getSymName().str().c_str(), &commands, &inputs,
                                   &outputs, inputBytes, outputBytes,
                                   program.getArenaBytes().value_or(0),
                                   program.getArenaLowerBound().value_or(0), getStage(program));
  }

  Offset<fb::Command> serializeCommand(Operation *op) {
    auto command = cast<plan::CommandInterface>(op);
    SmallVector<plan::CommandInterface> ways = {command};
    if (auto choice = dyn_cast<plan::AlternativesOp>(op))
      ways = choice.getCommands();
    auto [kind, action] = serializeAction(ways.front());
    std::vector<Offset<fb::Alternative>> alternatives;
    for (plan::CommandInterface way : ArrayRef(ways).drop_front()) {
      auto [otherKind, other] = serializeAction(way);
      alternatives.push_back(fb::CreateAlternative(builder, otherKind, other));
    }
    auto label = builder.CreateSharedString(command.getLabel().str());
    auto layer = builder.CreateSharedString(command.getLayer().str());
    auto stage = static_cast<fb::Stage>(*parseStage(command.getStage()));
    Offset<flatbuffers::Vector<uint32_t>> waits;
    if (ArrayRef<int64_t> numbers = command.getWaits(); !numbers.empty())
      waits = builder.CreateVector(std::vector<uint32_t>(numbers.begin(), numbers.end()));
    return fb::CreateCommand(
        builder, kind, action, label, layer, command.getFlops(), command.getBytes(),
        command.getPredictedNs(), stage, command.getNarrowFlops(),
        alternatives.empty() ? 0 : builder.CreateVector(alternatives), command.getStream(), waits,
        command.getSharedBytes(), command.getPrivateBytes(), command.getByteFlops(),
        command.getNibbleFlops());
  }

  std::pair<fb::Action, Offset<void>> serializeAction(Operation *op) {
    return llvm::TypeSwitch<Operation *, std::pair<fb::Action, Offset<void>>>(op)
        .Case([&](plan::LaunchOp launch) {
          return std::pair(fb::Action::Launch, serialize(launch).Union());
        })
        .Case(
            [&](plan::GemmOp gemm) { return std::pair(fb::Action::Gemm, serialize(gemm).Union()); })
        .Case([&](plan::AttentionOp attention) {
          return std::pair(fb::Action::Attention, serialize(attention).Union());
        })
        .Case(
            [&](plan::PackOp pack) { return std::pair(fb::Action::Pack, serialize(pack).Union()); })
        .Case([&](plan::CopyOp copy) {
          fb::Slice source = toFb(copy.getSource()), out = toFb(copy.getOut());
          return std::pair(fb::Action::Copy, fb::CreateCopy(builder, &source, &out).Union());
        })
        .Case([&](plan::FillOp fill) {
          fb::Slice out = toFb(fill.getOut());
          return std::pair(fb::Action::Fill,
                           fb::CreateFill(builder, &out, fill.getValue()).Union());
        })
        .Case([&](plan::CollectiveOp collective) {
          return std::pair(fb::Action::Collective, serialize(collective).Union());
        })
        .Case([&](plan::SendOp send) {
          fb::Slice source = toFb(send.getSource());
          return std::pair(
              fb::Action::Send,
              fb::CreateSend(builder, send.getTo(), send.getChannel(), &source).Union());
        })
        .Case([&](plan::ReceiveOp receive) {
          fb::Slice out = toFb(receive.getOut());
          return std::pair(
              fb::Action::Receive,
              fb::CreateReceive(builder, receive.getFrom(), receive.getChannel(), &out).Union());
        })
        .Default([](Operation *) -> std::pair<fb::Action, Offset<void>> {
          llvm_unreachable("the plan has no other commands");
        });
  }

  Offset<fb::Launch> serialize(plan::LaunchOp launch) {
    std::vector<fb::Slice> slices;
    for (Value value : launch.getOperands())
      slices.push_back(toFb(value));
    std::vector<fb::DType> outputs;
    for (Type type : launch.getOutputTypes().getAsValueRange<TypeAttr>())
      outputs.push_back(::toFb(type));
    return fb::CreateLaunchDirect(builder, kernelIndex.at(launch.getKernel().str()),
                                  launch.getGrid(), &slices, &outputs);
  }

  Offset<fb::Gemm> serialize(plan::GemmOp gemm) {
    std::vector<Offset<fb::PostOp>> postOps;
    auto extra = gemm.getExtras().begin();
    for (auto postOp : gemm.getPostOps().getAsRange<plan::PostOpAttr>()) {
      fb::Slice operand;
      if (postOp.hasOperand())
        operand = toFb(*extra++);
      postOps.push_back(fb::CreatePostOp(builder, static_cast<fb::PostOpKind>(postOp.getKind()),
                                         postOp.hasOperand() ? &operand : nullptr,
                                         ::toFb(postOp.getDtype()), postOp.getStride()));
    }
    fb::Slice lhs = toFb(gemm.getLhs()), rhs = toFb(gemm.getRhs()), out = toFb(gemm.getOut());
    fb::Slice workspace, lhsScales, rhsScales;
    if (gemm.getWorkspace())
      workspace = toFb(gemm.getWorkspace());
    bool hasScales = static_cast<bool>(gemm.getLhsScales());
    if (hasScales) {
      lhsScales = toFb(gemm.getLhsScales());
      rhsScales = toFb(gemm.getRhsScales());
    }
    return fb::CreateGemmDirect(
        builder, gemm.getM(), gemm.getN(), gemm.getK(), ::toFb(gemm.getDtype()),
        ::toFb(gemm.getOutDtype()), &lhs, gemm.getLhsStride(), &rhs, &out, gemm.getOutStride(),
        &postOps, gemm.getRhsStride(), gemm.getLhsTransposed(), gemm.getRhsTransposed(),
        gemm.getTf32(), gemm.getWorkspace() ? &workspace : nullptr,
        hasScales ? &lhsScales : nullptr, hasScales ? &rhsScales : nullptr,
        gemm.getRhsDtype() ? flatbuffers::Optional<fb::DType>(::toFb(*gemm.getRhsDtype()))
                           : flatbuffers::nullopt);
  }

  Offset<fb::Attention> serialize(plan::AttentionOp attention) {
    uint64_t elementBytes = attention.getDtype().getIntOrFloatBitWidth() / 8;
    auto strides = [](ArrayRef<int64_t> layout) {
      return fb::HeadStrides(layout[1], layout[2], layout[3]);
    };
    auto operand = [&](Value value, ArrayRef<int64_t> layout) {
      fb::Slice slice = toFb(value);
      uint64_t before = std::min(layout[0] * elementBytes, slice.bytes());
      return fb::Slice(slice.space(), slice.index(), slice.offset() + before,
                       slice.bytes() - before);
    };
    fb::Slice query = operand(attention.getQuery(), attention.getQueryLayout());
    fb::Slice key = operand(attention.getKey(), attention.getKeyLayout());
    fb::Slice value = operand(attention.getValue(), attention.getValueLayout());
    fb::HeadStrides queryStrides = strides(attention.getQueryLayout());
    fb::HeadStrides keyStrides = strides(attention.getKeyLayout());
    fb::HeadStrides valueStrides = strides(attention.getValueLayout());
    fb::Slice out = toFb(attention.getOut()), logsumexp, workspace;
    if (attention.getLogsumexp())
      logsumexp = toFb(attention.getLogsumexp());
    if (attention.getWorkspace())
      workspace = toFb(attention.getWorkspace());
    return fb::CreateAttention(
        builder, attention.getBatch(), attention.getLength(), attention.getKeys(),
        attention.getHeads(), attention.getKeyHeads(), attention.getHeadSize(),
        ::toFb(attention.getDtype()), ::toFb(attention.getOutDtype()), &query, &queryStrides, &key,
        &keyStrides, &value, &valueStrides, &out, attention.getLogsumexp() ? &logsumexp : nullptr,
        attention.getWorkspace() ? &workspace : nullptr, attention.getScale().convertToFloat(),
        attention.getCausal(), attention.getWindow());
  }

  Offset<fb::Collective> serialize(plan::CollectiveOp collective) {
    fb::Slice source = toFb(collective.getSource()), out = toFb(collective.getOut());
    Type dtype = collective.getDtype().value_or(Float32Type::get(plan.getContext()));
    return fb::CreateCollective(builder, static_cast<fb::CollectiveKind>(collective.getKind()),
                                createAxes(collective.getAxes()), ::toFb(dtype), &source, &out);
  }

  /// Axes of the grid as their indices.
  Offset<flatbuffers::Vector<uint32_t>> createAxes(ArrayAttr axes) {
    std::vector<uint32_t> indices;
    for (Attribute axis : axes)
      indices.push_back(std::distance(grid.getNames().begin(), llvm::find(grid.getNames(), axis)));
    return builder.CreateVector(indices);
  }

  Offset<fb::Pack> serialize(plan::PackOp pack) {
    std::vector<Offset<fb::PackSource>> sources;
    for (auto [value, layout] : llvm::zip_equal(
             pack.getSources(), pack.getSourceLayouts().getAsRange<plan::PackSourceAttr>())) {
      fb::Slice slice = toFb(value);
      sources.push_back(fb::CreatePackSource(builder, &slice, ::toFb(layout.getDtype()),
                                             layout.getN(), layout.getStride(),
                                             layout.getTransposed()));
    }
    fb::Slice out = toFb(pack.getOut());
    std::vector<int8_t> values;
    if (std::optional<ArrayRef<int8_t>> given = pack.getValues())
      values = *given;
    return fb::CreatePackDirect(builder, pack.getK(), pack.getN(), ::toFb(pack.getDtype()),
                                pack.getWidth(), pack.getInterleave(), pack.getDepth(), &sources,
                                &out, values.empty() ? nullptr : &values);
  }

  //===--------------------------------------------------------------------===//
  // The root
  //===--------------------------------------------------------------------===//

  Offset<fb::Executable> serializeRoot(const std::vector<Offset<fb::Program>> &programs) {
    std::vector<Offset<fb::CheckpointTensor>> tensors;
    for (auto [name, slice] : checkpoint) {
      plan::ParameterOp parameter = parameters.at(name);
      auto type = cast<RankedTensorType>(parameter.getType());
      std::vector<int64_t> shape = type.getShape().vec();
      tensors.push_back(fb::CreateCheckpointTensorDirect(
          builder, name.str().c_str(), ::toFb(type.getElementType()), &shape,
          parameter.getMean().convertToDouble(), parameter.getDeviation().convertToDouble()));
    }
    std::vector<Offset<fb::Binding>> stateBindings;
    for (auto [name, slice] : states)
      stateBindings.push_back(serializeBinding(slice, stageOfState.at(name)));
    std::vector<Offset<fb::Metadata>> metadata;
    for (const auto &[key, value] : collectMetadata())
      metadata.push_back(fb::CreateMetadataDirect(builder, key.c_str(), value.c_str()));
    std::vector<Offset<fb::Attachment>> attachments;
    for (const auto &[name, content] : contents.attachments)
      attachments.push_back(
          fb::CreateAttachment(builder, builder.CreateString(name), createBytes(content)));
    std::vector<Offset<fb::WeightFile>> weightFiles;
    for (const FileReference &file : contents.weightFiles)
      weightFiles.push_back(
          fb::CreateWeightFileDirect(builder, file.path.c_str(), file.bytes, file.hash.c_str()));
    static const MachineCode kNone;
    const auto *machine = std::get_if<MachineCode>(&code);
    const auto *cuda = std::get_if<CudaCode>(&code);
    auto features = builder.CreateVectorOfStrings((machine ? *machine : kNone).cpuFeatures);
    auto imageBytes = createBytes(image);
    std::vector<Offset<fb::KernelProgram>> kernelPrograms = serializeKernelPrograms();
    auto constants = createBytes(collectConstants());
    auto embedded = createBytes(contents.embeddedWeights);
    return fb::CreateExecutable(
        builder, runtime::executableVersion, builder.CreateString(kProducer), features, imageBytes,
        builder.CreateVector(kernels), constants, builder.CreateVector(tensors),
        builder.CreateVector(stateBindings), parameterBytes, stateBytes,
        builder.CreateVector(programs), builder.CreateVector(metadata),
        builder.CreateVector(attachments), builder.CreateVector(weightFiles), contents.seed,
        embedded, builder.CreateString(cuda ? cuda->target : "cpu"),
        builder.CreateVector(kernelPrograms), cuda && cuda->tune, serializeGrid(),
        serializeStages());
  }

  Offset<flatbuffers::Vector<Offset<fb::PipelineStage>>> serializeStages() {
    auto layout = plan->getAttrOfType<DenseI64ArrayAttr>(kPipelineLayout);
    if (!layout)
      return 0;
    std::vector<Offset<fb::PipelineStage>> stages;
    for (ArrayRef<int64_t> rest = layout; !rest.empty(); rest = rest.drop_front(3))
      stages.push_back(fb::CreatePipelineStage(builder, rest[0], rest[1], rest[2]));
    return builder.CreateVector(stages);
  }

  Offset<flatbuffers::Vector<Offset<fb::GridAxis>>> serializeGrid() {
    if (!grid)
      return 0;
    std::vector<Offset<fb::GridAxis>> axes;
    for (auto [name, size] : llvm::zip_equal(grid.getNames(), grid.getSizes()))
      axes.push_back(fb::CreateGridAxisDirect(builder, name.str().c_str(), size));
    return builder.CreateVector(axes);
  }

  std::vector<Offset<fb::KernelProgram>> serializeKernelPrograms() {
    std::vector<Offset<fb::KernelProgram>> serialized;
    const auto *cuda = std::get_if<CudaCode>(&code);
    for (size_t i = 0; cuda && i < cuda->programs.size(); ++i) {
      std::vector<Offset<fb::Cubin>> cubins;
      for (const auto &[architecture, bytes] : cuda->cubins[i]) {
        std::vector<std::byte> sealed = bytes;
        runtime::sealImage(sealed);
        cubins.push_back(
            fb::CreateCubin(builder, builder.CreateString(architecture), createBytes(sealed)));
      }
      serialized.push_back(fb::CreateKernelProgramDirect(builder, cuda->programs[i].source.c_str(),
                                                         /*options=*/nullptr, &cubins));
    }
    return serialized;
  }

  std::map<std::string, std::string> collectMetadata() const {
    std::map<std::string, std::string> metadata = contents.metadata;
    if (auto own = plan->getAttrOfType<DictionaryAttr>(SinterDialect::kMetadata))
      for (NamedAttribute entry : own)
        metadata.try_emplace(entry.getName().str(), cast<StringAttr>(entry.getValue()).str());
    return metadata;
  }

  std::vector<char> collectConstants() {
    std::vector<char> bytes;
    for (auto constant : plan.getOps<plan::ConstantOp>()) {
      SmallVector<char> content = constant.getBytes();
      uint64_t end = llvm::alignTo(constant.getOffset() + content.size(), kLineBytes);
      bytes.resize(std::max<size_t>(bytes.size(), end));
      std::copy(content.begin(), content.end(), bytes.begin() + constant.getOffset());
    }
    return bytes;
  }

  static constexpr const char *kProducer = "sinter 0.1.0";

  ModuleOp plan;
  GridAttr grid; ///< null: one device
  const KernelCode &code;
  const ExecutableContents &contents;
  flatbuffers::FlatBufferBuilder builder;
  std::vector<std::byte> image; ///< machine code with its marks
  std::map<std::string, uint32_t> kernelIndex;
  std::vector<Offset<fb::Kernel>> kernels;
  llvm::StringMap<plan::ParameterOp> parameters;                ///< the checkpoint's tensors
  llvm::MapVector<StringRef, plan::SliceOp> checkpoint, states; ///< by name
  llvm::DenseMap<StringRef, uint32_t> checkpointIndex, stageOfState;
  uint64_t parameterBytes = 0, stateBytes = 0;
};

} // namespace

Expected<std::vector<std::byte>> sinter::serialize(ModuleOp plan, const KernelCode &code,
                                                   const ExecutableContents &contents) {
  return Serializer(plan, code, contents).run();
}
