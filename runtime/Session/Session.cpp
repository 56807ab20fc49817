#include "runtime/Session/Session.h"
#include "runtime/Collective/Agreement.h"
#include "runtime/Collective/Grid.h"
#include "runtime/Collective/RankProgress.h"
#include "runtime/Device/Cpu/CpuDevice.h"
#include "runtime/Device/Cuda/CudaDevice.h"
#include "runtime/Device/FiniteChecks.h"
#include "runtime/Format/ExecutableVerifier.h"
#include "runtime/Memory/ProcessMemory.h"
#include "runtime/Session/RanksVerifier.h"
#include <algorithm>
#include <cassert>
#include <deque>
#include <malloc.h>
#include <map>
#include <set>

namespace sinter::runtime {
namespace {

using Bindings = flatbuffers::Vector<flatbuffers::Offset<fb::Binding>>;

Expected<const fb::Binding *> findBinding(const Bindings *bindings, std::string_view name,
                                          const std::string &where) {
  if (bindings)
    for (const fb::Binding *binding : *bindings)
      if (binding->name()->string_view() == name)
        return binding;
  return fail(where, "has no tensor '" + std::string(name) + "'", "compile the model again");
}

TensorView describe(const fb::Binding &binding) {
  TensorView view;
  view.dtype = static_cast<DType>(binding.dtype());
  if (binding.shape())
    view.shape.assign(binding.shape()->begin(), binding.shape()->end());
  return view;
}

// A tensor of a program's inputs or outputs.
Expected<TensorView> findTensor(const Bindings *bindings, std::span<std::byte> memory,
                                std::string_view name, DType dtype, const std::string &where) {
  SINTER_TRY(const fb::Binding *binding, findBinding(bindings, name, where));
  TensorView view = describe(*binding);
  if (view.dtype != dtype)
    return fail(where,
                "its '" + std::string(name) + "' is " + std::string(nameOf(view.dtype)) + ", not " +
                    std::string(nameOf(dtype)),
                "compile the model again");
  view.bytes = memory.subspan(binding->slice()->offset(), binding->slice()->bytes());
  return view;
}

std::string textOf(const flatbuffers::String *text) { return text ? text->str() : ""; }

} // namespace

struct Session::Impl {
  std::shared_ptr<const Executable> executable;
  std::unique_ptr<ThreadPool> ownPool;
  ThreadPool *pool = nullptr;
  Trace *trace = nullptr;
  std::vector<SelectedProgram> programs;
  const fb::Program *preprocess = nullptr;
  // By handle, what is run: a program, or those of an entry.
  std::vector<std::vector<size_t>> runs;
  std::map<std::string, size_t, std::less<>> entries; // handles, of those that are several programs
  MemoryUse use;                                      // of the spaces
  std::unique_ptr<Device> device;

