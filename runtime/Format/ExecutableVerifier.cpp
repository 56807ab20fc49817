#include "runtime/Format/ExecutableVerifier.h"
#include "runtime/Base/CpuFeatures.h"
#include "runtime/Format/ActionVerifier.h"
#include "runtime/Format/Actions.h"
#include "runtime/Format/CudaArchitecture.h"
#include "runtime/Format/ExecutableFile.h"
#include "runtime/Format/KernelMarks.h"
#include "runtime/Format/PipelineStages.h"
#include "runtime/Format/VerifierScope.h"
#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace sinter::runtime {
namespace {

constexpr int deepestTable = 16;
constexpr int mostTables = 1 << 24;

constexpr const char *executableRemedy = "compile the model again";

// What kernels may ask of a GPU; the driver knows the device's own limits.
constexpr uint32_t mostThreads = 1024, mostSharedBytes = 256 << 10;
// Each of them is run when the executable is bound.
constexpr uint32_t mostAlternatives = 15;
// Microbatches that a stage of a pipeline has at a time.
constexpr uint64_t mostSlots = uint64_t(1) << 20;

std::string shorten(const flatbuffers::String *text) { return text->str().substr(0, 80); }

template <typename Bytes> bool isLineAligned(const Bytes *bytes) {
  return !bytes || isAligned<64>(bytes);
}

class Verifier {
public:
  Verifier(const fb::Executable &executable, std::string_view source)
      : executable(executable), scope{executable, std::string(source)} {}

  Expected<void> run() {
    if (executable.version() != executableVersion)
      return bad("has version " + std::to_string(executable.version()) +
                 " of the format, this Sinter reads " + std::to_string(executableVersion));
    // The compiler writes these even where they are empty; those who read them rely on it.
    if (!executable.kernels() || !executable.constants() || !executable.checkpoint() ||
        !executable.states() || !executable.programs() || !executable.metadata())
      return bad("lacks a table");
    SINTER_CHECK(verifyDevice());
    SINTER_CHECK(verifyContents());
    SINTER_CHECK(verifyGrid());
    SINTER_CHECK(verifyStages());
    SINTER_CHECK(verifyCode());
    SINTER_CHECK(verifyKernels());
    SINTER_CHECK(verifyCheckpoint());
    SINTER_CHECK(verifyBindings(executable.states(), fb::Space::State));
    std::set<std::string_view> names;
    for (const fb::Program *current : each(executable.programs())) {
      scope.program = current;
      if (!names.insert(current->name()->string_view()).second)
        return bad("has two programs of this name");
      SINTER_CHECK(verifyProgram(*current));
    }
    scope.program = nullptr;
    SINTER_CHECK(scope.verifyUsed(fb::Space::Parameter, executable.parameter_bytes(), "weights"));
    return scope.verifyUsed(fb::Space::State, executable.state_bytes(), "states");
  }

private:
  const fb::Executable &executable;
  VerifierScope scope;
  bool collectivesApart = false; ///< whether the program has several streams

  tl::unexpected<Error> bad(const std::string &why) const { return scope.bad(why); }

  Expected<void> verifyDevice() {
    const flatbuffers::String *device = executable.device();
    scope.cpu = !device || device->size() == 0 || device->string_view() == "cpu";
    if (!scope.cpu)
      SINTER_CHECK(cuda::capabilityOf(device->string_view(), scope.source));
    if (scope.cpu && executable.tune())
      return bad("is to be tuned, which is for GPUs");
    return {};
  }

