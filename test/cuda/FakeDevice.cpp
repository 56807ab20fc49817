//===- FakeDevice.cpp - What is behind the fake's tables ------------------===//
#include "test/cuda/FakeDevice.h"

#include "test/simt/Arena.h"
#include "test/simt/DeviceMemory.h"

#include <cassert>
#include <cstdlib>
#include <string_view>
#include <utility>

using namespace sinter;
using namespace sinter::fake;

namespace {

/// The device whose context is current.
thread_local uintptr_t current = 0;

void *pointer(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

/// What a defect in a kernel is to a driver.
CUresult errorOf(simt::Defect defect) {
  switch (defect) {
  case simt::Defect::OutOfBounds:
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  case simt::Defect::Misaligned:
    return CUDA_ERROR_MISALIGNED_ADDRESS;
  case simt::Defect::Deadlock:
    return CUDA_ERROR_LAUNCH_TIMEOUT;
  case simt::Defect::InvalidLaunch:
    return CUDA_ERROR_LAUNCH_FAILED;
  default: // a device goes on
    return CUDA_SUCCESS;
  }
}

} // namespace

std::recursive_mutex FakeDevice::mutex;
std::condition_variable_any FakeDevice::changed;

FakeDevice::FakeDevice(FakeOptions given, int ordinal)
    : options(std::move(given)), ordinal(ordinal), random(options.streamSeed) {
  assert(int(all().size()) == ordinal && "one fake at a time");
  all().push_back(this);
  static uintptr_t count = 0;
  serial = ++count;
  if (options.cache.empty())
    options.cache = std::filesystem::temp_directory_path() / "sinter-fake-cuda";
}

FakeDevice::~FakeDevice() {
  besides.clear();
  if (worker.joinable())
    worker.join();
  for (auto [address, allocation] : allocations)
    simt::Arena::instance().release(pointer(address));
  for (CUdeviceptr address : releasing)
    simt::Arena::instance().release(pointer(address));
  for (auto [address, bytes] : pinnedMemory)
    free(const_cast<void *>(address));
  std::erase(all(), this);
}

std::vector<FakeDevice *> &FakeDevice::all() {
  static std::vector<FakeDevice *> devices;
  return devices;
}

FakeDevice &FakeDevice::instance() {
  assert(!all().empty() && "a function of a fake that is gone");
  for (FakeDevice *device : all())
    if (device->serial == current)
      return *device;
  return *all().front();
}

void FakeDevice::setCurrent(uintptr_t serial) { current = serial; }

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

int FakeDevice::enter(const std::string &function) {
  ++calls[function];
  auto found = failures.find(function);
  if (found == failures.end())
    return 0;
  Failure &next = found->second.front();
  if (next.after-- > 0)
    return 0;
  int status = next.status;
  found->second.pop_front();
  if (found->second.empty())
    failures.erase(found);
  return status;
}

void FakeDevice::complain(std::string text) {
  // What is wrong in a loop is told once.
  if (std::find(complaints.begin(), complaints.end(), text) == complaints.end())
    complaints.push_back(std::move(text));
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

FakeStream *FakeDevice::stream(CUstream handle) {
  return handle ? streams.find(handle) : &defaultStream;
}

bool FakeDevice::alive(const FakeStream *stream) const {
  return stream == &defaultStream || streams.find(stream);
}

void FakeDevice::touch(Timeline &order, const Work &work, const std::vector<Access> &accesses) {
  for (const Access &access : accesses)
    if (auto other = order.touch(work.place, work.what, access))
      complain(work.what + " and " + *other +
               " use the same memory on two streams, and nothing orders "
               "the two");
}

CUresult FakeDevice::submit(FakeStream &stream, Work work) {
  Capture *capture = stream.capture;
  if (capture && capture->broken != CUDA_SUCCESS)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  Timeline &order = capture ? capture->timeline : timeline;
  order.submit(stream.id);
  work.place = order.latest(stream.id);
  touch(order, work, work.accesses);
  if (work.overlaps && !stream.endsInKernel)
    complain(work.what + " was launched to overlap with what is no kernel");
  stream.endsInKernel = work.isKernel;
  if (capture) {
    capture->work.push_back(std::move(work));
    return CUDA_SUCCESS;
  }
  ++stream.submitted;
  stream.queue.push_back(std::move(work));
  return CUDA_SUCCESS;
}

class FakeDevice::Turn {
public:
  explicit Turn(FakeDevice &device)
      : device(device), nested(device.runner == std::this_thread::get_id()) {
    if (nested)
      return;
    waitUntil([&] { return device.runner == std::thread::id(); });
    device.runner = std::this_thread::get_id();
  }
  ~Turn() {
    if (nested)
      return;
    device.runner = {};
    notify();
  }
  Turn(const Turn &) = delete;
  Turn &operator=(const Turn &) = delete;

private:
  FakeDevice &device;
  bool nested;
};

void FakeDevice::waitBeside(const std::function<bool()> &met) {
  if (met())
    return;
  std::vector<Access> own = std::exchange(found, {});
  runner = {};
  notify();
  waitUntil([&] { return met() && runner == std::thread::id(); });
  runner = std::this_thread::get_id();
  found = std::move(own);
}

void FakeDevice::runBeside(FakeStream &stream) {
  ++stream.threads;
  besides.emplace_back([this, &stream, upTo = stream.submitted] {
    std::lock_guard lock(mutex);
    setCurrent(serial);
    progress(stream, upTo);
    --stream.threads;
    notify();
  });
}

void FakeDevice::progress(FakeStream &stream, uint64_t upTo) {
  Turn turn(*this);
  while ((stream.done < upTo || (stream.done == upTo && stream.busy)) && sticky == CUDA_SUCCESS) {
    if (stream.busy) {
      waitBeside([&] { return !stream.busy || stream.done > upTo || sticky != CUDA_SUCCESS; });
      continue;
    }
    if (options.streamSeed)
      runAhead(stream);
    runNext(stream);
  }
}

void FakeDevice::runNext(FakeStream &stream) {
  Work work = std::move(stream.queue.front());
  stream.queue.pop_front();
  ++stream.done;
  stream.busy = true;
  execute(work, timeline);
  stream.busy = false;
  notify();
}

void FakeDevice::runAhead(const FakeStream &demanded) {
  for (const auto &[handle, stream] : streams)
    while (stream.get() != &demanded && !stream->busy && !stream->queue.empty() &&
           !stream->queue.front().isWait && !stream->queue.front().communicates &&
           sticky == CUDA_SUCCESS && random() % 2)
      runNext(*stream);
}

std::vector<Access> FakeDevice::execute(const Work &work, Timeline &order) {
  std::set<CUdeviceptr> &written = beingWritten[work.place.stream];
  if (!work.overlaps)
    written.clear(); // it began when all before it was done
  std::vector<Access> outer = std::exchange(found, {});
  work.run();
  touch(order, work, found);
  std::vector<Access> touched = std::exchange(found, std::move(outer));
  for (const Access &access : work.accesses)
    if (auto after = allocations.upper_bound(access.begin);
        access.writes && after != allocations.begin())
      written.insert(std::prev(after)->first);
  return touched;
}

// With no seed, the stream that was captured goes as far as it can before others begin. What waits
// for other GPUs holds up all else here, so that two that begin in other orders on two of them wait
// for ever, unless NCCL is told to keep the order in which it was asked.
void FakeDevice::replay(const FakeGraph &graph) {
  const char *variable = std::getenv("NCCL_LAUNCH_ORDER_IMPLICIT");
  bool ordered = variable && std::string_view(variable) == "1";
  std::map<unsigned, std::deque<const Work *>> queues;
  std::deque<const Work *> transfers;
  for (const Work &work : graph.work) {
    queues[work.place.stream].push_back(&work);
    if (ordered && work.communicates)
      transfers.push_back(&work);
  }
  auto mayBegin = [&](const Work *work) {
    return !ordered || !work->communicates || work == transfers.front();
  };
  Timeline order;
  Timeline::Clock done;
  for (size_t left = graph.work.size(); left > 0 && sticky == CUDA_SUCCESS; --left) {
    std::vector<unsigned> ready;
    for (const auto &[stream, queue] : queues)
      if (!queue.empty() && mayBegin(queue.front()) &&
          Timeline::isReady(queue.front()->place, done))
        ready.push_back(stream);
    std::deque<const Work *> &queue =
        queues[ready[options.streamSeed ? random() % ready.size() : 0]];
    const Work &work = *queue.front();
    queue.pop_front();
    if (ordered && work.communicates)
      transfers.pop_front();
    for (const Access &access : execute(work, order))
      found.push_back(access); // the graph has touched it, too
    done[work.place.stream] = work.place.number;
  }
}

CUresult FakeDevice::synchronize(FakeStream &stream) {
  if (stream.capture)
    return forbidden(stream, "cuStreamSynchronize");
  progress(stream, stream.submitted);
  timeline.waitOnHost(timeline.clock(stream.id));
  return sticky;
}

CUresult FakeDevice::query(FakeStream &stream) {
  if (stream.capture)
    return forbidden(stream, "cuStreamQuery");
  if (sticky != CUDA_SUCCESS)
    return sticky;
  if (queried)
    return CUDA_ERROR_NOT_READY;
  if (stream.done == stream.submitted && !stream.busy) {
    timeline.waitOnHost(timeline.clock(stream.id));
    return CUDA_SUCCESS;
  }
  queried = true;
  worker = std::jthread([this, &stream] {
    std::lock_guard lock(mutex);
    setCurrent(serial);
    progress(stream, stream.submitted);
    queried = false;
    notify();
  });
  return CUDA_ERROR_NOT_READY;
}

void FakeDevice::finishThreads(FakeStream &stream) {
  waitUntil([&] { return !queried && stream.threads == 0; });
}

void FakeDevice::record(FakeStream &stream, FakeEvent &event) {
  event.stream = &stream;
  event.capture = stream.capture ? stream.capture->id : 0;
  // The record is work as well: its time is that at which the stream comes to it.
  submit(stream, {"an event", {}, [this, handle = &event] {
                    if (FakeEvent *reached = events.find(handle))
                      reached->reached = std::chrono::steady_clock::now();
                  }});
  event.position = stream.submitted;
  event.clock = (stream.capture ? stream.capture->timeline : timeline).clock(stream.id);
}

CUresult FakeDevice::wait(FakeStream &stream, const FakeEvent &event) {
  stream.endsInKernel = false;
  if (!alive(event.stream))
    return CUDA_SUCCESS; // nobody recorded it, or the stream was drained and destroyed: it is done
  if (event.capture) {
    Capture *capture = event.stream->capture;
    if (!capture || capture->id != event.capture)
      return CUDA_ERROR_CAPTURED_EVENT;
    if (stream.capture && stream.capture != capture)
      return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    // A stream that waits for a capture becomes a part of it.
    stream.capture = capture;
    capture->streams.insert(&stream);
    capture->timeline.wait(stream.id, event.clock);
    return CUDA_SUCCESS;
  }
  if (stream.capture) {
    stream.capture->broken = CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  timeline.wait(stream.id, event.clock);
  Work work{"a wait", {}, [this, other = event.stream, upTo = event.position] {
              if (alive(other))
                progress(*other, upTo);
            }};
  work.isWait = true;
  return submit(stream, std::move(work));
}

CUresult FakeDevice::synchronize(FakeEvent &event) {
  if (!alive(event.stream))
    return sticky;
  if (event.capture)
    return CUDA_ERROR_CAPTURED_EVENT;
  progress(*event.stream, event.position);
  timeline.waitOnHost(event.clock);
  return sticky;
}

void FakeDevice::drain() {
  progress(defaultStream, defaultStream.submitted);
  for (const auto &[handle, stream] : streams)
    progress(*stream, stream->submitted);
}

//===----------------------------------------------------------------------===//
// Captures
//===----------------------------------------------------------------------===//

CUresult FakeDevice::beginCapture(FakeStream &stream) {
  if (stream.capture || &stream == &defaultStream)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  captures.push_back(std::make_unique<Capture>());
  Capture &capture = *captures.back();
  capture.id = nextCapture++;
  capture.origin = &stream;
  capture.streams = {&stream};
  stream.capture = &capture;
  stream.endsInKernel = false;
  return CUDA_SUCCESS;
}

CUresult FakeDevice::endCapture(FakeStream &stream, FakeGraph *&graph) {
  graph = nullptr;
  stream.endsInKernel = false;
  Capture *capture = stream.capture;
  if (!capture)
    return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != &stream)
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  CUresult result = capture->broken;
  const Timeline::Clock &end = capture->timeline.clock(stream.id);
  for (FakeStream *each : capture->streams) {
    const Timeline::Clock &own = capture->timeline.clock(each->id);
    auto given = own.find(each->id);
    uint64_t last = given == own.end() ? 0 : given->second;
    auto joined = end.find(each->id);
    if (result == CUDA_SUCCESS && last > (joined == end.end() ? 0 : joined->second))
      result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    each->capture = nullptr;
  }
  if (result == CUDA_SUCCESS) {
    graph = graphs.make({std::move(capture->work)});
    ++counts.captures;
  }
  std::erase_if(captures, [&](const auto &each) { return each.get() == capture; });
  return result;
}

CUresult FakeDevice::forbidden(FakeStream &stream, const std::string &function) {
  complain(function + " was called while a stream that it concerns is captured");
  stream.capture->broken = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

size_t FakeDevice::freeBytes() const {
  size_t reserved = 0;
  for (const auto &[handle, pool] : pools)
    reserved += pool->reserved;
  return options.memoryBytes - std::min(options.memoryBytes, reserved);
}

CUresult FakeDevice::allocate(FakePool &pool, size_t bytes, CUdeviceptr &address) {
  size_t spare = pool.reserved - pool.used;
  if (bytes > spare && bytes - spare > freeBytes())
    return CUDA_ERROR_OUT_OF_MEMORY;
  void *memory = simt::Arena::instance().allocate(bytes);
  if (!memory)
    return CUDA_ERROR_OUT_OF_MEMORY;
  address = reinterpret_cast<CUdeviceptr>(memory);
  allocations[address] = {bytes, &pool};
  pool.used += bytes;
  pool.mostUsed = std::max(pool.mostUsed, pool.used);
  pool.reserved = std::max(pool.reserved, pool.used);
  pool.mostReserved = std::max(pool.mostReserved, pool.reserved);
  ++counts.allocated;
  counts.usedBytes += bytes;
  return CUDA_SUCCESS;
}

CUresult FakeDevice::release(FakeStream &stream, CUdeviceptr address) {
  auto found = allocations.find(address);
  if (found == allocations.end())
    return CUDA_ERROR_INVALID_VALUE;
  auto [bytes, pool] = found->second;
  allocations.erase(found);
  --counts.allocated;
  counts.usedBytes -= bytes;
  if (pools.find(pool))
    pool->used -= bytes;
  releasing.insert(address);
  // Whoever still works on it must have been waited for.
  return submit(stream,
                {"the release of memory", {{address, address + bytes, true}}, [this, address] {
                   releasing.erase(address);
                   simt::Arena::instance().release(pointer(address));
                 }});
}

bool FakeDevice::owns(CUdeviceptr address, size_t bytes) const {
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin())
    return false;
  auto [start, allocation] = *std::prev(after);
  return address - start <= allocation.bytes && bytes <= allocation.bytes - (address - start);
}

bool FakeDevice::pinned(const void *address, size_t bytes) const {
  auto after = pinnedMemory.upper_bound(address);
  if (after == pinnedMemory.begin())
    return false;
  auto [start, size] = *std::prev(after);
  size_t offset = size_t(static_cast<const char *>(address) - static_cast<const char *>(start));
  return offset <= size && bytes <= size - offset;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {
/// Allocations that kernels before may still write. What a kernel sees of them before it has waited
/// is NaNs, and what it writes there is a complaint.
class Unfinished final : public simt::Predecessor {
public:
  void add(CUdeviceptr address, size_t bytes) {
    ranges.push_back({static_cast<std::byte *>(pointer(address)), std::vector<std::byte>(bytes)});
  }
  void hide() override {
    for (Range &range : ranges) {
      std::copy_n(range.begin, range.kept.size(), range.kept.begin());
      std::fill_n(range.begin, range.kept.size(), unknown);
    }
  }
  void show() override {
    for (Range &range : ranges) {
      hasBeenWritten |= std::any_of(range.begin, range.begin + range.kept.size(),
                                    [](std::byte byte) { return byte != unknown; });
      std::copy(range.kept.begin(), range.kept.end(), range.begin);
    }
  }
  bool mayWrite(const void *address, size_t bytes) const override {
    auto *begin = static_cast<const std::byte *>(address);
    return std::any_of(ranges.begin(), ranges.end(), [&](const Range &range) {
      return begin < range.begin + range.kept.size() && range.begin < begin + bytes;
    });
  }

  bool hasBeenWritten = false;

private:
  static constexpr std::byte unknown{0xFF};
  struct Range {
    std::byte *begin;
    std::vector<std::byte> kept;
  };
  std::vector<Range> ranges;
};
} // namespace

void FakeDevice::runKernel(const FakeKernel &kernel, const simt::Launch &given,
                           const std::vector<void *> &arguments, bool overlaps, unsigned stream) {
  if (kernelError != CUDA_SUCCESS && kernelsUntilError-- == 0) {
    sticky = kernelError;
    return;
  }
  ++counts.kernels;
  Unfinished unfinished;
  simt::Launch shape = given;
  if (overlaps) {
    for (CUdeviceptr address : beingWritten[stream])
      if (auto found = allocations.find(address); found != allocations.end())
        unfinished.add(address, found->second.bytes);
    shape.before = &unfinished;
  }
  simt::Report report = simt::launch(kernel.kernel, shape, arguments);
  for (const simt::Touched &range : report.touched) {
    auto begin = reinterpret_cast<CUdeviceptr>(range.begin);
    found.push_back({begin, begin + range.bytes, range.writes});
  }
  if (unfinished.hasBeenWritten)
    complain(report.kernel + " writes what a kernel before it may still use: it has not waited");
  for (const simt::Finding &finding : report.findings) {
    complain(report.kernel + ": " + finding.message());
    if (sticky == CUDA_SUCCESS)
      sticky = errorOf(finding.defect);
  }
}
