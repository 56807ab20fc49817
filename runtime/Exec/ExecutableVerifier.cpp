#include "runtime/Exec/ExecutableVerifier.h"
#include "runtime/Base/DType.h"
#include "runtime/Device/Cpu/Features.h"
#include "runtime/Device/Cpu/Panels.h"
#include "runtime/Device/Cuda/Architecture.h"
#include "runtime/Exec/ExecutableFile.h"
#include <cmath>
#include <optional>
#include <set>

namespace sinter::runtime {
namespace {

// No space and no extent is larger than this, so sums of a few never overflow.
constexpr uint64_t largest = uint64_t(1) << 46;
constexpr size_t longestString = 1 << 16;
constexpr int deepestTable = 16;
constexpr int mostTables = 1 << 24;

constexpr const char *remedy = "compile the model again";

// a * b, or nothing beyond `largest`.
std::optional<uint64_t> product(std::optional<uint64_t> a, uint64_t b) {
  uint64_t result;
  if (!a || __builtin_mul_overflow(*a, b, &result) || result > largest)
    return std::nullopt;
  return result;
}

// The flatbuffer's own verifier does not look at the alignment of a vector's elements.
template <size_t alignment = 8, typename Vector> bool isAligned(const Vector *vector) {
  return vector->size() == 0 || reinterpret_cast<uintptr_t>(vector->Data()) % alignment == 0;
}

std::optional<uint64_t> tensorBytes(const flatbuffers::Vector<int64_t> *shape, fb::DType dtype) {
  std::optional<uint64_t> bytes = sizeOf(static_cast<DType>(dtype));
  if (shape && !isAligned(shape))
    return std::nullopt;
  if (shape)
    for (int64_t extent : *shape) {
      if (extent < 0)
        return std::nullopt;
      bytes = product(bytes, static_cast<uint64_t>(extent));
    }
  return bytes;
}

// Bytes that a row-major [rows, columns] matrix spans.
std::optional<uint64_t> matrixBytes(uint64_t rows, uint64_t columns, uint64_t stride,
                                    fb::DType dtype) {
  if (rows == 0 || columns == 0 || stride < columns || stride > largest || columns > largest)
    return std::nullopt;
  std::optional<uint64_t> before = product(rows - 1, stride);
  if (!before)
    return std::nullopt;
  return product(*before + columns, sizeOf(static_cast<DType>(dtype)));
}

// What kernels and their launches may ask of a GPU; the driver knows the device's own limits.
constexpr uint64_t mostBlocks = (uint64_t(1) << 31) - 1;
constexpr uint32_t mostThreads = 1024, mostSharedBytes = 256 << 10;
// Of what cuDNN reads and writes.
constexpr uint64_t attentionAlignment = 16;
// Each of them is run when the executable is bound.
constexpr uint32_t mostAlternatives = 15;

// Streams of one program.
constexpr uint32_t mostStreams = 8;

bool isKnown(fb::DType dtype) { return dtype <= fb::DType::MAX; }

bool overlap(const fb::Slice &a, const fb::Slice &b) {
  return a.space() == b.space() && a.index() == b.index() && a.bytes() != 0 && b.bytes() != 0 &&
         a.offset() < b.offset() + b.bytes() && b.offset() < a.offset() + a.bytes();
}

// The tables of a vector that may be absent.
template <typename T> struct Tables {
  using Vector = flatbuffers::Vector<flatbuffers::Offset<T>>;
  const Vector *vector;
  typename Vector::const_iterator begin() const {
    return vector ? vector->begin() : typename Vector::const_iterator();
  }
  typename Vector::const_iterator end() const {
    return vector ? vector->end() : typename Vector::const_iterator();
  }
};
template <typename T> Tables<T> each(const flatbuffers::Vector<flatbuffers::Offset<T>> *vector) {
  return {vector};
}

class Verifier {
public:
  Verifier(const fb::Executable &executable, std::string_view source)
      : executable(executable), where(source) {}

