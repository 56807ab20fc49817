#include "runtime/Exec/Session.h"
#include "runtime/Exec/Checkpoint.h"
#include "runtime/Exec/DebugChecks.h"
#include "runtime/Exec/FiniteChecks.h"
#include "runtime/Exec/Recording.h"
#include "runtime/Memory/Region.h"
#include <algorithm>
#include <cstdio>
#include <cstring>

namespace sinter::runtime {
namespace {

std::string readableBytes(uint64_t bytes) {
  char text[32];
  if (bytes >= uint64_t(1) << 30)
    std::snprintf(text, sizeof(text), "%.1f GiB", double(bytes) / double(uint64_t(1) << 30));
  else
    std::snprintf(text, sizeof(text), "%.1f MiB", double(bytes) / double(1 << 20));
  return text;
}

// The bytes that a program's library scratch takes are known only after binding, so they are not
// part of what is asked for here; they are small beside the rest.
Expected<void> checkMemory(const Executable &executable, const MemoryUse &use) {
  uint64_t available = availableMemory();
  if (use.peak() <= available)
    return {};
  std::vector<std::pair<uint64_t, const char *>> owners = {
      {use.parameter, "weights"}, {use.state, "caches"},
      {use.arena, "activations"}, {use.output, "outputs"},
      {use.input, "inputs"},      {use.prepareArena, "preparing the weights"},
  };
  std::sort(owners.rbegin(), owners.rend());
  std::string list;
  for (size_t i = 0; i < 3 && owners[i].first != 0; ++i)
    list += (i ? ", " : "") + std::string(owners[i].second) + " " + readableBytes(owners[i].first);
  return fail(executable.name(),
              "needs " + readableBytes(use.peak()) + " of memory (" + list + "), " +
                  readableBytes(available) + " are available",
              "use a smaller model, batch, capacity or type");
}

struct BoundProgram {
  const fb::Program *program = nullptr;
  uint32_t index = 0; // in the executable
  Recording recording;
};

Expected<TensorView>
findBinding(const flatbuffers::Vector<flatbuffers::Offset<fb::Binding>> *bindings,
            const Region &region, std::string_view name, const std::string &where) {
  if (bindings)
    for (const fb::Binding *binding : *bindings)
      if (binding->name()->string_view() == name) {
        TensorView view;
        view.dtype = static_cast<DType>(binding->dtype());
        if (binding->shape())
          view.shape.assign(binding->shape()->begin(), binding->shape()->end());
        view.bytes = region.bytes().subspan(binding->slice()->offset(), binding->slice()->bytes());
        return view;
      }
  return fail(where, "has no tensor '" + std::string(name) + "'", "compile the model again");
}

Expected<TensorView> ofType(Expected<TensorView> view, DType dtype, std::string_view name,
                            const std::string &where) {
  if (view && view->dtype != dtype)
    return fail(where,
                "its '" + std::string(name) + "' is " + std::string(nameOf(view->dtype)) +
                    ", not " + std::string(nameOf(dtype)),
                "compile the model again");
  return view;
}

} // namespace

uint64_t MemoryUse::peak() const {
  uint64_t binding = parameter + prepareArena + constant + code + library;
  return std::max(binding, resident());
}

struct Session::Impl {
  std::shared_ptr<const Executable> executable;
  std::unique_ptr<ThreadPool> ownPool;
  ThreadPool *pool = nullptr;
  Trace *trace = nullptr;
  CodeImage code;
  std::vector<KernelFunction> kernels;
  Region parameter, state, arena, input, output;
  std::unique_ptr<GemmLibrary> gemms;
  std::vector<BoundProgram> programs;
  std::unique_ptr<DebugChecks> checks;
  MemoryUse use;