  // What is carried along: texts that people see, names that are looked up.
  Expected<void> verifyContents() const {
    SINTER_CHECK(scope.verifyText(executable.producer(), "a producer"));
    for (const flatbuffers::String *feature : each(executable.cpu_features()))
      SINTER_CHECK(scope.verifyText(feature, "a feature"));
    std::set<std::string_view> keys, names;
    for (const fb::Metadata *entry : each(executable.metadata())) {
      SINTER_CHECK(scope.verifyText(entry->key(), "a key"));
      SINTER_CHECK(scope.verifyText(entry->value(), "a value"));
      if (!keys.insert(entry->key()->string_view()).second)
        return bad("says its '" + shorten(entry->key()) + "' twice");
    }
    for (const fb::Attachment *file : each(executable.attachments())) {
      SINTER_CHECK(scope.verifyText(file->name(), "an attached file's name"));
      if (!names.insert(file->name()->string_view()).second)
        return bad("has two attached files '" + shorten(file->name()) + "'");
    }
    for (const fb::WeightFile *file : each(executable.weight_files())) {
      SINTER_CHECK(scope.verifyText(file->path(), "a weight file's path"));
      SINTER_CHECK(scope.verifyText(file->hash(), "a weight file's hash"));
    }
    if (!isLineAligned(executable.constants()) || !isLineAligned(executable.embedded_weights()))
      return bad("has constants or weights that are not aligned to 64 bytes");
    return {};
  }

  Expected<void> verifyGrid() const {
    std::set<std::string_view> names;
    uint64_t ranks = 1;
    for (const fb::GridAxis *axis : each(executable.grid())) {
      SINTER_CHECK(scope.verifyText(axis->name(), "an axis"));
      if (axis->name()->size() == 0 || !names.insert(axis->name()->string_view()).second)
        return bad("has two axes of one name, or one of none");
      if (axis->size() == 0 || axis->size() > mostRanks || (ranks *= axis->size()) > mostRanks)
        return bad("is for a grid of no ranks, or of more than " + std::to_string(mostRanks));
    }
    return {};
  }

  Expected<void> verifyStages() const {
    uint32_t stages = countStages(executable);
    if (stages % countPlaces(executable) != 0 || (stages == 0) != (countPlaces(executable) == 1))
      return bad("has " + std::to_string(stages) + " stages for " +
                 std::to_string(countPlaces(executable)) + " places of a pipeline");
    for (uint32_t stage = 0; stage < stages; ++stage) {
      const fb::PipelineStage &own = *executable.stages()->Get(stage);
      if (own.slots() == 0 || own.slots() > mostSlots || own.slot_begin() > largestExtent ||
          own.slot_bytes() > largestExtent / own.slots() || own.slot_begin() % 64 != 0 ||
          own.slot_bytes() % 64 != 0 ||
          own.slot_begin() + own.slot_bytes() > executable.state_bytes())
        return bad("has a stage " + std::to_string(stage) + " with no possible slots");
    }
    return {};
  }

  // What a rank holds of a tensor that is split.
  Expected<void> verifySharding(const fb::Binding &binding, const std::string &name) const {
    if (!binding.whole() && !binding.sharding())
      return {};
    if (!binding.whole() || !binding.sharding() || !isAligned(binding.whole()) ||
        binding.whole()->size() != binding.sharding()->size())
      return bad(name + " does not say of each dimension how it is split");
    // In a layout with padding the part's shape is that of its storage.
    bool dense = binding.shape() && binding.shape()->size() == binding.whole()->size();
    for (flatbuffers::uoffset_t i = 0; i < binding.whole()->size(); ++i) {
      uint64_t parts = 1;
      const auto *axes = binding.sharding()->Get(i)->axes();
      if (axes && axes->size() != 0) {
        SINTER_TRY(parts, scope.countRanks(axes));
      }
      int64_t whole = binding.whole()->Get(i);
      if (whole < 0 || static_cast<uint64_t>(whole) > largestExtent)
        return bad(name + " is a part of a tensor of no possible shape");
      if (dense && (static_cast<uint64_t>(whole) + parts - 1) / parts !=
                       static_cast<uint64_t>(binding.shape()->Get(i)))
        return bad(name + " has parts of " + std::to_string(binding.shape()->Get(i)) + " of " +
                   std::to_string(whole) + " elements");
    }
    return {};
  }

  // Where a state lies in a tensor of which it is a part.
  Expected<void> verifyBox(const fb::Binding &binding, const std::string &name) const {
    const fb::Box *box = binding.box();
    if (!box)
      return {};
    SINTER_CHECK(scope.verifyText(box->tensor(), "a tensor"));
    const auto *own = binding.whole() ? binding.whole() : binding.shape();
    bool fits = own && box->shape() && box->offset() && isAligned(box->shape()) &&
                isAligned(box->offset()) && box->shape()->size() == own->size() &&
                box->offset()->size() == own->size();
    for (flatbuffers::uoffset_t i = 0; fits && i < own->size(); ++i) {
      int64_t extent = box->shape()->Get(i), offset = box->offset()->Get(i);
      fits = extent >= 0 && static_cast<uint64_t>(extent) <= largestExtent && offset >= 0 &&
             own->Get(i) <= extent && offset <= extent - own->Get(i);
    }
    return fits ? Expected<void>() : bad(name + " is no part of its tensor");
  }