  Expected<void> run() {
    if (executable.version() != executableVersion)
      return bad("has version " + std::to_string(executable.version()) +
                 " of the format, this Sinter reads " + std::to_string(executableVersion));
    SINTER_CHECK(verifyTables());
    std::set<std::string_view> names;
    for (const fb::Program *current : each(executable.programs())) {
      program = current;
      if (!names.insert(program->name()->string_view()).second)
        return bad("has two programs of this name");
      SINTER_CHECK(verifyProgram());
    }
    return {};
  }

private:
  const fb::Executable &executable;
  std::string where;
  const fb::Program *program = nullptr;
  const fb::Command *command = nullptr;
  size_t commandIndex = 0;
  bool cpu = true;

  tl::unexpected<Error> bad(const std::string &why) const {
    std::string what = where;
    if (program)
      what += ": program '" + program->name()->str() + "'";
    if (command) {
      what += ", command " + std::to_string(commandIndex);
      if (command->label() && command->label()->size() != 0)
        what += " (" + command->label()->str().substr(0, 80) + ")";
    }
    return fail(std::move(what), why, remedy);
  }

  bool isComputeType(fb::DType dtype) const {
    return dtype == fb::DType::F32 || dtype == fb::DType::BF16 || (!cpu && dtype == fb::DType::F16);
  }
  const char *computeTypes() const { return cpu ? "f32 and bf16" : "f32, bf16 and f16"; }

  bool isPrepare() const { return program && program->name()->string_view() == "prepare"; }

  // The size of the space that a slice lies in, or nothing if it may not lie there.
  std::optional<uint64_t> spaceBytes(const fb::Slice &slice) const {
    switch (slice.space()) {
    case fb::Space::Checkpoint:
      if (!isPrepare() || !executable.checkpoint() ||
          slice.index() >= executable.checkpoint()->size())
        return std::nullopt;
      {
        const fb::CheckpointTensor *tensor = executable.checkpoint()->Get(slice.index());
        return tensorBytes(tensor->shape(), tensor->dtype());
      }
    case fb::Space::Parameter:
      return executable.parameter_bytes();
    case fb::Space::State:
      return executable.state_bytes();
    case fb::Space::Constant:
      return executable.constants() ? executable.constants()->size() : 0;
    case fb::Space::Input:
      return program ? program->input_bytes() : 0;
    case fb::Space::Output:
      return program ? program->output_bytes() : 0;
    case fb::Space::Arena:
      return program ? program->arena_bytes() : 0;
    }
    return std::nullopt;
  }

  Expected<void> verifySlice(const fb::Slice *slice, const char *name) const {
    if (!slice)
      return bad(std::string(name) + " has no slice");
    std::optional<uint64_t> size = spaceBytes(*slice);
    if (!size)
      return bad(std::string(name) + " lies in a space that does not exist here");
    if (slice->bytes() > *size || slice->offset() > *size - slice->bytes())
      return bad(std::string(name) + " [" + std::to_string(slice->offset()) + ", +" +
                 std::to_string(slice->bytes()) + ") leaves its space of " + std::to_string(*size) +
                 " bytes");
    return {};
  }

  Expected<void> verifyWritable(const fb::Slice *slice, const char *name) const {
    SINTER_CHECK(verifySlice(slice, name));
    bool writable = slice->space() == fb::Space::State || slice->space() == fb::Space::Output ||
                    slice->space() == fb::Space::Arena ||
                    (slice->space() == fb::Space::Parameter && isPrepare());
    if (!writable)
      return bad(std::string(name) + " lies in a space that is only read here");
    return {};
  }

  Expected<void> verifyMatrix(const fb::Slice *slice, const char *name, uint64_t rows,
                              uint64_t columns, uint64_t stride, fb::DType dtype,
                              bool aligned = true) const {
    SINTER_CHECK(verifySlice(slice, name));
    std::optional<uint64_t> bytes = matrixBytes(rows, columns, stride, dtype);
    if (!bytes || *bytes > slice->bytes())
      return bad(std::string(name) + " is too small for [" + std::to_string(rows) + ", " +
                 std::to_string(columns) + "] with row stride " + std::to_string(stride));
    if (aligned && slice->offset() % sizeOf(static_cast<DType>(dtype)) != 0)
      return bad(std::string(name) + " is not aligned to its elements");
    return {};
  }

