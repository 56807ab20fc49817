// Executables made by hand, for tests of what reads and runs them.
#pragma once

#include "runtime/Base/Initializer.h"
#include "runtime/Format/Executable.h"
#include "runtime/Format/ExecutableFile.h"
#include "runtime/Format/Executable_generated.h"
#include "runtime/Format/KernelMarks.h"
#include "runtime/Format/PackedRhs.h"
#include <cstring>
#include <functional>
#include <map>

namespace sinter::runtime::testing {

using flatbuffers::Offset;

inline fb::Slice slice(fb::Space space, uint64_t offset, uint64_t bytes, uint32_t index = 0) {
  return {space, index, offset, bytes};
}

/// What an executable is made of; tests change a field and build.
struct Parts {
  uint32_t version = executableVersion;
  std::vector<std::string> features;
  std::vector<std::string> kernels;
  std::vector<uint64_t> entries; ///< of kernels; 0 where there are fewer
  std::vector<uint8_t> constants;
  uint64_t parameterBytes = 0, stateBytes = 0;
  uint64_t seed = 7;
  std::map<std::string, std::string> metadata;

  std::string device; ///< empty: the processor
  struct KernelProgram {
    std::string source;
    std::map<std::string, std::string> cubins; ///< by architecture
  };
  std::vector<KernelProgram> kernelPrograms;
  uint32_t kernelProgram = 0, block = 32, sharedBytes = 0; ///< of all kernels
  bool waits = false;                                      ///< so do all kernels
  std::map<uint32_t, uint64_t> fingerprints = {}; ///< of kernels; else that of their first launch
  bool tune = false;
  std::vector<std::pair<std::string, uint64_t>> grid; ///< axes and the ranks along them
  struct Stage {
    uint64_t slotBegin = 0, slotBytes = 0, slots = 1;
  };
  std::vector<Stage> stages; ///< of a pipeline

  struct Tensor {
    std::string name;
    fb::DType dtype;
    std::vector<int64_t> shape;
    fb::Slice slice;
    std::optional<Initializer> initializer = {}; ///< else the default one of the name
    std::vector<int64_t> whole = {};             ///< of a tensor that is split, with
    std::vector<std::vector<uint32_t>> sharding = {};
    uint32_t stage = 0;
    std::string boxOf = {}; ///< of a state that is a box of a tensor: which, its shape and where
    std::vector<int64_t> boxShape = {}, boxOffset = {};
  };
  std::vector<Tensor> checkpoint; ///< without slices
  std::vector<Tensor> states;

  using MakeAction = std::function<Offset<void>(flatbuffers::FlatBufferBuilder &)>;
  struct Command {
    fb::Action kind;
    MakeAction make;
    std::string label, layer;
    uint64_t flops = 0, bytes = 0, predictedNs = 0;
    uint64_t narrowFlops = 0, byteFlops = 0, nibbleFlops = 0; ///< of these
    uint64_t sharedBytes = 0, privateBytes = 0;
    fb::Stage stage = fb::Stage::Forward;
    std::vector<Command> alternatives = {}; ///< other ways; their kinds and actions count
    uint32_t stream = 0;
    std::vector<uint32_t> waits = {};
    /// Of a launch: the kernel, and how it is launched.
    std::optional<std::pair<uint32_t, KernelLaunch>> launched = {};
  };
  struct Program {
    std::string name;
    std::vector<Command> commands;
    std::vector<Tensor> inputs, outputs;
    uint64_t inputBytes = 0, outputBytes = 0, arenaBytes = 0;
    uint32_t stage = 0;
  };
  std::vector<Program> programs;

  static uint64_t entryOf(uint32_t kernel) { return 64 * (kernel + 1); }

  /// That of a kernel's first launch, as the alternative of another one, too.
  uint64_t fingerprintOf(uint32_t kernel) const {
    if (auto given = fingerprints.find(kernel); given != fingerprints.end())
      return given->second;
    bool onCpu = device.empty() || device == "cpu";
    std::optional<KernelLaunch> found;
    auto visit = [&](auto &self, const Command &command) -> void {
      if (command.launched && command.launched->first == kernel && !found)
        found = command.launched->second;
      for (const Command &other : command.alternatives)
        self(self, other);
    };
    for (const Program &program : programs)
      for (const Command &command : program.commands)
        visit(visit, command);
    if (!found)
      return 0;
    found->name = kernels[kernel];
    found->waits = waits;
    if (!onCpu) {
      found->block = block;
      found->sharedBytes = sharedBytes;
    }
    return found->getFingerprint();
  }

