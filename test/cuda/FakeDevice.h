//===- FakeDevice.h - What is behind the fake's tables ----------*- C++ -*-===//
#pragma once

#include "test/cuda/FakeCuda.h"
#include "test/cuda/Timeline.h"

#include "test/simt/Program.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <set>
#include <thread>

namespace sinter::fake {

/// A piece of work of a stream: what it is called, what it touches, what it does. It runs later.
struct Work {
  std::string what;
  std::vector<Access> accesses;
  std::function<void()> run;
  bool isKernel = false;
  bool overlaps = false;     ///< a kernel that may begin before what is before it is done
  bool isWait = false;       ///< for an event of another stream
  bool communicates = false; ///< waits for other GPUs
  Timeline::Place place = {};
};

struct FakeStream;

struct FakeEvent {
  FakeStream *stream = nullptr; ///< that recorded it last
  uint64_t position = 0;        ///< of the record in that stream
  Timeline::Clock clock;
  unsigned capture = 0; ///< the capture that recorded it; 0 for none
  bool timed = true;
  std::chrono::steady_clock::time_point reached;
};

struct FakeStream {
  unsigned id = 0;
  std::deque<Work> queue;
  uint64_t submitted = 0, done = 0;
  bool busy = false;                 ///< with the work at hand, which may wait
  unsigned threads = 0;              ///< that run it beside the caller
  struct Capture *capture = nullptr; ///< that the stream takes part in
  bool endsInKernel = false;         ///< what it was given last, in this capture if there is one
};

/// A capture that has begun and not ended: its work, and an order of its own.
struct Capture {
  unsigned id;
  FakeStream *origin;
  std::set<FakeStream *> streams;
  Timeline timeline;
  std::vector<Work> work;
  CUresult broken = CUDA_SUCCESS; ///< why it is invalid
};

struct FakeGraph {
  std::vector<Work> work;
};

struct FakePool {
  size_t used = 0, mostUsed = 0, reserved = 0, mostReserved = 0;
};

struct FakeKernel {
  simt::Kernel kernel;
  unsigned sharedAllowed = 48 << 10; ///< dynamic shared memory without asking for more
  bool loaded = false;               ///< by its first launch
};

struct FakeLibrary {
  simt::Program program;
  std::map<std::string, std::unique_ptr<FakeKernel>> kernels;
};

/// Objects that the caller holds by handle.
template <typename Object> class Handles {
public:
  Object *make(Object object = {}) {
    auto owned = std::make_unique<Object>(std::move(object));
    Object *handle = owned.get();
    objects.emplace(handle, std::move(owned));
    return handle;
  }
  /// The object, or null if there is none (any more).
  Object *find(const void *handle) const {
    auto found = objects.find(handle);
    return found == objects.end() ? nullptr : found->second.get();
  }
  bool erase(const void *handle) { return objects.erase(handle) == 1; }
  unsigned size() const { return unsigned(objects.size()); }
  auto begin() const { return objects.begin(); }
  auto end() const { return objects.end(); }

private:
  std::map<const void *, std::unique_ptr<Object>> objects;
};

/// One GPU of a FakeCuda; its functions are called with `mutex` held. What one thread has begun to
/// run others let it end, though it gives the mutex away while it waits for other GPUs.
class FakeDevice {
public:
  FakeDevice(FakeOptions options, int ordinal);
  ~FakeDevice();

  /// All that are installed, by their numbers.
  static std::vector<FakeDevice *> &all();
  /// The one whose context is current on this thread, or else the first.
  static FakeDevice &instance();
  /// Makes the context of a device current on this thread; none with 0.
  static void setCurrent(uintptr_t serial);

  FakeOptions options;
  int ordinal;
  uintptr_t serial;                  ///< not 0, and no two have the same
  static std::recursive_mutex mutex; ///< of all of them

  // ---- calls ----

  /// Counts a call; the status with which it is to fail, or 0.
  int enter(const std::string &function);
  void complain(std::string text);
  void failCall(const std::string &function, int status, unsigned after) {
    failures[function].push_back({status, after});
  }

  // ---- streams ----

  /// The stream of a handle, null's being the default one; null if there is none.
  FakeStream *stream(CUstream handle);
  /// Gives a stream work, or the capture that it takes part in.
  CUresult submit(FakeStream &stream, Work work);
  /// Runs a stream's work up to that position, and what that waits for.
  void progress(FakeStream &stream, uint64_t upTo);
  /// The host waits for a stream.
  CUresult synchronize(FakeStream &stream);
  /// The host asks whether a stream has done all that it was given, which from then on it does by
  /// itself.
  CUresult query(FakeStream &stream);
  /// Lets other GPUs go on until `met`. @pre the mutex is held once
  static void waitUntil(const std::function<bool()> &met) { changed.wait(mutex, met); }
  /// The same for work at hand, beside which other streams of this GPU go on.
  void waitBeside(const std::function<bool()> &met);
  /// Runs what a stream was given, whether somebody waits for it or not.
  void runBeside(FakeStream &stream);
  /// What others may wait for has happened.
  static void notify() { changed.notify_all(); }
  void record(FakeStream &stream, FakeEvent &event);
  CUresult wait(FakeStream &stream, const FakeEvent &event);
  CUresult synchronize(FakeEvent &event);
  /// Everything that was given to any stream.
  void drain();
  /// Until no thread runs the stream any more: it may go then.
  void finishThreads(FakeStream &stream);
  /// Does a piece of work, whose turn it is in that order; what it has touched beside what was
  /// known before.
  std::vector<Access> execute(const Work &work, Timeline &order);
  /// Does the work of a graph, in an order of its branches.
  void replay(const FakeGraph &graph);