  Expected<void> verifyPanels(const fb::Slice *slice, const char *name, uint64_t k, uint64_t n,
                              fb::DType dtype) const {
    SINTER_CHECK(verifySlice(slice, name));
    Panels layout{k, n, static_cast<DType>(dtype)};
    bool bounded = k != 0 && n != 0 && k <= largest && n <= largest;
    if (!bounded || !product(product(layout.count(), layout.paddedK()), layout.width * 4) ||
        slice->bytes() != layout.bytes())
      return bad(std::string(name) + " has not the size of panels of [" + std::to_string(k) + ", " +
                 std::to_string(n) + "]");
    if (slice->offset() % 64 != 0)
      return bad(std::string(name) + " is not aligned to 64 bytes");
    return {};
  }

  Expected<void>
  verifyBindings(const flatbuffers::Vector<flatbuffers::Offset<fb::Binding>> *bindings,
                 fb::Space space) {
    std::set<std::string_view> names;
    for (const fb::Binding *binding : each(bindings)) {
      std::string name = "binding '" + binding->name()->str().substr(0, 80) + "'";
      if (!names.insert(binding->name()->string_view()).second)
        return bad(name + " appears twice");
      SINTER_CHECK(verifySlice(binding->slice(), name.c_str()));
      if (binding->slice()->space() != space)
        return bad(name + " lies in the wrong space");
      if (!isKnown(binding->dtype()) ||
          tensorBytes(binding->shape(), binding->dtype()) != binding->slice()->bytes())
        return bad(name + " has a shape that is not its slice's size");
      if (binding->slice()->offset() % sizeOf(static_cast<DType>(binding->dtype())) != 0)
        return bad(name + " is not aligned to its elements");
    }
    return {};
  }

  Expected<void> verifyTables() {
    for (uint64_t bytes : {executable.parameter_bytes(), executable.state_bytes()})
      if (bytes > largest)
        return bad("asks for " + std::to_string(bytes) + " bytes of memory");
    SINTER_CHECK(verifyDevice());
    SINTER_CHECK(verifyKernels());
    if (executable.constants() && executable.constants()->size() != 0 &&
        reinterpret_cast<uintptr_t>(executable.constants()->data()) % 64 != 0)
      return bad("has constants that are not aligned to 64 bytes");
    std::set<std::string_view> names;
    for (const fb::CheckpointTensor *tensor : each(executable.checkpoint())) {
      std::string name = "tensor '" + tensor->name()->str().substr(0, 80) + "'";
      if (!names.insert(tensor->name()->string_view()).second)
        return bad(name + " appears twice");
      if (!isKnown(tensor->dtype()) || !tensorBytes(tensor->shape(), tensor->dtype()))
        return bad(name + " has no possible type and shape");
      if (!std::isfinite(tensor->mean()) || !(tensor->deviation() >= 0) ||
          !std::isfinite(tensor->deviation()))
        return bad(name + " has no possible mean and deviation");
    }
    return verifyBindings(executable.states(), fb::Space::State);
  }

  Expected<void> verifyDevice() {
    const flatbuffers::String *device = executable.device();
    cpu = !device || device->size() == 0 || device->string_view() == "cpu";
    if (!cpu)
      SINTER_CHECK(cuda::capabilityOf(device->string_view(), where));
    return {};
  }

  Expected<void> verifyKernels() {
    uint64_t codeBytes = executable.code() ? executable.code()->size() : 0;
    for (const fb::Kernel *kernel : each(executable.kernels())) {
      std::string name = "kernel '" + kernel->name()->str().substr(0, 80) + "'";
      if (cpu && kernel->offset() >= codeBytes)
        return bad(name + " has its entry outside of the code");
      if (cpu && kernel->waits())
        return bad(name + " waits for another, which is for GPUs");
      if (cpu)
        continue;
      if (!executable.kernel_programs() ||
          kernel->program() >= executable.kernel_programs()->size())
        return bad(name + " is of program " + std::to_string(kernel->program()) +
                   " of kernels, which does not exist");
      if (kernel->block() == 0 || kernel->block() > mostThreads)
        return bad(name + " has blocks of " + std::to_string(kernel->block()) + " threads");
      if (kernel->shared_bytes() > mostSharedBytes)
        return bad(name + " asks for " + std::to_string(kernel->shared_bytes()) +
                   " bytes of shared memory");
    }
    for (const fb::KernelProgram *kernels : each(executable.kernel_programs())) {
      std::set<std::string_view> architectures;
      for (const fb::Cubin *cubin : each(kernels->cubins()))
        if (!architectures.insert(cubin->architecture()->string_view()).second)
          return bad("has two codes for " + cubin->architecture()->str().substr(0, 80) +
                     " of one program of kernels");
    }
    return {};
  }