  Expected<void> verifyCode() const {
    bool hasCode = executable.code() && executable.code()->size() != 0;
    if (scope.cpu && executable.kernel_programs() && executable.kernel_programs()->size() != 0)
      return bad("has kernels of the other device");
    if (!scope.cpu && hasCode)
      return bad("has machine code of the other device");
    if (hasCode && (!isLineAligned(executable.code()) ||
                    !isSealed({executable.code()->data(), executable.code()->size()})))
      return bad("has machine code that is not whole");
    for (const fb::KernelProgram *kernels : each(executable.kernel_programs())) {
      for (const flatbuffers::String *option : each(kernels->options()))
        SINTER_CHECK(scope.verifyText(option, "an option of NVRTC"));
      std::set<std::string_view> architectures;
      for (const fb::Cubin *cubin : each(kernels->cubins())) {
        SINTER_CHECK(scope.verifyText(cubin->architecture(), "an architecture"));
        if (!isSealed({cubin->bytes()->data(), cubin->bytes()->size()}))
          return bad("has machine code that is not whole");
        if (!architectures.insert(cubin->architecture()->string_view()).second)
          return bad("has two codes for " + shorten(cubin->architecture()) +
                     " of one program of kernels");
      }
    }
    return {};
  }

  Expected<void> verifyKernels() const {
    std::set<std::string_view> names;
    for (const fb::Kernel *kernel : each(executable.kernels())) {
      SINTER_CHECK(scope.verifyText(kernel->name(), "a kernel's name"));
      std::string name = "kernel '" + shorten(kernel->name()) + "'";
      if (!names.insert(kernel->name()->string_view()).second)
        return bad(name + " appears twice");
      SINTER_CHECK(scope.cpu ? verifyEntry(*kernel, name) : verifyGpuKernel(*kernel, name));
    }
    return {};
  }

  Expected<void> verifyEntry(const fb::Kernel &kernel, const std::string &name) const {
    if (kernel.waits() || kernel.program() != 0 || kernel.block() != 0 ||
        kernel.shared_bytes() != 0)
      return bad(name + " is launched as on a GPU");
    std::optional<uint64_t> mark;
    if (const auto *code = executable.code(); code && code->size() > kernelMarkBytes)
      mark = readMark({code->data(), code->size() - kernelMarkBytes}, kernel.offset());
    if (!mark)
      return bad(name + " has its entry outside of the code");
    if (*mark != kernel.fingerprint())
      return bad(name + " has an entry where the code has none of it");
    return {};
  }

  Expected<void> verifyGpuKernel(const fb::Kernel &kernel, const std::string &name) const {
    if (kernel.offset() != 0)
      return bad(name + " has an entry, which is for processors");
    if (!executable.kernel_programs() || kernel.program() >= executable.kernel_programs()->size())
      return bad(name + " is of program " + std::to_string(kernel.program()) +
                 " of kernels, which does not exist");
    if (kernel.block() == 0 || kernel.block() > mostThreads)
      return bad(name + " has blocks of " + std::to_string(kernel.block()) + " threads");
    if (kernel.shared_bytes() > mostSharedBytes)
      return bad(name + " asks for " + std::to_string(kernel.shared_bytes()) +
                 " bytes of shared memory");
    return {};
  }

  Expected<void> verifyCheckpoint() const {
    std::set<std::string_view> names;
    for (const fb::CheckpointTensor *tensor : each(executable.checkpoint())) {
      SINTER_CHECK(scope.verifyText(tensor->name(), "a tensor's name"));
      std::string name = "tensor '" + shorten(tensor->name()) + "'";
      if (!names.insert(tensor->name()->string_view()).second)
        return bad(name + " appears twice");
      if (!isKnown(tensor->dtype()) || !tensorBytes(tensor->shape(), tensor->dtype()))
        return bad(name + " has no possible type and shape");
      if (!std::isfinite(tensor->mean()) || !(tensor->deviation() >= 0) ||
          !std::isfinite(tensor->deviation()))
        return bad(name + " has no possible mean and deviation");
    }
    return {};
  }