  // ---- captures ----

  CUresult beginCapture(FakeStream &stream);
  CUresult endCapture(FakeStream &stream, FakeGraph *&graph);
  /// A call that no stream of a capture may be given: breaks the capture.
  CUresult forbidden(FakeStream &stream, const std::string &function);
  bool capturing() const { return !captures.empty(); }

  // ---- memory ----

  CUresult allocate(FakePool &pool, size_t bytes, CUdeviceptr &address);
  /// Takes an allocation away from the caller; the memory goes when the stream has come so far.
  CUresult release(FakeStream &stream, CUdeviceptr address);
  /// Whether all of the range is allocated.
  bool owns(CUdeviceptr address, size_t bytes) const;
  size_t freeBytes() const;
  bool pinned(const void *address, size_t bytes) const;

  // ---- kernels ----

  /// @param overlaps whether the kernel, of that stream, begins while those before it may still
  /// run.
  void runKernel(const FakeKernel &kernel, const simt::Launch &shape,
                 const std::vector<void *> &arguments, bool overlaps, unsigned stream);

  // ---- state ----

  FakeStatistics counts;
  std::map<std::string, unsigned> calls;
  std::vector<std::string> complaints;
  CUresult sticky = CUDA_SUCCESS; ///< what has ended the context
  int communicationError = 0;     ///< of NCCL: collectives of this GPU end no more
  unsigned communicating = 0;     ///< of NCCL's work, what streams were given and is not over
  std::minstd_rand random;        ///< of the order in which streams go on
  CUresult kernelError = CUDA_SUCCESS;
  unsigned kernelsUntilError = 0;

  FakeStream defaultStream;
  Handles<FakeStream> streams;
  Handles<FakeEvent> events;
  Handles<FakeGraph> graphs, graphInstances;
  Handles<FakePool> pools;
  Handles<FakeLibrary> libraries;
  std::map<const void *, size_t> pinnedMemory;

private:
  /// A thread that runs work of this GPU: one at a time.
  class Turn;

  bool alive(const FakeStream *stream) const;
  void touch(Timeline &order, const Work &work, const std::vector<Access> &accesses);
  void runNext(FakeStream &stream);
  /// Lets some stream run ahead of what anybody waits for.
  void runAhead(const FakeStream &demanded);

  struct Failure {
    int status;
    unsigned after;
  };
  struct Allocation {
    size_t bytes;
    FakePool *pool;
  };

  std::map<std::string, std::deque<Failure>> failures;
  std::map<CUdeviceptr, Allocation> allocations;
  /// Of each stream those that kernels write that are not known to be done when the next one
  /// overlaps with them.
  std::map<unsigned, std::set<CUdeviceptr>> beingWritten;
  std::vector<Access> found; ///< what the work at hand has touched, beside what was known before
  std::set<CUdeviceptr> releasing; // taken away from the caller, still to be released
  std::vector<std::unique_ptr<Capture>> captures;
  Timeline timeline;
  unsigned nextStream = 1, nextCapture = 1;
  std::thread::id runner; ///< whose turn it is
  bool queried = false;   ///< `worker` runs a stream that was asked for
  std::jthread worker;
  std::vector<std::jthread> besides;
  static std::condition_variable_any changed;

public:
  unsigned newStreamId() { return nextStream++; }
};

inline FakeDevice &device() { return FakeDevice::instance(); }

/// What every call of a library begins with: the lock, and a failure that was asked for, or
/// `onFailed` where the GPU has failed before.
struct LibraryCall {
  std::lock_guard<std::recursive_mutex> lock;
  int error; ///< the status with which it is to fail, or 0
  LibraryCall(const char *name, int onFailed)
      : lock(FakeDevice::instance().mutex), error(FakeDevice::instance().enter(name)) {
    if (!error && FakeDevice::instance().sticky != CUDA_SUCCESS)
      error = onFailed;
  }
};

/// A function of a table, by the name that the library exports.
struct NamedFunction {
  const char *name;
  void *function;
};

/// The fake of a function of that type.
template <typename Function> NamedFunction namedFunction(const char *name, Function *fake) {
  return {name, reinterpret_cast<void *>(fake)};
}
// The argument is expanded before it is made a string: CUDA's headers rename functions by macros.
#define SINTER_FAKE_NAME(name) SINTER_FAKE_TEXT(name)
#define SINTER_FAKE_TEXT(name) #name
const std::vector<NamedFunction> &driverFunctions();
const std::vector<NamedFunction> &nvrtcFunctions();
const std::vector<NamedFunction> &ltFunctions();
#if __has_include(<nccl.h>)
/// Puts the fake's table in place of NCCL's, or takes it away.
void installNccl(bool fakes);
#else
inline void installNccl(bool) {}
#endif
#if __has_include(<cudnn_graph.h>)
/// Puts the fake's table in place of cuDNN's, or takes it away.
void installCudnn(bool fakes);
#else
inline void installCudnn(bool) {}
#endif

} // namespace sinter::fake