  Expected<void> verifyProgram() {
    for (uint64_t bytes : {program->input_bytes(), program->output_bytes(), program->arena_bytes()})
      if (bytes > largest)
        return bad("asks for " + std::to_string(bytes) + " bytes of memory");
    SINTER_CHECK(verifyBindings(program->inputs(), fb::Space::Input));
    SINTER_CHECK(verifyBindings(program->outputs(), fb::Space::Output));
    commandIndex = 0;
    for (const fb::Command *current : each(program->commands())) {
      command = current;
      SINTER_CHECK(verifyCommand());
      ++commandIndex;
    }
    command = nullptr;
    return {};
  }

  Expected<void> verifyCommand() {
    for (const flatbuffers::String *text : {command->label(), command->layer()})
      if (text && text->size() > longestString)
        return bad("has a label of " + std::to_string(text->size()) + " characters");
    if (command->stage() > fb::Stage::MAX)
      return bad("is of an unknown stage");
    SINTER_CHECK(verifyOrder());
    SINTER_CHECK(verifyAction(*command));
    if (!command->alternatives())
      return {};
    if (cpu)
      return bad("can be done in several ways, which is for GPUs");
    if (command->alternatives()->size() > mostAlternatives)
      return bad("can be done in " + std::to_string(command->alternatives()->size()) +
                 " other ways");
    for (const fb::Alternative *alternative : each(command->alternatives()))
      SINTER_CHECK(verifyAction(*alternative));
    return {};
  }

  // Of a command or of an alternative.
  template <typename Holder> Expected<void> verifyAction(const Holder &holder) const {
    switch (holder.action_type()) {
    case fb::Action::Launch:
      return verify(*holder.action_as_Launch());
    case fb::Action::Gemm:
      return verify(*holder.action_as_Gemm());
    case fb::Action::Attention:
      return verify(*holder.action_as_Attention());
    case fb::Action::Pack:
      return verify(*holder.action_as_Pack());
    case fb::Action::Copy:
      return verify(*holder.action_as_Copy());
    case fb::Action::Fill:
      return verifyWritable(holder.action_as_Fill()->out(), "out");
    default:
      return bad("is of no known kind");
    }
  }

  Expected<void> verifyOrder() const {
    if (command->stream() >= mostStreams)
      return bad("is of stream " + std::to_string(command->stream()) + " of " +
                 std::to_string(mostStreams));
    if (cpu && (command->stream() != 0 || command->waits()))
      return bad("is of a stream or waits, which is for GPUs");
    if (!command->waits())
      return {};
    if (!isAligned<sizeof(uint32_t)>(command->waits()))
      return bad("has waits that are not aligned");
    std::set<uint32_t> streams;
    for (uint32_t other : *command->waits()) {
      if (other >= commandIndex)
        return bad("waits for command " + std::to_string(other) + ", which is not before it");
      uint32_t stream = program->commands()->Get(other)->stream();
      if (stream == command->stream() || !streams.insert(stream).second)
        return bad("waits for command " + std::to_string(other) +
                   ", which is of its own stream or of one that it waits for already");
    }
    return {};
  }