  /// A return at each kernel's entry, with its mark.
  std::vector<std::byte> makeCode() const {
    if (!device.empty() && device != "cpu")
      return {};
    std::vector<std::byte> code(entryOf(static_cast<uint32_t>(kernels.size())), std::byte{0xc3});
    for (uint32_t i = 0; i < kernels.size(); ++i)
      markEntry(code, entryOf(i), fingerprintOf(i));
    sealImage(code);
    return code;
  }

  /// The finished flatbuffer.
  std::vector<std::byte> build() const {
    flatbuffers::FlatBufferBuilder builder;
    auto bindings = [&](const std::vector<Tensor> &tensors) {
      std::vector<Offset<fb::Binding>> offsets;
      for (const Tensor &tensor : tensors) {
        std::vector<Offset<fb::Axes>> sharding;
        for (const std::vector<uint32_t> &axes : tensor.sharding)
          sharding.push_back(fb::CreateAxesDirect(builder, &axes));
        Offset<fb::Box> box;
        if (!tensor.boxOf.empty())
          box = fb::CreateBoxDirect(builder, tensor.boxOf.c_str(), &tensor.boxShape,
                                    &tensor.boxOffset);
        offsets.push_back(
            fb::CreateBindingDirect(builder, tensor.name.c_str(), tensor.dtype, &tensor.shape,
                                    &tensor.slice, tensor.whole.empty() ? nullptr : &tensor.whole,
                                    sharding.empty() ? nullptr : &sharding, tensor.stage, box));
      }
      return builder.CreateVector(offsets);
    };
    std::vector<Offset<fb::Program>> programOffsets;
    for (const Program &program : programs) {
      std::vector<Offset<fb::Command>> commands;
      for (const Command &command : program.commands) {
        Offset<void> action = command.make(builder);
        std::vector<Offset<fb::Alternative>> alternatives;
        for (const Command &other : command.alternatives)
          alternatives.push_back(fb::CreateAlternative(builder, other.kind, other.make(builder)));
        commands.push_back(fb::CreateCommandDirect(
            builder, command.kind, action, command.label.c_str(), command.layer.c_str(),
            command.flops, command.bytes, command.predictedNs, command.stage, command.narrowFlops,
            alternatives.empty() ? nullptr : &alternatives, command.stream,
            command.waits.empty() ? nullptr : &command.waits, command.sharedBytes,
            command.privateBytes, command.byteFlops, command.nibbleFlops));
      }
      auto commandVector = builder.CreateVector(commands);
      auto inputs = bindings(program.inputs), outputs = bindings(program.outputs);
      programOffsets.push_back(fb::CreateProgram(builder, builder.CreateString(program.name),
                                                 commandVector, inputs, outputs, program.inputBytes,
                                                 program.outputBytes, program.arenaBytes,
                                                 program.arenaBytes, program.stage));
    }
    auto programVector = builder.CreateVector(programOffsets);
    bool onCpu = device.empty() || device == "cpu";
    std::vector<std::byte> code = makeCode();
    std::vector<Offset<fb::Kernel>> kernelOffsets;
    for (uint32_t i = 0; i < kernels.size(); ++i)
      kernelOffsets.push_back(fb::CreateKernelDirect(builder, kernels[i].c_str(),
                                                     i < entries.size() ? entries[i]
                                                     : onCpu            ? entryOf(i)
                                                                        : 0,
                                                     onCpu ? 0 : kernelProgram, onCpu ? 0 : block,
                                                     onCpu ? 0 : sharedBytes, waits,
                                                     fingerprintOf(i)));
    auto kernelVector = builder.CreateVector(kernelOffsets);
    std::vector<Offset<fb::CheckpointTensor>> tensorOffsets;
    for (const Tensor &tensor : checkpoint) {
      Initializer initializer =
          tensor.initializer.value_or(defaultInitializer(tensor.name, tensor.shape.size()));
      tensorOffsets.push_back(
          fb::CreateCheckpointTensorDirect(builder, tensor.name.c_str(), tensor.dtype,
                                           &tensor.shape, initializer.mean, initializer.deviation));
    }
    auto tensorVector = builder.CreateVector(tensorOffsets);
    auto stateVector = bindings(states);
    std::vector<Offset<fb::Metadata>> metadataOffsets;
    for (const auto &[key, value] : metadata)
      metadataOffsets.push_back(fb::CreateMetadataDirect(builder, key.c_str(), value.c_str()));
    auto metadataVector = builder.CreateVector(metadataOffsets);
    std::vector<Offset<fb::KernelProgram>> kernelProgramOffsets;
    for (const KernelProgram &program : kernelPrograms) {
      std::vector<Offset<fb::Cubin>> cubins;
      for (const auto &[architecture, code] : program.cubins) {
        auto view = std::as_bytes(std::span(code));
        std::vector<std::byte> sealed(view.begin(), view.end());
        sealImage(sealed);
        auto *bytes = reinterpret_cast<const uint8_t *>(sealed.data());
        std::vector<uint8_t> codeBytes(bytes, bytes + sealed.size());
        cubins.push_back(fb::CreateCubinDirect(builder, architecture.c_str(), &codeBytes));
      }
      kernelProgramOffsets.push_back(
          fb::CreateKernelProgramDirect(builder, program.source.c_str(), nullptr, &cubins));
    }
    auto kernelProgramVector = builder.CreateVector(kernelProgramOffsets);
    std::vector<Offset<fb::GridAxis>> axes;
    for (const auto &[name, size] : grid)
      axes.push_back(fb::CreateGridAxisDirect(builder, name.c_str(), size));
    auto gridVector = builder.CreateVector(axes);
    std::vector<Offset<fb::PipelineStage>> stageOffsets;
    for (const Stage &stage : stages)
      stageOffsets.push_back(
          fb::CreatePipelineStage(builder, stage.slotBegin, stage.slotBytes, stage.slots));
    auto stageVector = builder.CreateVector(stageOffsets);
    auto deviceText = builder.CreateString(device);
    auto featureVector = builder.CreateVectorOfStrings(features);
    builder.ForceVectorAlignment(code.size(), 1, 64);
    auto codeVector =
        builder.CreateVector(reinterpret_cast<const uint8_t *>(code.data()), code.size());
    builder.ForceVectorAlignment(constants.size(), 1, 64);
    auto constantVector = builder.CreateVector(constants);
    auto producer = builder.CreateString("sinter test");
    fb::ExecutableBuilder executable(builder);
    executable.add_version(version);
    executable.add_producer(producer);
    executable.add_cpu_features(featureVector);
    executable.add_code(codeVector);
    executable.add_kernels(kernelVector);
    executable.add_constants(constantVector);
    executable.add_checkpoint(tensorVector);
    executable.add_states(stateVector);
    executable.add_parameter_bytes(parameterBytes);
    executable.add_state_bytes(stateBytes);
    executable.add_programs(programVector);
    executable.add_metadata(metadataVector);
    executable.add_seed(seed);
    executable.add_device(deviceText);
    executable.add_kernel_programs(kernelProgramVector);
    executable.add_tune(tune);
    executable.add_grid(gridVector);
    executable.add_stages(stageVector);
    fb::FinishExecutableBuffer(builder, executable.Finish());
    auto *data = reinterpret_cast<const std::byte *>(builder.GetBufferPointer());
    return {data, data + builder.GetSize()};
  }