  Expected<void> select(std::shared_ptr<const Executable> selected, const SessionOptions &options);
  Expected<void> selectPrograms(const std::vector<std::string> &names);
  void recordPrograms();
  Expected<void> loadKernels(const KernelTable &table);
  Expected<void> allocate(bool debug);
  Expected<void> prepare(const SessionOptions &options);
  Resolver resolver(const Region &arenaInUse, const Checkpoint *checkpoint) const;
  Expected<void> runChecked(const BoundProgram &bound);
};

// Everything that takes no memory to speak of.
Expected<void> Session::Impl::select(std::shared_ptr<const Executable> selected,
                                     const SessionOptions &options) {
  executable = std::move(selected);
  pool = options.pool;
  if (!pool) {
    ownPool = std::make_unique<ThreadPool>(options.threads);
    pool = ownPool.get();
  }
  gemms = std::make_unique<GemmLibrary>(pool->size());
  SINTER_CHECK(selectPrograms(options.programs));
  return loadKernels(options.kernels);
}

void Session::Impl::recordPrograms() {
  for (BoundProgram &bound : programs)
    bound.recording = record(*bound.program, resolver(arena, nullptr));
}

Expected<void> Session::Impl::selectPrograms(const std::vector<std::string> &names) {
  const auto *all = executable->root().programs();
  for (const std::string &name : names)
    if (name == "prepare" || !executable->program(name))
      return fail(executable->name(), "it has no program '" + name + "'",
                  "compile the model again with this entry");
  for (flatbuffers::uoffset_t i = 0; all && i < all->size(); ++i) {
    const fb::Program *program = all->Get(i);
    std::string name = program->name()->str();
    if (name == "prepare")
      continue;
    if (!names.empty() && std::find(names.begin(), names.end(), name) == names.end())
      continue;
    programs.push_back({program, i, {}});
    use.arena = std::max<uint64_t>(use.arena, program->arena_bytes());
    use.input = std::max<uint64_t>(use.input, program->input_bytes());
    use.output = std::max<uint64_t>(use.output, program->output_bytes());
  }
  const fb::Executable &root = executable->root();
  use.parameter = root.parameter_bytes();
  use.state = root.state_bytes();
  use.constant = root.constants() ? root.constants()->size() : 0;
  if (const fb::Program *program = executable->program("prepare"))
    use.prepareArena = program->arena_bytes();
  return {};
}

Expected<void> Session::Impl::loadKernels(const KernelTable &table) {
  const fb::Executable &root = executable->root();
  size_t count = root.kernels() ? root.kernels()->size() : 0;
  kernels.resize(count);
  bool needsCode = false;
  for (size_t i = 0; i < count; ++i) {
    const fb::Kernel &kernel = *root.kernels()->Get(static_cast<flatbuffers::uoffset_t>(i));
    auto replaced = table.find(kernel.name()->string_view());
    if (replaced != table.end())
      kernels[i] = replaced->second;
    else
      needsCode = true;
  }
  if (!needsCode)
    return {};
  SINTER_TRY(code,
             CodeImage::load(std::as_bytes(std::span(root.code()->data(), root.code()->size()))));
  use.code = code.bytes();
  for (size_t i = 0; i < count; ++i)
    if (!kernels[i])
      kernels[i] =
          code.entry(root.kernels()->Get(static_cast<flatbuffers::uoffset_t>(i))->offset());
  return {};
}

Expected<void> Session::Impl::allocate(bool debug) {
  SINTER_TRY(parameter, Region::allocate(use.parameter, "weights", debug));
  SINTER_TRY(state, Region::allocate(use.state, "caches", debug));
  SINTER_TRY(arena, Region::allocate(use.arena, "activations", debug));
  SINTER_TRY(input, Region::allocate(use.input, "inputs", debug));
  SINTER_TRY(output, Region::allocate(use.output, "outputs", debug));
  if (!debug)
    return {};
  checks = std::make_unique<DebugChecks>();
  checks->watch(fb::Space::Parameter, parameter);
  checks->watch(fb::Space::State, state);
  checks->watch(fb::Space::Arena, arena);
  checks->watch(fb::Space::Input, input);
  checks->watch(fb::Space::Output, output);
  return {};
}

Resolver Session::Impl::resolver(const Region &arenaInUse, const Checkpoint *checkpoint) const {
  auto address = [this, &arenaInUse, checkpoint](const fb::Slice &slice) -> std::byte * {
    switch (slice.space()) {
    case fb::Space::Checkpoint:
      return checkpoint->address(slice.index()) + slice.offset();
    case fb::Space::Parameter:
      return parameter.data() + slice.offset();
    case fb::Space::State:
      return state.data() + slice.offset();
    case fb::Space::Input:
      return input.data() + slice.offset();
    case fb::Space::Output:
      return output.data() + slice.offset();
    case fb::Space::Arena:
      return arenaInUse.data() + slice.offset();
    case fb::Space::Constant:
      // Kernels and copies only read constants; the executable's bytes serve them in place.
      return reinterpret_cast<std::byte *>(
                 const_cast<uint8_t *>(executable->root().constants()->data())) +
             slice.offset();
    }
    return nullptr;
  };
  return {address, kernels, *gemms, *pool};
}

Expected<void> Session::Impl::prepare(const SessionOptions &options) {
  const fb::Program *program = executable->program("prepare");
  if (!program)
    return {};
  SINTER_TRY(Checkpoint checkpoint,
             Checkpoint::open(*executable, options.weights,
                              options.seed.value_or(executable->root().seed())));
  use.checkpoint = checkpoint.bytes();
  SINTER_TRY(Region scratch, Region::allocate(use.prepareArena, "preparing the weights"));
  Recording recording = record(*program, resolver(scratch, &checkpoint));
  for (size_t i = 0; i < recording.steps.size(); ++i) {
    checkpoint.beforeCommand(*pool, i);
    recording.runStep(i, *pool);
    checkpoint.afterCommand(i);
    if (options.progress)
      options.progress(i + 1, recording.steps.size());
  }
  return {};
}

Expected<void> Session::Impl::runChecked(const BoundProgram &bound) {
  checks->poison();
  for (size_t i = 0; i < bound.recording.steps.size(); ++i) {
    const fb::Command &command =
        *bound.program->commands()->Get(static_cast<flatbuffers::uoffset_t>(i));
    uint64_t before = checks->hashOutside(command);
    bound.recording.runStep(i, *pool);
    if (checks->hashOutside(command) == before && checks->guardsIntact())
      continue;
    std::string what = executable->name() + ": program '" + bound.program->name()->str() +
                       "', command " + std::to_string(i);
    if (command.label())
      what += " (" + command.label()->str() + ")";
    Error error{what, "wrote outside of its slices", "report this"};
    error.defect = true;
    return tl::unexpected(std::move(error));
  }
  return {};
}

Session::Session(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Session::~Session() = default;

Expected<std::unique_ptr<Session>> Session::bind(std::shared_ptr<const Executable> executable,
                                                 const SessionOptions &options) {
  auto impl = std::make_unique<Impl>();
  SINTER_CHECK(impl->select(std::move(executable), options));
  SINTER_CHECK(checkMemory(*impl->executable, impl->use));
  SINTER_CHECK(impl->allocate(options.debug));
  impl->recordPrograms();
  SINTER_CHECK(impl->prepare(options));
  impl->use.library = impl->gemms->scratchBytes();
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

// Regions cost address space alone until they are written to, so recording the programs over them
// makes the library tell its share.
Expected<MemoryUse> predictMemory(std::shared_ptr<const Executable> executable,
                                  const SessionOptions &options) {
  Session::Impl impl;
  SINTER_CHECK(impl.select(std::move(executable), options));
  SINTER_CHECK(impl.allocate(false));
  impl.recordPrograms();
  impl.use.library = impl.gemms->scratchBytes();
  return impl.use;
}

Expected<size_t> Session::program(std::string_view name) const {
  for (size_t i = 0; i < impl->programs.size(); ++i)
    if (impl->programs[i].program->name()->string_view() == name)
      return i;
  return fail(impl->executable->name(), "no program '" + std::string(name) + "' is bound",
              "compile the model again with this entry");
}

Expected<void> Session::run(size_t program) {
  const BoundProgram &bound = impl->programs[program];
  if (impl->checks)
    return impl->runChecked(bound);
  size_t count = bound.recording.steps.size();
  Trace *trace = impl->trace;
  if (!trace) {
    for (size_t i = 0; i < count; ++i)
      bound.recording.runStep(i, *impl->pool);
    return {};
  }
  // One reading of the clock ends a command and begins the next.
  int64_t begin = Trace::now(), last = begin;
  for (size_t i = 0; i < count; ++i) {
    int64_t start = last;
    bound.recording.runStep(i, *impl->pool);
    last = Trace::now();
    trace->add({bound.index, static_cast<uint32_t>(i), start, last});
  }
  trace->add({bound.index, TraceEvent::wholeRun, begin, last});
  return {};
}

std::optional<NonFinite> Session::runToNonFinite(size_t program) {
  const BoundProgram &bound = impl->programs[program];
  Resolver resolver = impl->resolver(impl->arena, nullptr);
  auto bytes = [&](const fb::Slice &slice) {
    return std::span<const std::byte>(resolver.address(slice), slice.bytes());
  };
  std::optional<NonFinite> first;
  for (size_t i = 0; i < bound.recording.steps.size(); ++i) {
    const fb::Command &command =
        *bound.program->commands()->Get(static_cast<flatbuffers::uoffset_t>(i));
    bound.recording.runStep(i, *impl->pool);
    std::optional<NonFiniteKind> kind = findNonFinite(command, bytes);
    bool stops = kind && *kind != NonFiniteKind::NegativeInfinity;
    if (!kind || (first && !stops))
      continue;
    first = NonFinite{command.label() ? command.label()->str() : "command " + std::to_string(i),
                      command.layer() ? command.layer()->str() : "", std::string(nameOf(*kind))};
    if (stops)
      break;
  }
  return first;
}

Expected<TensorView> Session::input(size_t program, std::string_view name, DType dtype) const {
  const fb::Program &bound = *impl->programs[program].program;
  return ofType(findBinding(bound.inputs(), impl->input, name, impl->executable->name()), dtype,
                name, impl->executable->name());
}

Expected<TensorView> Session::output(size_t program, std::string_view name, DType dtype) const {
  const fb::Program &bound = *impl->programs[program].program;
  return ofType(findBinding(bound.outputs(), impl->output, name, impl->executable->name()), dtype,
                name, impl->executable->name());
}

Expected<TensorView> Session::state(std::string_view name) const {
  return findBinding(impl->executable->root().states(), impl->state, name,
                     impl->executable->name());
}

void Session::clearState() {
  if (impl->state.data())
    std::memset(impl->state.data(), 0, impl->state.bytes().size());
}

void Session::setTrace(Trace *trace) { impl->trace = trace; }

const Executable &Session::executable() const { return *impl->executable; }
ThreadPool &Session::pool() const { return *impl->pool; }
MemoryUse Session::memory() const { return impl->use; }

} // namespace sinter::runtime