  Expected<void> verify(const fb::Launch &launch) const {
    if (!executable.kernels() || launch.kernel() >= executable.kernels()->size())
      return bad("launches kernel " + std::to_string(launch.kernel()) + ", which does not exist");
    if (launch.grid() > (cpu ? largest : mostBlocks))
      return bad("has a grid of " + std::to_string(launch.grid()) + " items");
    if (launch.slices() && !isAligned(launch.slices()))
      return bad("has slices that are not aligned");
    if (launch.slices())
      for (flatbuffers::uoffset_t i = 0; i < launch.slices()->size(); ++i) {
        std::string name = "slice " + std::to_string(i);
        SINTER_CHECK(verifySlice(launch.slices()->Get(i), name.c_str()));
      }
    size_t outputs = launch.outputs() ? launch.outputs()->size() : 0;
    if (outputs > (launch.slices() ? launch.slices()->size() : 0))
      return bad("has more outputs than slices");
    for (flatbuffers::uoffset_t i = 0; i < outputs; ++i)
      if (!isKnown(launch.outputs()->Get(i)))
        return bad("has an output of no known type");
    return {};
  }

  Expected<void> verify(const fb::Gemm &gemm) const {
    if (!isComputeType(gemm.dtype()) || !isComputeType(gemm.out_dtype()))
      return bad(std::string("is a product of types other than ") + computeTypes());
    SINTER_CHECK(cpu ? verifyPanelForm(gemm) : verifyPlainForm(gemm));
    SINTER_CHECK(verifyWritable(gemm.out(), "out"));
    SINTER_CHECK(
        verifyMatrix(gemm.out(), "out", gemm.m(), gemm.n(), gemm.out_stride(), gemm.out_dtype()));
    if (overlap(*gemm.out(), *gemm.lhs()) || overlap(*gemm.out(), *gemm.rhs()))
      return bad("out overlaps what is still read");
    for (const fb::PostOp *step : each(gemm.post_ops())) {
      if (step->kind() > fb::PostOpKind::MAX)
        return bad("has an epilogue of no known kind");
      bool wide = step->kind() == fb::PostOpKind::Add || step->kind() == fb::PostOpKind::Multiply;
      if (!wide && step->kind() != fb::PostOpKind::Bias)
        continue;
      if (!isComputeType(step->dtype()))
        return bad(std::string("has an epilogue's operand of a type other than ") + computeTypes());
      SINTER_CHECK(verifyMatrix(step->operand(), "an epilogue's operand", wide ? gemm.m() : 1,
                                gemm.n(), wide ? step->stride() : gemm.n(), step->dtype()));
      bool same = wide && step->operand()->offset() == gemm.out()->offset() &&
                  step->stride() == gemm.out_stride() && step->dtype() == gemm.out_dtype();
      if (overlap(*gemm.out(), *step->operand()) && !same)
        return bad("out overlaps an epilogue's operand without being the same matrix");
    }
    return cpu ? Expected<void>() : verifyLibraryEpilogue(gemm);
  }

  // As the processor's library multiplies.
  Expected<void> verifyPanelForm(const fb::Gemm &gemm) const {
    if (gemm.rhs_form() != fb::RhsForm::Panels || gemm.lhs_transposed() || gemm.workspace())
      return bad("is a product of a form that is for GPUs");
    SINTER_CHECK(
        verifyMatrix(gemm.lhs(), "lhs", gemm.m(), gemm.k(), gemm.lhs_stride(), gemm.dtype()));
    SINTER_CHECK(verifyPanels(gemm.rhs(), "rhs", gemm.k(), gemm.n(), gemm.dtype()));
    if (gemm.rhs()->space() != fb::Space::Parameter && gemm.rhs()->space() != fb::Space::Arena)
      return bad("rhs is neither a parameter nor in the arena");
    return {};
  }

  // As cuBLASLt multiplies.
  Expected<void> verifyPlainForm(const fb::Gemm &gemm) const {
    if (gemm.rhs_form() != fb::RhsForm::Plain && gemm.rhs_form() != fb::RhsForm::Transposed)
      return bad("is a product of a form that is not for GPUs");
    bool left = gemm.lhs_transposed(), right = gemm.rhs_form() == fb::RhsForm::Transposed;
    SINTER_CHECK(verifyMatrix(gemm.lhs(), "lhs", left ? gemm.k() : gemm.m(),
                              left ? gemm.m() : gemm.k(), gemm.lhs_stride(), gemm.dtype()));
    SINTER_CHECK(verifyMatrix(gemm.rhs(), "rhs", right ? gemm.n() : gemm.k(),
                              right ? gemm.k() : gemm.n(), gemm.rhs_stride(), gemm.dtype()));
    if (!gemm.workspace())
      return {};
    SINTER_CHECK(verifyWritable(gemm.workspace(), "workspace"));
    if (gemm.workspace()->space() != fb::Space::Arena || gemm.workspace()->offset() % 256 != 0)
      return bad("workspace is not in the arena, or not aligned to 256 bytes");
    for (const fb::Slice *other : {gemm.lhs(), gemm.rhs(), gemm.out()})
      if (other && overlap(*gemm.workspace(), *other))
        return bad("workspace overlaps an operand");
    return {};
  }