  /// The loaded executable, or the error.
  Expected<std::shared_ptr<const Executable>> load() const {
    return Executable::fromFlatbuffer(build(), "test.sinter");
  }
};

inline Parts::Command launch(uint32_t kernel, uint64_t grid, std::vector<fb::Slice> slices,
                             std::string label = "launch", std::string layer = "",
                             std::vector<fb::DType> outputs = {}) {
  Parts::Command command = {
      fb::Action::Launch,
      [=](flatbuffers::FlatBufferBuilder &builder) {
        return fb::CreateLaunchDirect(builder, kernel, grid, &slices, &outputs).Union();
      },
      label, layer};
  KernelLaunch form;
  form.grid = grid;
  for (const fb::Slice &slice : slices)
    form.sliceBytes.push_back(slice.bytes());
  form.outputs = outputs;
  command.launched = {kernel, std::move(form)};
  return command;
}

struct GemmParts {
  uint64_t m = 0, n = 0, k = 0;
  fb::Slice lhs, rhs, out;
  fb::DType dtype = fb::DType::F32, outDtype = fb::DType::F32;
  uint64_t lhsStride = 0, outStride = 0; ///< 0: dense
  struct Step {
    fb::PostOpKind kind;
    fb::Slice operand;
    fb::DType dtype = fb::DType::F32;
    uint64_t stride = 0;
  };
  std::vector<Step> steps;
  uint64_t rhsStride = 0;
  bool lhsTransposed = false, rhsTransposed = false;
  std::optional<fb::Slice> workspace = {};
  bool tf32 = false;
  std::optional<fb::Slice> lhsScales = {}, rhsScales = {};
  flatbuffers::Optional<fb::DType> rhsDtype = {};
};

inline Parts::Command gemm(const GemmParts &parts, std::string label = "gemm") {
  return {fb::Action::Gemm,
          [=](flatbuffers::FlatBufferBuilder &builder) {
            std::vector<Offset<fb::PostOp>> steps;
            for (const GemmParts::Step &step : parts.steps)
              steps.push_back(
                  fb::CreatePostOp(builder, step.kind, &step.operand, step.dtype, step.stride));
            return fb::CreateGemmDirect(
                       builder, parts.m, parts.n, parts.k, parts.dtype, parts.outDtype, &parts.lhs,
                       parts.lhsStride ? parts.lhsStride : parts.k, &parts.rhs, &parts.out,
                       parts.outStride ? parts.outStride : parts.n, &steps, parts.rhsStride,
                       parts.lhsTransposed, parts.rhsTransposed, parts.tf32,
                       parts.workspace ? &*parts.workspace : nullptr,
                       parts.lhsScales ? &*parts.lhsScales : nullptr,
                       parts.rhsScales ? &*parts.rhsScales : nullptr, parts.rhsDtype)
                .Union();
          },
          label, ""};
}

struct AttentionParts {
  uint64_t batch = 1, length = 4, keys = 4, heads = 2, keyHeads = 1, headSize = 8;
  fb::DType dtype = fb::DType::BF16, outDtype = fb::DType::BF16;
  fb::Slice query, key, value, out;
  std::optional<fb::HeadStrides> queryStrides, keyStrides, valueStrides;
  std::optional<fb::Slice> logsumexp = {}, workspace = {};
  float scale = 1;
  uint64_t window = 0;
};

inline Parts::Command attention(const AttentionParts &parts) {
  return {fb::Action::Attention,
          [=](flatbuffers::FlatBufferBuilder &builder) {
            auto pointer = [](const auto &optional) { return optional ? &*optional : nullptr; };
            return fb::CreateAttention(
                       builder, parts.batch, parts.length, parts.keys, parts.heads, parts.keyHeads,
                       parts.headSize, parts.dtype, parts.outDtype, &parts.query,
                       pointer(parts.queryStrides), &parts.key, pointer(parts.keyStrides),
                       &parts.value, pointer(parts.valueStrides), &parts.out,
                       pointer(parts.logsumexp), pointer(parts.workspace), parts.scale,
                       /*causal=*/true, parts.window)
                .Union();
          },
          "attention", ""};
}

struct PackParts {
  uint64_t k, n;
  fb::Slice out;
  struct Source {
    fb::Slice slice;
    uint64_t n, stride;
    bool transposed = true;
    fb::DType dtype = fb::DType::F32;
  };
  std::vector<Source> sources;
  fb::DType dtype = fb::DType::F32;
  uint32_t width = 64, interleave = 1, depth = 16;
};

inline Parts::Command pack(const PackParts &parts) {
  return {fb::Action::Pack,
          [=](flatbuffers::FlatBufferBuilder &builder) {
            std::vector<Offset<fb::PackSource>> sources;
            for (const PackParts::Source &source : parts.sources)
              sources.push_back(fb::CreatePackSource(builder, &source.slice, source.dtype, source.n,
                                                     source.stride, source.transposed));
            return fb::CreatePackDirect(builder, parts.k, parts.n, parts.dtype, parts.width,
                                        parts.interleave, parts.depth, &sources, &parts.out)
                .Union();
          },
          "pack", ""};
}

inline Parts::Command copy(fb::Slice source, fb::Slice out) {
  return {fb::Action::Copy,
          [=](flatbuffers::FlatBufferBuilder &builder) {
            return fb::CreateCopy(builder, &source, &out).Union();
          },
          "copy", ""};
}

inline Parts::Command fill(fb::Slice out, uint8_t value) {
  return {fb::Action::Fill,
          [=](flatbuffers::FlatBufferBuilder &builder) {
            return fb::CreateFill(builder, &out, value).Union();
          },
          "fill", ""};
}

inline Parts::Command collective(fb::CollectiveKind kind, std::vector<uint32_t> axes,
                                 fb::Slice source, fb::Slice out,
                                 fb::DType dtype = fb::DType::F32) {
  return {fb::Action::Collective,
          [=](flatbuffers::FlatBufferBuilder &builder) {
            return fb::CreateCollectiveDirect(builder, kind, &axes, dtype, &source, &out).Union();
          },
          "collective", "layer.0"};
}

inline Parts::Command send(uint32_t stage, uint32_t channel, fb::Slice source) {
  return {fb::Action::Send,
          [=](flatbuffers::FlatBufferBuilder &builder) {
            return fb::CreateSend(builder, stage, channel, &source).Union();
          },
          "send", "layer.0"};
}

inline Parts::Command receive(uint32_t stage, uint32_t channel, fb::Slice out) {
  return {fb::Action::Receive,
          [=](flatbuffers::FlatBufferBuilder &builder) {
            return fb::CreateReceive(builder, stage, channel, &out).Union();
          },
          "receive", "layer.1"};
}

/// Lets `parts` run on a GPU, with machine code that has its kernels.
inline void moveToGpu(Parts &parts, const std::string &cubin) {
  parts.device = "cuda:sm_90";
  parts.kernelPrograms = {{"source", {{"sm_90a", cubin}}}};
}

/// The kernel "linear" of the small model: product = x . panels + bias.
inline void multiplySmallRows(void *const *slices, int64_t begin, int64_t end) {
  constexpr int64_t n = 70, k = 20;
  PackedRhs layout{k, n, DType::F32};
  auto width = static_cast<int64_t>(layout.width);
  auto *x = static_cast<const float *>(slices[0]), *panels = static_cast<const float *>(slices[1]);
  auto *bias = static_cast<const float *>(slices[2]);
  auto *product = static_cast<float *>(slices[3]);
  for (int64_t i = begin; i < end; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const float *column = panels + j / width * int64_t(layout.getPaddedK()) * width + j % width;
      float sum = bias[j];
      for (int64_t p = 0; p < k; ++p)
        sum += x[i * k + p] * column[p * width];
      product[i * n + j] = sum;
    }
}

/// out[m, n] = (x[m, k] . w[n, k]^T + bias) * 2, by the kernels "linear" and "double" whose items
/// are rows: one program "run", one "preprocess".
inline Parts smallModel() {
  using fb::Space;
  constexpr uint64_t m = 3, n = 70, k = 20;
  Parts parts;
  parts.kernels = {"double", "linear"};
  parts.checkpoint = {{"w.weight", fb::DType::F32, {int64_t(n), int64_t(k)}, {}},
                      {"w.bias", fb::DType::F32, {int64_t(n)}, {}}};
  uint64_t panels = PackedRhs{k, n, DType::F32}.getBytes();
  parts.parameterBytes = panels + n * 4;
  parts.programs.resize(2);
  Parts::Program &preprocess = parts.programs[0];
  preprocess.name = "preprocess";
  fb::Slice weight = slice(Space::Parameter, 0, panels);
  fb::Slice bias = slice(Space::Parameter, panels, n * 4);
  preprocess.commands = {
      pack({k, n, weight, {{slice(Space::Checkpoint, 0, n * k * 4, 0), n, k}}}),
      copy(slice(Space::Checkpoint, 0, n * 4, 1), bias),
  };
  Parts::Program &run = parts.programs[1];
  run.name = "run";
  run.inputBytes = m * k * 4;
  run.outputBytes = m * n * 4;
  run.arenaBytes = m * n * 4 + 256;
  fb::Slice x = slice(Space::Input, 0, m * k * 4), y = slice(Space::Output, 0, m * n * 4);
  fb::Slice product = slice(Space::Arena, 64, m * n * 4);
  run.inputs = {{"x", fb::DType::F32, {int64_t(m), int64_t(k)}, x}};
  run.outputs = {{"y", fb::DType::F32, {int64_t(m), int64_t(n)}, y}};
  run.commands = {launch(1, m, {x, weight, bias, product}, "linear", "", {fb::DType::F32}),
                  launch(0, m, {product, y}, "double", "layer.0")};
  return parts;
}

/// The small model on a GPU: `preprocess` makes the weight by the kernel "addOne" and copies the
/// bias, "run" multiplies by the library and the kernel "doubleAll", and the state "runs" counts
/// runs by "countRun".
inline Parts smallGpuModel(uint64_t m = 3, uint64_t n = 8, uint64_t k = 4) {
  using fb::Space;
  Parts parts;
  parts.kernels = {"addOne", "doubleAll", "countRun"};
  parts.checkpoint = {{"w.weight", fb::DType::F32, {int64_t(n), int64_t(k)}, {}},
                      {"w.bias", fb::DType::F32, {int64_t(n)}, {}}};
  uint64_t weightBytes = n * k * 4;
  parts.parameterBytes = weightBytes + n * 4;
  parts.stateBytes = 64;
  parts.states = {{"runs", fb::DType::F32, {1}, slice(Space::State, 0, 4)}};
  parts.constants = std::vector<uint8_t>(64);
  float two = 2;
  std::memcpy(parts.constants.data(), &two, 4);
  fb::Slice weight = slice(Space::Parameter, 0, weightBytes);
  fb::Slice bias = slice(Space::Parameter, weightBytes, n * 4);
  fb::Slice scratch = slice(Space::Arena, 0, weightBytes);
  parts.programs.resize(2);
  Parts::Program &preprocess = parts.programs[0];
  preprocess.name = "preprocess";
  preprocess.arenaBytes = weightBytes;
  preprocess.commands = {
      launch(0, 1, {slice(Space::Checkpoint, 0, weightBytes, 0), scratch}, "add"),
      copy(scratch, weight), copy(slice(Space::Checkpoint, 0, n * 4, 1), bias)};
  Parts::Program &run = parts.programs[1];
  run.name = "run";
  run.inputBytes = m * k * 4;
  run.outputBytes = m * n * 4;
  run.arenaBytes = 4096;
  fb::Slice x = slice(Space::Input, 0, m * k * 4), y = slice(Space::Output, 0, m * n * 4);
  fb::Slice product = slice(Space::Arena, 64, m * n * 4);
  run.inputs = {{"x", fb::DType::F32, {int64_t(m), int64_t(k)}, x}};
  run.outputs = {{"y", fb::DType::F32, {int64_t(m), int64_t(n)}, y}};
  GemmParts linear;
  linear.m = m, linear.n = n, linear.k = k;
  linear.lhs = x, linear.rhs = weight, linear.out = product;
  linear.steps = {{fb::PostOpKind::Bias, bias}};
  linear.rhsTransposed = true;
  linear.rhsStride = k;
  linear.workspace = slice(Space::Arena, 2048, 1024);
  run.commands = {gemm(linear),
                  launch(1, m, {product, slice(Space::Constant, 0, 4), y}, "double", "layer.0",
                         {fb::DType::F32}),
                  launch(2, 1, {slice(Space::State, 0, 4)}, "count", "", {fb::DType::F32})};
  moveToGpu(parts, "machine code");
  return parts;
}

} // namespace sinter::runtime::testing