  Expected<void>
  verifyBindings(const flatbuffers::Vector<flatbuffers::Offset<fb::Binding>> *bindings,
                 fb::Space space) {
    std::set<std::string_view> names;
    std::vector<const fb::Binding *> placed;
    for (const fb::Binding *binding : each(bindings)) {
      SINTER_CHECK(scope.verifyText(binding->name(), "a binding's name"));
      std::string name = "binding '" + shorten(binding->name()) + "'";
      if (!names.insert(binding->name()->string_view()).second)
        return bad(name + " appears twice");
      SINTER_CHECK(scope.verifySlice(binding->slice(), name.c_str()));
      if (binding->slice()->space() != space)
        return bad(name + " lies in the wrong space");
      if (!isKnown(binding->dtype()) ||
          tensorBytes(binding->shape(), binding->dtype()) != binding->slice()->bytes())
        return bad(name + " has a shape that is not its slice's size");
      SINTER_CHECK(verifySharding(*binding, name));
      SINTER_CHECK(verifyBox(*binding, name));
      if (binding->slice()->offset() % sizeOf(static_cast<DType>(binding->dtype())) != 0)
        return bad(name + " is not aligned to its elements");
      SINTER_CHECK(verifyStageOf(*binding, name));
      if (binding->slice()->bytes() != 0)
        placed.push_back(binding);
    }
    // Ranks at different places of a pipeline have states of their own.
    auto placeOf = [&](const fb::Binding *binding) {
      return placeOfStage(executable, binding->stage());
    };
    std::ranges::sort(placed, {}, [&](const fb::Binding *binding) {
      return std::tuple(placeOf(binding), binding->slice()->offset(), binding->slice()->bytes());
    });
    for (size_t i = 1; i < placed.size(); ++i)
      if (placeOf(placed[i - 1]) == placeOf(placed[i]) &&
          overlap(*placed[i - 1]->slice(), *placed[i]->slice()))
        return bad("binding '" + shorten(placed[i]->name()) + "' overlaps '" +
                   shorten(placed[i - 1]->name()) + "'");
    return {};
  }

  // A state of a stage lies before what its ranks have a microbatch.
  Expected<void> verifyStageOf(const fb::Binding &binding, const std::string &name) const {
    bool isState = binding.slice()->space() == fb::Space::State;
    if (!isState || countStages(executable) == 0) {
      if (binding.stage() != 0)
        return bad(name + " is of a stage, which is not there or not for it");
      return {};
    }
    if (binding.stage() >= countStages(executable) ||
        binding.slice()->offset() + binding.slice()->bytes() >
            executable.stages()->Get(binding.stage())->slot_begin())
      return bad(name + " is of a stage that is not there, or reaches into its slots");
    return {};
  }

  Expected<void> verifyProgram(const fb::Program &program) {
    SINTER_CHECK(scope.verifyText(program.name(), "a program's name"));
    if (program.stage() != 0 && program.stage() >= countStages(executable))
      return bad("is of a stage that is not there");
    if (!program.commands() || !program.inputs() || !program.outputs())
      return bad("lacks a table");
    for (fb::Space space : {fb::Space::Input, fb::Space::Output, fb::Space::Arena})
      scope.used.erase(space);
    SINTER_CHECK(verifyBindings(program.inputs(), fb::Space::Input));
    SINTER_CHECK(verifyBindings(program.outputs(), fb::Space::Output));
    scope.commandIndex = 0;
    collectivesApart = std::ranges::any_of(
        *program.commands(), [](const fb::Command *command) { return command->stream() != 0; });
    for (const fb::Command *command : each(program.commands())) {
      scope.command = command;
      SINTER_CHECK(verifyCommand(*command));
      ++scope.commandIndex;
    }
    scope.command = nullptr;
    if (program.arena_lower_bound() > program.arena_bytes())
      return bad("has an arena below its lower bound");
    SINTER_CHECK(scope.verifyUsed(fb::Space::Input, program.input_bytes(), "inputs"));
    SINTER_CHECK(scope.verifyUsed(fb::Space::Output, program.output_bytes(), "outputs"));
    return scope.verifyUsed(fb::Space::Arena, program.arena_bytes(), "arena");
  }