  // One bias and one addend of the result's type, in any order, then at most one function.
  Expected<void> verifyLibraryEpilogue(const fb::Gemm &gemm) const {
    unsigned biases = 0, sums = 0, functions = 0;
    for (const fb::PostOp *step : each(gemm.post_ops())) {
      bool operand = step->kind() == fb::PostOpKind::Bias || step->kind() == fb::PostOpKind::Add;
      bool function =
          step->kind() == fb::PostOpKind::GeluTanh || step->kind() == fb::PostOpKind::Relu;
      bool fits = functions == 0 && (operand || function) &&
                  (!operand || step->dtype() == gemm.out_dtype());
      biases += step->kind() == fb::PostOpKind::Bias;
      sums += step->kind() == fb::PostOpKind::Add;
      functions += function;
      if (!fits || biases > 1 || sums > 1)
        return bad("has an epilogue that is not for GPUs");
      if (operand && gemm.workspace() && overlap(*gemm.workspace(), *step->operand()))
        return bad("workspace overlaps an operand");
    }
    return {};
  }

  // Whether a tensor [batch, rows, heads, size] with these strides lies in its slice.
  Expected<void> verifyHeads(const fb::Slice *slice, const fb::HeadStrides *strides,
                             const char *name, const fb::Attention &attention, uint64_t rows,
                             uint64_t heads) const {
    SINTER_CHECK(verifySlice(slice, name));
    if (!strides)
      return bad(std::string(name) + " has no strides");
    uint64_t elements = attention.head_size();
    const std::pair<uint64_t, uint64_t> axes[] = {
        {attention.batch(), strides->batch()}, {rows, strides->row()}, {heads, strides->head()}};
    for (auto [extent, stride] : axes) {
      std::optional<uint64_t> before = product(extent - 1, stride);
      if (!before || stride > largest)
        return bad(std::string(name) + " has impossible strides");
      elements += *before;
    }
    std::optional<uint64_t> bytes =
        product(elements, sizeOf(static_cast<DType>(attention.dtype())));
    if (!bytes || *bytes > slice->bytes())
      return bad(std::string(name) + " is too small for its strides");
    if (slice->offset() % attentionAlignment != 0)
      return bad(std::string(name) + " is not aligned to 16 bytes");
    return {};
  }

  // As cuDNN attends.
  Expected<void> verify(const fb::Attention &attention) const {
    if (cpu)
      return bad("is an attention of a library, which is for GPUs");
    fb::DType dtype = attention.dtype(), outDtype = attention.out_dtype();
    if ((dtype != fb::DType::BF16 && dtype != fb::DType::F16) ||
        (outDtype != dtype && outDtype != fb::DType::F32))
      return bad("is an attention of types other than bf16 and f16");
    for (uint64_t extent : {attention.batch(), attention.length(), attention.keys(),
                            attention.heads(), attention.key_heads(), attention.head_size()})
      if (extent == 0 || extent > mostBlocks)
        return bad("is an attention of " + std::to_string(extent) + " of something");
    if (attention.heads() % attention.key_heads() != 0)
      return bad("has heads that are no multiple of the keys' heads");
    if (attention.window() > mostBlocks || !std::isfinite(attention.scale()))
      return bad("has no possible window and scale");
    SINTER_CHECK(verifyHeads(attention.query(), attention.query_strides(), "query", attention,
                             attention.length(), attention.heads()));
    SINTER_CHECK(verifyHeads(attention.key(), attention.key_strides(), "key", attention,
                             attention.keys(), attention.key_heads()));
    SINTER_CHECK(verifyHeads(attention.value(), attention.value_strides(), "value", attention,
                             attention.keys(), attention.key_heads()));
    std::optional<uint64_t> rows =
        product(product(attention.batch(), attention.length()), attention.heads());
    SINTER_CHECK(verifyAttentionResult(attention.out(), "out", attention,
                                       product(rows, attention.head_size()), outDtype));
    if (attention.logsumexp()) {
      SINTER_CHECK(verifyAttentionResult(attention.logsumexp(), "logsumexp", attention, rows,
                                         fb::DType::F32));
      if (overlap(*attention.out(), *attention.logsumexp()))
        return bad("out overlaps logsumexp");
    }
    const fb::Slice *workspace = attention.workspace();
    if (!workspace)
      return {};
    SINTER_CHECK(verifyWritable(workspace, "workspace"));
    if (workspace->space() != fb::Space::Arena || workspace->offset() % 256 != 0)
      return bad("workspace is not in the arena, or not aligned to 256 bytes");
    for (const fb::Slice *other : {attention.query(), attention.key(), attention.value(),
                                   attention.out(), attention.logsumexp()})
      if (other && overlap(*workspace, *other))
        return bad("workspace overlaps an operand");
    return {};
  }