  DevicePlan makePlan() const { return {executable, programs, preprocess, pool, use}; }
  Expected<void> select(std::shared_ptr<const Executable> selected, const BindOptions &options);
  Expected<void> selectPrograms(const BindOptions &options);
  void findEntries(uint64_t place);
  std::optional<size_t> findProgram(std::string_view name, uint64_t slot) const;
  Expected<void> runToNonFinite(size_t program, bool stops, std::optional<NonFinite> &first);
};

// Everything that takes no memory to speak of.
Expected<void> Session::Impl::select(std::shared_ptr<const Executable> selected,
                                     const BindOptions &options) {
  executable = std::move(selected);
  pool = options.pool;
  if (!pool) {
    ownPool = std::make_unique<ThreadPool>(options.threads);
    pool = ownPool.get();
  }
  return selectPrograms(options);
}

/// Fails where another number of ranks runs an executable than it was compiled for.
static Expected<void> checkRanks(const Executable &executable, const Communicator *communicator) {
  size_t needed = countRanks(executable.getRoot());
  size_t given = communicator ? communicator->size() : 1;
  if (needed == given)
    return {};
  auto count = [](size_t ranks) {
    return std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
  };
  std::string grid = needed == 1 ? "" : " (" + describeGrid(executable.getRoot()) + ")";
  return fail(executable.getName(),
              "was compiled for " + count(needed) + grid + ", and " + count(given) +
                  (given == 1 ? " runs it" : " run it"),
              needed == 1 ? "give a `grid` that says what each does, data=" +
                                std::to_string(given) + " for example"
                          : "give `ranks` " + std::to_string(needed));
}

/// The place along a pipeline whose programs are bound: that of the rank, or without ranks that of
/// the programs that are named.
static uint64_t findBoundPlace(const Executable &executable, const BindOptions &options) {
  if (options.communicator)
    return findPlace(executable.getRoot(), kPipelineAxis, options.communicator->getRank());
  const fb::Program *first =
      options.programs.empty() ? nullptr : executable.program(options.programs.front());
  return first ? placeOfStage(executable.getRoot(), first->stage()) : 0;
}

/// The entries of a pipeline that are to be bound, whose programs are run one after the other:
/// those that are named, or all.
static std::vector<std::string> listBoundEntries(const Executable &executable,
                                                 const BindOptions &options) {
  std::set<std::string> entries(options.programs.begin(), options.programs.end());
  if (options.programs.empty())
    for (const fb::Program *program : *executable.getRoot().programs())
      if (!isPreprocess(program->name()->string_view()))
        entries.emplace(entryOfProgram(*program));
  std::erase_if(entries, [&](const std::string &name) { return executable.program(name); });
  return {entries.begin(), entries.end()};
}

Expected<void> Session::Impl::selectPrograms(const BindOptions &options) {
  const fb::Executable &root = executable->getRoot();
  uint64_t place = findBoundPlace(*executable, options);
  std::set<std::string, std::less<>> names;
  for (const std::string &name : options.programs) {
    std::vector<EntryPass> passes = listPasses(*executable, place, name);
    if (isPreprocess(name) || (passes.empty() && !executable->program(name)))
      return fail(executable->getName(), "it has no program '" + name + "'",
                  "compile the model again with this entry");
    if (passes.empty())
      names.insert(name);
    for (const EntryPass &pass : passes)
      names.insert(pass.name);
  }
  const auto *all = root.programs();
  for (flatbuffers::uoffset_t i = 0; all && i < all->size(); ++i) {
    const fb::Program *program = all->Get(i);
    std::string_view name = program->name()->string_view();
    if (isPreprocess(name) ||
        (names.empty() ? placeOfStage(root, program->stage()) != place : !names.contains(name)))
      continue;
    uint64_t slots = countSlots(root, program->stage());
    for (uint64_t slot = 0; slot < slots; ++slot)
      programs.push_back({program, i, slot});
    use.state = std::max(use.state, stateBytesOf(root, program->stage()));
    use.arena = std::max<uint64_t>(use.arena, program->arena_bytes());
    use.input = std::max<uint64_t>(use.input, program->input_bytes());
    use.output = std::max<uint64_t>(use.output, program->output_bytes());
  }
  for (size_t i = 0; i < programs.size(); ++i)
    runs.push_back({i});
  findEntries(place);
  if (countStages(root) == 0)
    use.state = root.state_bytes();
  use.parameter = parameterBytesOf(*executable, place);
  use.constant = root.constants() ? root.constants()->size() : 0;
  preprocess = findPreprocess(*executable, place);
  if (preprocess)
    use.preprocessArena = preprocess->arena_bytes();
  if (countStages(root) == 0)
    return {};
  return verifyEntries(*executable, listBoundEntries(*executable, options));
}

std::optional<size_t> Session::Impl::findProgram(std::string_view name, uint64_t slot) const {
  for (size_t i = 0; i < programs.size(); ++i)
    if (programs[i].program->name()->string_view() == name && programs[i].slot == slot)
      return i;
  return std::nullopt;
}

void Session::Impl::findEntries(uint64_t place) {
  // Without a pipeline every program is an entry of its own, whatever it is called.
  if (countStages(executable->getRoot()) == 0)
    return;
  for (const SelectedProgram &selected : programs) {
    std::string_view entry = entryOfProgram(*selected.program);
    if (entry == selected.program->name()->string_view() || entries.contains(entry))
      continue;
    std::vector<size_t> run;
    for (const EntryPass &pass : listPasses(*executable, place, entry))
      if (std::optional<size_t> program = findProgram(pass.name, 0))
        run.push_back(*program);
    if (run.empty())
      continue;
    entries.emplace(entry, runs.size());
    runs.push_back(std::move(run));
  }
}

Session::Session(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Session::~Session() = default;

Expected<std::unique_ptr<Session>> Session::bind(std::shared_ptr<const Executable> executable,
                                                 const BindOptions &options) {
  auto impl = std::make_unique<Impl>();
  SINTER_CHECK(impl->select(std::move(executable), options));
  SINTER_CHECK(checkRanks(*impl->executable, options.communicator));
  if (Communicator *ranks = options.communicator) {
    SINTER_CHECK(checkSameExecutable(*ranks, *impl->executable));
    if (ranks->progress)
      ranks->progress->setExecutable(impl->executable);
  }
  if (impl->executable->isForCpu()) {
    SINTER_CHECK(checkCpuFeatures(impl->executable->getRoot(), impl->executable->getName()));
    impl->device = createCpuDevice(impl->makePlan());
  } else {
    SINTER_TRY(impl->device, cuda::createCudaDevice(impl->makePlan(), options.communicator));
  }
  // What was done before, as reading files' headers and tokenizing, leaves a heap that no step
  // uses.
  ::malloc_trim(0);
  SINTER_CHECK(impl->device->bind(options));
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

Expected<MemoryUse> predictMemory(std::shared_ptr<const Executable> executable,
                                  const BindOptions &options) {
  Session::Impl impl;
  SINTER_CHECK(impl.select(std::move(executable), options));
  if (impl.executable->isForCpu())
    return predictCpuMemory(impl.makePlan(), options);
  return cuda::predictCudaMemory(impl.makePlan());
}

uint64_t predictProcessMemory(const Executable &executable, const MemoryUse &use) {
  if (!executable.isForCpu())
    return 0;
  const fb::Executable &root = executable.getRoot();
  uint64_t code = root.code() ? root.code()->size() : 0;
  uint64_t attached = root.embedded_weights() ? root.embedded_weights()->size() : 0;
  if (root.attachments())
    for (const fb::Attachment *attachment : *root.attachments())
      attached += attachment->content() ? attachment->content()->size() : 0;
  return otherBytes(use, executable.getFlatbuffer().size() - attached - code, attached,
                    countRanks(root));
}

Expected<size_t> Session::program(std::string_view name, uint64_t slot) const {
  if (std::optional<size_t> program = impl->findProgram(name, slot))
    return *program;
  if (auto entry = impl->entries.find(name); entry != impl->entries.end() && slot == 0)
    return entry->second;
  return fail(impl->executable->getName(), "no program '" + std::string(name) + "' is bound",
              "compile the model again with this entry");
}

Expected<void> Session::run(size_t program) {
  for (size_t each : impl->runs[program])
    SINTER_CHECK(impl->trace ? impl->device->run(each, *impl->trace) : impl->device->run(each));
  // Nothing follows that would wait: the session may end, and its memory with it.
  if (program >= impl->programs.size())
    for (size_t each : impl->runs[program])
      SINTER_CHECK(impl->device->finishSends(each));
  return {};
}

Expected<std::optional<NonFinite>> Session::runToNonFinite(size_t program) {
  const std::vector<size_t> &run = impl->runs[program];
  std::optional<NonFinite> first;
  bool stops = run.size() == 1 && countRanks(impl->executable->getRoot()) == 1;
  for (size_t each : run)
    SINTER_CHECK(impl->runToNonFinite(each, stops, first));
  return first;
}

Expected<void> Session::Impl::runToNonFinite(size_t program, bool stops,
                                             std::optional<NonFinite> &first) {
  const fb::Program &bound = *programs[program].program;
  SINTER_CHECK(device->start(program));
  size_t count = bound.commands() ? bound.commands()->size() : 0;
  // What is worse than negative infinity.
  bool found = first && first->value != nameOf(NonFiniteKind::NegativeInfinity);
  for (size_t i = 0; i < count; ++i) {
    const fb::Command &command = *bound.commands()->Get(static_cast<flatbuffers::uoffset_t>(i));
    SINTER_CHECK(device->runCommand(program, i));
    // Where the processor cannot look at the device's memory it looks at copies.
    std::deque<std::vector<std::byte>> copies;
    Expected<void> copied;
    auto bytes = [&](const fb::Slice &slice) -> std::span<const std::byte> {
      if (std::span<std::byte> there = device->view(slice); !there.empty())
        return there;
      std::vector<std::byte> &copy = copies.emplace_back(slice.bytes());
      if (Expected<void> read = device->read(slice, copy); !read)
        copied = std::move(read);
      return copy;
    };
    std::optional<NonFiniteKind> kind = findNonFinite(command, bytes);
    SINTER_CHECK(std::move(copied));
    bool isWorst = kind && *kind != NonFiniteKind::NegativeInfinity;
    if (!kind || found || (first && !isWorst))
      continue;
    first = NonFinite{command.label() ? command.label()->str() : "command " + std::to_string(i),
                      textOf(command.layer()), std::string(nameOf(*kind))};
    found = isWorst;
    if (stops && isWorst)
      break;
  }
  return {};
}

Expected<TensorView> Session::input(size_t program, std::string_view name, DType dtype) const {
  // Of an entry's programs, all inputs are those of the first one, and outputs of the last one.
  return findTensor(impl->programs[impl->runs[program].front()].program->inputs(),
                    impl->device->hostMemory(fb::Space::Input), name, dtype,
                    impl->executable->getName());
}

Expected<TensorView> Session::output(size_t program, std::string_view name, DType dtype) const {
  return findTensor(impl->programs[impl->runs[program].back()].program->outputs(),
                    impl->device->hostMemory(fb::Space::Output), name, dtype,
                    impl->executable->getName());
}

Expected<TensorView> Session::state(std::string_view name) const {
  const std::string &where = impl->executable->getName();
  SINTER_TRY(const fb::Binding *binding,
             findBinding(impl->executable->getRoot().states(), name, where));
  TensorView view = describe(*binding);
  view.bytes = impl->device->view(*binding->slice());
  return view;
}

Expected<void> Session::readState(std::string_view name, std::span<std::byte> out) const {
  const std::string &where = impl->executable->getName();
  SINTER_TRY(const fb::Binding *binding,
             findBinding(impl->executable->getRoot().states(), name, where));
  assert(out.size() == binding->slice()->bytes());
  return impl->device->read(*binding->slice(), out);
}

Expected<void> Session::writeState(std::string_view name, std::span<const std::byte> bytes) {
  const std::string &where = impl->executable->getName();
  SINTER_TRY(const fb::Binding *binding,
             findBinding(impl->executable->getRoot().states(), name, where));
  assert(bytes.size() == binding->slice()->bytes());
  return impl->device->write(*binding->slice(), bytes);
}

Expected<void> Session::beginCopies(std::span<const StateCopy> copies) {
  const std::string &where = impl->executable->getName();
  std::vector<SliceCopy> slices;
  for (const StateCopy &copy : copies) {
    SINTER_TRY(const fb::Binding *binding,
               findBinding(impl->executable->getRoot().states(), copy.name, where));
    assert(copy.out.size() == binding->slice()->bytes());
    slices.push_back({*binding->slice(), copy.out});
  }
  return impl->device->beginCopies(slices);
}

Expected<void> Session::finishCopies() const { return impl->device->finishCopies(); }

std::span<std::byte> Session::copyMemory(uint64_t bytes) { return impl->device->copyMemory(bytes); }

Expected<void> Session::clearState() { return impl->device->clearState(); }

void Session::setTrace(Trace *trace) { impl->trace = trace; }

const Executable &Session::getExecutable() const { return *impl->executable; }
ThreadPool &Session::getPool() const { return *impl->pool; }
MemoryUse Session::getMemory() const { return impl->device->getMemory(); }
std::span<const std::byte> Session::getWeights() const {
  return impl->device->view(
      fb::Slice(fb::Space::Parameter, /*_index=*/0, /*_offset=*/0, getMemory().parameter));
}
std::vector<std::string> Session::getAlternatives() const {
  return impl->device->getAlternatives();
}

} // namespace sinter::runtime