  // What is predicted of a command (flops, bytes, times) is only shown, and may be any number.
  Expected<void> verifyCommand(const fb::Command &command) {
    SINTER_CHECK(scope.verifyText(command.label(), "a label"));
    SINTER_CHECK(scope.verifyText(command.layer(), "a layer"));
    if (command.stage() > fb::Stage::MAX)
      return bad("is of an unknown stage");
    SINTER_CHECK(verifyOrder());
    if (command.alternatives() && scope.cpu)
      return bad("has alternatives, which are for GPUs");
    if (command.alternatives() && command.alternatives()->size() > mostAlternatives)
      return bad("has " + std::to_string(command.alternatives()->size()) + " alternatives");
    return verifyActions(scope);
  }

  // On a processor the collectives of a program are all in stream 1, and nothing else is, or
  // nothing is.
  Expected<void> verifyCpuStream() const {
    if (scope.command->stream() != (collectivesApart && communicates(*scope.command) ? 1U : 0U))
      return bad("is of stream " + std::to_string(scope.command->stream()) +
                 ", which a processor has for collectives alone, or not for all of them");
    return {};
  }

  Expected<void> verifyOrder() const {
    if (scope.command->stream() >= kMostStreams)
      return bad("is of stream " + std::to_string(scope.command->stream()) + " of " +
                 std::to_string(kMostStreams));
    if (scope.cpu)
      SINTER_CHECK(verifyCpuStream());
    if (!scope.command->waits())
      return {};
    if (!isAligned<sizeof(uint32_t)>(scope.command->waits()))
      return bad("has waits that are not aligned");
    std::set<uint32_t> streams;
    for (uint32_t other : *scope.command->waits()) {
      if (other >= scope.commandIndex)
        return bad("waits for command " + std::to_string(other) + ", which is not before it");
      uint32_t stream = scope.program->commands()->Get(other)->stream();
      if (stream == scope.command->stream() || !streams.insert(stream).second)
        return bad("waits for command " + std::to_string(other) +
                   ", which is of its own stream or of one that it waits for already");
    }
    return {};
  }
};

} // namespace

Expected<const fb::Executable *> verifyExecutable(std::span<const std::byte> flatbuffer,
                                                  std::string_view source) {
  auto *data = reinterpret_cast<const uint8_t *>(flatbuffer.data());
  // The flatbuffer's own verifier asserts on larger buffers instead of refusing them.
  bool sound = flatbuffer.size() >= 16 && flatbuffer.size() < FLATBUFFERS_MAX_BUFFER_SIZE &&
               reinterpret_cast<uintptr_t>(data) % 64 == 0 &&
               fb::ExecutableBufferHasIdentifier(data);
  if (sound) {
    flatbuffers::Verifier verifier(data, flatbuffer.size(), deepestTable, mostTables);
    sound = fb::VerifyExecutableBuffer(verifier);
  }
  if (!sound)
    return fail(std::string(source), "is not a well-formed executable", executableRemedy);
  const fb::Executable *executable = fb::GetExecutable(data);
  SINTER_CHECK(Verifier(*executable, source).run());
  return executable;
}

Expected<void> checkCpuFeatures(const fb::Executable &executable, std::string_view source) {
  SINTER_CHECK(assumedCpu());
  std::vector<std::string> needed;
  if (executable.cpu_features())
    for (const flatbuffers::String *name : *executable.cpu_features())
      needed.push_back(name->str());
  std::vector<std::string> missing = missingCpuFeatures(needed);
  if (missing.empty())
    return {};
  std::string list;
  for (const std::string &name : missing)
    list += (list.empty() ? "" : ", ") + name.substr(0, 80);
  return fail(std::string(source), "was compiled for another processor: this one lacks " + list,
              "compile the model on this machine");
}

} // namespace sinter::runtime