  Expected<void> verifyAttentionResult(const fb::Slice *slice, const char *name,
                                       const fb::Attention &attention,
                                       std::optional<uint64_t> elements, fb::DType dtype) const {
    SINTER_CHECK(verifyWritable(slice, name));
    std::optional<uint64_t> bytes = product(elements, sizeOf(static_cast<DType>(dtype)));
    if (!bytes || slice->bytes() != *bytes || slice->offset() % attentionAlignment != 0)
      return bad(std::string(name) +
                 " has not the attention's size, or is not aligned to 16 bytes");
    for (const fb::Slice *read : {attention.query(), attention.key(), attention.value()})
      if (overlap(*slice, *read))
        return bad(std::string(name) + " overlaps what is still read");
    return {};
  }

  Expected<void> verify(const fb::Pack &pack) const {
    if (!cpu)
      return bad("packs, which is not for GPUs");
    if (!isComputeType(pack.dtype()))
      return bad("packs into a type other than f32 and bf16");
    Panels layout{pack.k(), pack.n(), static_cast<DType>(pack.dtype())};
    if (pack.width() != layout.width || pack.interleave() != layout.interleave() ||
        pack.depth() != layout.depth())
      return bad("asks for panels of an unknown layout");
    SINTER_CHECK(verifyWritable(pack.out(), "out"));
    SINTER_CHECK(verifyPanels(pack.out(), "out", pack.k(), pack.n(), pack.dtype()));
    uint64_t columns = 0;
    for (const fb::PackSource *source : each(pack.sources())) {
      if (!isComputeType(source->dtype()) && source->dtype() != fb::DType::F16)
        return bad("packs a source of a type other than f32, bf16 and f16");
      if (source->n() == 0 || source->n() > pack.n() - columns)
        return bad("has sources with more columns than it packs");
      columns += source->n();
      bool transposed = source->transposed();
      SINTER_CHECK(verifyMatrix(source->slice(), "a source", transposed ? source->n() : pack.k(),
                                transposed ? pack.k() : source->n(), source->stride(),
                                source->dtype(), /*aligned=*/false));
      if (overlap(*source->slice(), *pack.out()))
        return bad("out overlaps a source");
    }
    if (columns != pack.n())
      return bad("has sources with " + std::to_string(columns) + " of its " +
                 std::to_string(pack.n()) + " columns");
    return {};
  }

  Expected<void> verify(const fb::Copy &copy) const {
    SINTER_CHECK(verifySlice(copy.source(), "source"));
    SINTER_CHECK(verifyWritable(copy.out(), "out"));
    if (copy.source()->bytes() != copy.out()->bytes())
      return bad("copies between slices of different sizes");
    if (overlap(*copy.source(), *copy.out()))
      return bad("copies between slices that overlap");
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
    return fail(std::string(source), "is not a well-formed executable", remedy);
  const fb::Executable *executable = fb::GetExecutable(data);
  SINTER_CHECK(Verifier(*executable, source).run());
  return executable;
}

Expected<void> checkCpuFeatures(const fb::Executable &executable, std::string_view source) {
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
