//===- FakeDriver.cpp - The driver's functions, on the host ---------------===//
#include "test/cuda/FakeCubin.h"
#include "test/cuda/FakeDevice.h"

#include "runtime/Base/ContentHash.h"
#include "test/simt/Arena.h"
#include "test/simt/DeviceMemory.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <unistd.h>

using namespace sinter;
using namespace sinter::fake;

namespace {

/// The contexts that are current on this thread. Every GPU has one of its own; those of fakes that
/// are gone may be left here by a thread that never popped them.
thread_local std::vector<CUcontext> contextStack;
CUcontext contextOf(const FakeDevice &device) { return reinterpret_cast<CUcontext>(device.serial); }

bool isContext(CUcontext context) {
  return std::ranges::any_of(
      FakeDevice::all(), [&](const FakeDevice *device) { return contextOf(*device) == context; });
}

std::vector<CUcontext> &currentContexts() {
  std::erase_if(contextStack, [](CUcontext context) { return !isContext(context); });
  return contextStack;
}

/// What is on the stack has changed.
void followContexts() {
  FakeDevice::setCurrent(contextStack.empty() ? 0
                                              : reinterpret_cast<uintptr_t>(contextStack.back()));
}

/// The GPU of that number; null if there is none.
FakeDevice *find(CUdevice ordinal) {
  bool known = ordinal >= 0 && ordinal < device().options.devices;
  return known ? FakeDevice::all()[size_t(ordinal)] : nullptr;
}

/// What every call begins with: the lock, and the errors that it has nothing to do with.
struct DriverCall {
  std::lock_guard<std::recursive_mutex> lock;
  CUresult error;

  explicit DriverCall(const char *name, bool needsContext = true) : lock(device().mutex) {
    error = static_cast<CUresult>(device().enter(name));
    if (error == CUDA_SUCCESS)
      error = device().sticky;
    if (error == CUDA_SUCCESS && needsContext && currentContexts().empty()) {
      device().complain(std::string(name) + " was called on a thread with no current context");
      error = CUDA_ERROR_INVALID_CONTEXT;
    }
  }
};

// The names are those of the source, before CUDA's headers make cuMemGetInfo_v2 of cuMemGetInfo.
#define SINTER_DRIVER_CALL(name)                                                                   \
  DriverCall call(#name);                                                                          \
  if (call.error != CUDA_SUCCESS)                                                                  \
  return call.error
/// A call that needs no current context.
#define SINTER_DRIVER_CALL_ANYWHERE(name)                                                          \
  DriverCall call(#name, false);                                                                   \
  if (call.error != CUDA_SUCCESS)                                                                  \
  return call.error

const std::pair<CUresult, std::pair<const char *, const char *>> errorTexts[] = {
    {CUDA_SUCCESS, {"CUDA_SUCCESS", "no error"}},
    {CUDA_ERROR_INVALID_VALUE, {"CUDA_ERROR_INVALID_VALUE", "invalid argument"}},
    {CUDA_ERROR_OUT_OF_MEMORY, {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}},
    {CUDA_ERROR_NO_DEVICE, {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}},
    {CUDA_ERROR_INVALID_DEVICE, {"CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"}},
    {CUDA_ERROR_NOT_READY, {"CUDA_ERROR_NOT_READY", "device not ready"}},
    {CUDA_ERROR_INVALID_IMAGE, {"CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"}},
    {CUDA_ERROR_INVALID_CONTEXT, {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"}},
    {CUDA_ERROR_NO_BINARY_FOR_GPU,
     {"CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"}},
    {CUDA_ERROR_INVALID_HANDLE, {"CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"}},
    {CUDA_ERROR_NOT_FOUND, {"CUDA_ERROR_NOT_FOUND", "named symbol not found"}},
    {CUDA_ERROR_ILLEGAL_ADDRESS,
     {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}},
    {CUDA_ERROR_MISALIGNED_ADDRESS, {"CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"}},
    {CUDA_ERROR_LAUNCH_TIMEOUT,
     {"CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"}},
    {CUDA_ERROR_LAUNCH_FAILED, {"CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"}},
    {CUDA_ERROR_ECC_UNCORRECTABLE,
     {"CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"}},
    {CUDA_ERROR_DEVICE_UNAVAILABLE,
     {"CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"}},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
     {"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"}},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
     {"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
      "operation failed due to a previous error during capture"}},
    {CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
     {"CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"}},
};

} // namespace

namespace sinter::fake::driver {

//===----------------------------------------------------------------------===//
// The device and its context
//===----------------------------------------------------------------------===//

CUresult cuInit(unsigned) {
  SINTER_DRIVER_CALL_ANYWHERE(cuInit);
  return device().options.devices ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}
CUresult cuDriverGetVersion(int *version) {
  SINTER_DRIVER_CALL_ANYWHERE(cuDriverGetVersion);
  *version = device().options.driverVersion;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char **text) {
  for (const auto &[known, words] : errorTexts)
    if (known == error) {
      *text = words.first;
      return CUDA_SUCCESS;
    }
  *text = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGetErrorString(CUresult error, const char **text) {
  for (const auto &[known, words] : errorTexts)
    if (known == error) {
      *text = words.second;
      return CUDA_SUCCESS;
    }
  *text = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuDeviceGetCount(int *count) {
  SINTER_DRIVER_CALL_ANYWHERE(cuDeviceGetCount);
  *count = device().options.devices;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice *handle, int ordinal) {
  SINTER_DRIVER_CALL_ANYWHERE(cuDeviceGet);
  *handle = ordinal;
  return ordinal < device().options.devices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetName(char *name, int size, CUdevice ordinal) {
  SINTER_DRIVER_CALL_ANYWHERE(cuDeviceGetName);
  if (!find(ordinal))
    return CUDA_ERROR_INVALID_DEVICE;
  snprintf(name, size_t(size), "%s", find(ordinal)->options.name.c_str());
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(size_t *bytes, CUdevice) {
  SINTER_DRIVER_CALL_ANYWHERE(cuDeviceTotalMem);
  *bytes = device().options.memoryBytes;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice) {
  SINTER_DRIVER_CALL_ANYWHERE(cuDeviceGetAttribute);
  const FakeOptions &options = device().options;
  const std::map<CUdevice_attribute, int> values = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, options.major},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, options.minor},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
       int(simt::SharedMemory::mostDynamicBytes)},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 64 << 10},
      {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1}};
  auto found = values.find(attribute);
  *value = found == values.end() ? 0 : found->second;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid(CUuuid *identity, CUdevice ordinal) {
  SINTER_DRIVER_CALL_ANYWHERE(cuDeviceGetUuid);
  if (!find(ordinal))
    return CUDA_ERROR_INVALID_DEVICE;
  *identity = {};
  identity->bytes[0] = char(ordinal + 1);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice ordinal) {
  SINTER_DRIVER_CALL_ANYWHERE(cuDevicePrimaryCtxRetain);
  if (!find(ordinal))
    return CUDA_ERROR_INVALID_DEVICE;
  *context = contextOf(*find(ordinal));
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) {
  DriverCall call("cuDevicePrimaryCtxRelease", false);
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent(CUcontext context) {
  SINTER_DRIVER_CALL_ANYWHERE(cuCtxPushCurrent);
  if (!isContext(context))
    return CUDA_ERROR_INVALID_CONTEXT;
  currentContexts().push_back(context);
  followContexts();
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent(CUcontext *context) {
  DriverCall call("cuCtxPopCurrent",
                  false); // works after an error too, or the next test would begin with it
  if (currentContexts().empty())
    return CUDA_ERROR_INVALID_CONTEXT;
  *context = currentContexts().back();
  currentContexts().pop_back();
  followContexts();
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  SINTER_DRIVER_CALL_ANYWHERE(cuCtxSetCurrent);
  currentContexts().clear();
  if (context)
    currentContexts().push_back(context);
  followContexts();
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

CUresult cuMemGetInfo(size_t *freeBytes, size_t *total) {
  SINTER_DRIVER_CALL(cuMemGetInfo);
  *freeBytes = device().freeBytes();
  *total = device().options.memoryBytes;
  return CUDA_SUCCESS;
}
CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *) {
  SINTER_DRIVER_CALL_ANYWHERE(cuMemPoolCreate);
  *pool = reinterpret_cast<CUmemoryPool>(device().pools.make());
  return CUDA_SUCCESS;
}
CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  SINTER_DRIVER_CALL_ANYWHERE(cuMemPoolDestroy);
  return device().pools.erase(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value) {
  SINTER_DRIVER_CALL_ANYWHERE(cuMemPoolSetAttribute);
  FakePool *pool = device().pools.find(handle);
  if (!pool)
    return CUDA_ERROR_INVALID_HANDLE;
  // A high-water mark can be set back to what there is, to no other value.
  bool zero = *static_cast<cuuint64_t *>(value) == 0;
  if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH && zero)
    pool->mostUsed = pool->used;
  else if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH && zero)
    pool->mostReserved = pool->reserved;
  else if (attribute > CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}
CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value) {
  SINTER_DRIVER_CALL_ANYWHERE(cuMemPoolGetAttribute);
  FakePool *pool = device().pools.find(handle);
  if (!pool)
    return CUDA_ERROR_INVALID_HANDLE;
  const std::map<CUmemPool_attribute, size_t> values = {
      {CU_MEMPOOL_ATTR_USED_MEM_CURRENT, pool->used},
      {CU_MEMPOOL_ATTR_USED_MEM_HIGH, pool->mostUsed},
      {CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, pool->reserved},
      {CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, pool->mostReserved}};
  auto found = values.find(attribute);
  if (found == values.end())
    return CUDA_ERROR_INVALID_VALUE;
  *static_cast<cuuint64_t *>(value) = found->second;
  return CUDA_SUCCESS;
}
CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep) {
  SINTER_DRIVER_CALL_ANYWHERE(cuMemPoolTrimTo);
  FakePool *pool = device().pools.find(handle);
  if (!pool)
    return CUDA_ERROR_INVALID_HANDLE;
  pool->reserved = std::max(pool->used, std::min(pool->reserved, keep));
  return CUDA_SUCCESS;
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool handle,
                                 CUstream on) {
  SINTER_DRIVER_CALL(cuMemAllocFromPoolAsync);
  FakePool *pool = device().pools.find(handle);
  FakeStream *stream = device().stream(on);
  if (!pool || !stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture)
    return device().forbidden(*stream, "cuMemAllocFromPoolAsync");
  CUresult result = device().allocate(*pool, bytes, *address);
  if (result != CUDA_SUCCESS)
    return result;
  // The memory is there once the stream has come so far.
  return device().submit(*stream, {"an allocation", {{*address, *address + bytes, true}}, [] {}});
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream on) {
  SINTER_DRIVER_CALL(cuMemFreeAsync);
  FakeStream *stream = device().stream(on);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture)
    return device().forbidden(*stream, "cuMemFreeAsync");
  return device().release(*stream, address);
}
CUresult cuMemHostAlloc(void **address, size_t bytes, unsigned) {
  SINTER_DRIVER_CALL(cuMemHostAlloc);
  constexpr size_t page = 4096;
  size_t size = (bytes + page - 1) / page * page;
  *address = aligned_alloc(page, size);
  memset(*address, 0xFF, size);
  device().pinnedMemory[*address] = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void *address) {
  DriverCall call("cuMemFreeHost");
  if (!device().pinnedMemory.erase(address))
    return CUDA_ERROR_INVALID_VALUE;
  device().drain(); // the driver waits for the device before the pages go
  free(address);
  return CUDA_SUCCESS;
}

/// Work of a stream that is a copy or a fill of device memory.
static CUresult submitCopy(const char *what, CUstream on, std::initializer_list<Access> accesses,
                           std::function<void()> run) {
  FakeStream *stream = device().stream(on);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  for (const Access &access : accesses)
    if (!device().owns(access.begin, access.end - access.begin)) {
      device().complain(std::string(what) + " was given memory that is not allocated");
      return CUDA_ERROR_INVALID_VALUE;
    }
  return device().submit(*stream, {what, accesses, [run = std::move(run)] {
                                     ++device().counts.copies;
                                     run();
                                   }});
}
static void *at(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

CUresult cuMemcpyHtoDAsync(CUdeviceptr target, const void *source, size_t bytes, CUstream on) {
  SINTER_DRIVER_CALL(cuMemcpyHtoDAsync);
  auto run = [=] { simt::DeviceMemory::upload(at(target), source, bytes); };
  if (device().pinned(source, bytes))
    return submitCopy("cuMemcpyHtoDAsync", on, {{target, target + bytes, true}}, run);
  // Memory that is not pinned is read before the call returns.
  auto *bytesNow = static_cast<const std::byte *>(source);
  return submitCopy("cuMemcpyHtoDAsync", on, {{target, target + bytes, true}},
                    [=, copy = std::vector<std::byte>(bytesNow, bytesNow + bytes)] {
                      simt::DeviceMemory::upload(at(target), copy.data(), bytes);
                    });
}
CUresult cuMemcpyDtoHAsync(void *target, CUdeviceptr source, size_t bytes, CUstream on) {
  SINTER_DRIVER_CALL(cuMemcpyDtoHAsync);
  FakeStream *stream = device().stream(on);
  bool isPinned = device().pinned(target, bytes);
  CUresult result = submitCopy("cuMemcpyDtoHAsync", on, {{source, source + bytes, false}},
                               [=] { simt::DeviceMemory::download(target, at(source), bytes); });
  // To memory that is not pinned the driver copies before the call returns.
  if (result == CUDA_SUCCESS && !isPinned && !stream->capture)
    return device().synchronize(*stream);
  return result;
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream on) {
  SINTER_DRIVER_CALL(cuMemcpyDtoDAsync);
  if (target < source + bytes && source < target + bytes)
    device().complain("cuMemcpyDtoDAsync was given ranges that overlap");
  return submitCopy("cuMemcpyDtoDAsync", on,
                    {{target, target + bytes, true}, {source, source + bytes, false}}, [=] {
                      memmove(at(target), at(source), bytes);
                      simt::Arena::instance().copyStates(at(target), at(source), bytes);
                    });
}
CUresult cuMemsetD8Async(CUdeviceptr target, unsigned char value, size_t bytes, CUstream on) {
  SINTER_DRIVER_CALL(cuMemsetD8Async);
  return submitCopy("cuMemsetD8Async", on, {{target, target + bytes, true}},
                    [=] { simt::DeviceMemory::fill(at(target), value, bytes); });
}
CUresult cuMemsetD32Async(CUdeviceptr target, unsigned value, size_t count, CUstream on) {
  SINTER_DRIVER_CALL(cuMemsetD32Async);
  return submitCopy("cuMemsetD32Async", on, {{target, target + count * 4, true}}, [=] {
    std::vector<unsigned> values(count, value);
    simt::DeviceMemory::upload(at(target), values.data(), count * 4);
  });
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

CUresult cuStreamCreate(CUstream *handle, unsigned) {
  SINTER_DRIVER_CALL(cuStreamCreate);
  FakeStream *stream = device().streams.make();
  stream->id = device().newStreamId();
  *handle = reinterpret_cast<CUstream>(stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream handle) {
  DriverCall call("cuStreamDestroy");
  FakeStream *stream = device().streams.find(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  device().finishThreads(*stream);
  device().progress(*stream, stream->submitted);
  device().streams.erase(handle);
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream handle) {
  SINTER_DRIVER_CALL(cuStreamSynchronize);
  FakeStream *stream = device().stream(handle);
  return stream ? device().synchronize(*stream) : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuStreamQuery(CUstream handle) {
  SINTER_DRIVER_CALL(cuStreamQuery);
  FakeStream *stream = device().stream(handle);
  return stream ? device().query(*stream) : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuStreamWaitEvent(CUstream handle, CUevent awaited, unsigned) {
  SINTER_DRIVER_CALL(cuStreamWaitEvent);
  FakeStream *stream = device().stream(handle);
  FakeEvent *event = device().events.find(awaited);
  return stream && event ? device().wait(*stream, *event) : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuEventCreate(CUevent *handle, unsigned flags) {
  SINTER_DRIVER_CALL(cuEventCreate);
  FakeEvent *event = device().events.make();
  event->timed = !(flags & CU_EVENT_DISABLE_TIMING);
  *handle = reinterpret_cast<CUevent>(event);
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent handle) {
  DriverCall call("cuEventDestroy");
  return device().events.erase(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuEventRecord(CUevent handle, CUstream on) {
  SINTER_DRIVER_CALL(cuEventRecord);
  FakeStream *stream = device().stream(on);
  FakeEvent *event = device().events.find(handle);
  if (!stream || !event)
    return CUDA_ERROR_INVALID_HANDLE;
  device().record(*stream, *event);
  return CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent handle) {
  SINTER_DRIVER_CALL(cuEventSynchronize);
  FakeEvent *event = device().events.find(handle);
  return event ? device().synchronize(*event) : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to) {
  SINTER_DRIVER_CALL(cuEventElapsedTime);
  FakeEvent *first = device().events.find(from), *last = device().events.find(to);
  if (!first || !last || !first->timed || !last->timed)
    return CUDA_ERROR_INVALID_HANDLE;
  for (FakeEvent *event : {first, last})
    if (!event->stream || event->stream->done < event->position)
      return CUDA_ERROR_NOT_READY;
  *milliseconds = std::chrono::duration<float, std::milli>(last->reached - first->reached).count();
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

CUresult cuLibraryLoadData(CUlibrary *handle, const void *code, CUjit_option *, void **, unsigned,
                           CUlibraryOption *, void **, unsigned) {
  SINTER_DRIVER_CALL_ANYWHERE(cuLibraryLoadData);
  auto cubin = readCubin(code);
  if (!cubin)
    return CUDA_ERROR_INVALID_IMAGE;
  const FakeOptions &options = device().options;
  if (!runsOn(cubin->architecture, options.major, options.minor))
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  std::filesystem::path file = options.cache / ("loaded-" + contentHash(cubin->object) + ".so");
  if (!std::filesystem::exists(file)) {
    std::filesystem::create_directories(options.cache);
    std::filesystem::path own = file.string() + "." + std::to_string(getpid());
    std::ofstream(own, std::ios::binary)
        .write(reinterpret_cast<const char *>(cubin->object.data()),
               std::streamsize(cubin->object.size()));
    std::filesystem::rename(own, file);
  }
  auto program = simt::Program::load(file);
  if (!program)
    return CUDA_ERROR_INVALID_IMAGE;
  *handle = reinterpret_cast<CUlibrary>(device().libraries.make({*program, {}}));
  return CUDA_SUCCESS;
}
CUresult cuLibraryUnload(CUlibrary handle) {
  DriverCall call("cuLibraryUnload", false);
  device().drain(); // kernels that are still to run are the library's
  return device().libraries.erase(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuLibraryGetKernel(CUkernel *handle, CUlibrary from, const char *name) {
  SINTER_DRIVER_CALL_ANYWHERE(cuLibraryGetKernel);
  FakeLibrary *library = device().libraries.find(from);
  if (!library)
    return CUDA_ERROR_INVALID_HANDLE;
  auto kernel = library->program.kernel(name);
  if (!kernel)
    return CUDA_ERROR_NOT_FOUND;
  auto &entry = library->kernels[name];
  if (!entry)
    entry = std::make_unique<FakeKernel>(FakeKernel{*kernel});
  *handle = reinterpret_cast<CUkernel>(entry.get());
  return CUDA_SUCCESS;
}

/// The kernel of a handle, or null if no library has it.
static FakeKernel *findKernel(const void *handle) {
  for (const auto &[library, owner] : device().libraries)
    for (const auto &[name, kernel] : owner->kernels)
      if (kernel.get() == handle)
        return kernel.get();
  return nullptr;
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle,
                              CUdevice) {
  SINTER_DRIVER_CALL_ANYWHERE(cuKernelSetAttribute);
  FakeKernel *kernel = findKernel(handle);
  if (!kernel)
    return CUDA_ERROR_INVALID_HANDLE;
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    return CUDA_SUCCESS;
  if (value < 0 || size_t(value) > simt::SharedMemory::mostDynamicBytes)
    return CUDA_ERROR_INVALID_VALUE;
  kernel->sharedAllowed = unsigned(value);
  return CUDA_SUCCESS;
}

static CUresult submitKernel(CUfunction function, const CUlaunchConfig &config, void **parameters) {
  FakeKernel *kernel = findKernel(function);
  FakeStream *stream = device().stream(config.hStream);
  if (!kernel || !stream)
    return CUDA_ERROR_INVALID_HANDLE;
  unsigned others[] = {config.gridDimY, config.gridDimZ, config.blockDimY, config.blockDimZ};
  bool flat = std::all_of(std::begin(others), std::end(others), [](unsigned n) { return n == 1; });
  if (!flat || config.gridDimX == 0 || config.blockDimX == 0 || config.blockDimX > 1024)
    return CUDA_ERROR_INVALID_VALUE;
  if (config.sharedMemBytes > kernel->sharedAllowed) {
    device().complain(
        kernel->kernel.name() + " was launched with " + std::to_string(config.sharedMemBytes) +
        " bytes of dynamic shared memory; it may have " + std::to_string(kernel->sharedAllowed));
    return CUDA_ERROR_INVALID_VALUE;
  }
  // Loading code may wait for all that the device does.
  if (!std::exchange(kernel->loaded, true) && device().communicating != 0)
    device().complain(kernel->kernel.name() +
                      " was launched for the first time beside what waits for other devices");
  std::vector<void *> arguments;
  std::vector<Access> accesses;
  for (size_t i = 0; i < kernel->kernel.arguments(); ++i) {
    arguments.push_back(*static_cast<void **>(parameters[i]));
    auto begin = reinterpret_cast<CUdeviceptr>(arguments.back());
    accesses.push_back({begin, begin + 1, kernel->kernel.writes(i)});
  }
  bool overlaps = false;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute &attribute = config.attrs[i];
    if (attribute.id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
      return CUDA_ERROR_INVALID_VALUE;
    overlaps |= attribute.value.programmaticStreamSerializationAllowed != 0;
  }
  if (overlaps && device().options.major < 9) {
    device().complain(kernel->kernel.name() +
                      " was launched to overlap on a device before compute capability 9.0");
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (overlaps)
    ++device().counts.overlaps;
  simt::Launch shape{config.gridDimX, config.blockDimX, config.sharedMemBytes,
                     device().options.schedule};
  return device().submit(
      *stream, {kernel->kernel.name(), std::move(accesses),
                [kernel, shape, arguments = std::move(arguments), overlaps, id = stream->id] {
                  device().runKernel(*kernel, shape, arguments, overlaps, id);
                },
                /*isKernel=*/true, overlaps});
}

CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ,
                        unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                        CUstream on, void **parameters, void **) {
  SINTER_DRIVER_CALL(cuLaunchKernel);
  return submitKernel(
      function,
      {gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, on, /*attrs=*/nullptr, 0},
      parameters);
}
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
                          void **) {
  SINTER_DRIVER_CALL(cuLaunchKernelEx);
  return submitKernel(function, *config, parameters);
}

//===----------------------------------------------------------------------===//
// Captures and graphs
//===----------------------------------------------------------------------===//

CUresult cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode) {
  SINTER_DRIVER_CALL(cuStreamBeginCapture);
  FakeStream *stream = device().stream(handle);
  return stream ? device().beginCapture(*stream) : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph) {
  SINTER_DRIVER_CALL(cuStreamEndCapture);
  FakeStream *stream = device().stream(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  FakeGraph *made = nullptr;
  CUresult result = device().endCapture(*stream, made);
  *graph = reinterpret_cast<CUgraph>(made);
  return result;
}
CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status) {
  SINTER_DRIVER_CALL(cuStreamIsCapturing);
  FakeStream *stream = device().stream(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  *status = !stream->capture                          ? CU_STREAM_CAPTURE_STATUS_NONE
            : stream->capture->broken != CUDA_SUCCESS ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                                      : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}
CUresult cuGraphInstantiate(CUgraphExec *instance, CUgraph handle, unsigned long long) {
  SINTER_DRIVER_CALL(cuGraphInstantiate);
  FakeGraph *graph = device().graphs.find(handle);
  if (!graph)
    return CUDA_ERROR_INVALID_HANDLE;
  *instance = reinterpret_cast<CUgraphExec>(device().graphInstances.make(*graph));
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph handle) {
  DriverCall call("cuGraphDestroy");
  return device().graphs.erase(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuGraphUpload(CUgraphExec handle, CUstream) {
  SINTER_DRIVER_CALL(cuGraphUpload);
  return device().graphInstances.find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuGraphLaunch(CUgraphExec handle, CUstream on) {
  SINTER_DRIVER_CALL(cuGraphLaunch);
  FakeGraph *graph = device().graphInstances.find(handle);
  FakeStream *stream = device().stream(on);
  if (!graph || !stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture)
    return device().forbidden(*stream, "cuGraphLaunch");
  std::vector<Access> accesses;
  for (const Work &work : graph->work)
    accesses.insert(accesses.end(), work.accesses.begin(), work.accesses.end());
  Work work{"a graph", std::move(accesses), [graph] {
              ++device().counts.graphs;
              device().replay(*graph);
            }};
  work.communicates =
      std::ranges::any_of(graph->work, [](const Work &part) { return part.communicates; });
  return device().submit(*stream, std::move(work));
}
CUresult cuGraphExecDestroy(CUgraphExec handle) {
  DriverCall call("cuGraphExecDestroy");
  device().drain(); // launches that are still to run
  return device().graphInstances.erase(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

} // namespace sinter::fake::driver

const std::vector<NamedFunction> &sinter::fake::driverFunctions() {
#define SINTER_FAKE_DRIVER(name)                                                                   \
  namedFunction<decltype(::name)>(SINTER_FAKE_NAME(name), &driver::name)
  static const std::vector<NamedFunction> functions = {
      SINTER_FAKE_DRIVER(cuInit),
      SINTER_FAKE_DRIVER(cuDriverGetVersion),
      SINTER_FAKE_DRIVER(cuGetErrorName),
      SINTER_FAKE_DRIVER(cuGetErrorString),
      SINTER_FAKE_DRIVER(cuDeviceGetCount),
      SINTER_FAKE_DRIVER(cuDeviceGet),
      SINTER_FAKE_DRIVER(cuDeviceGetName),
      SINTER_FAKE_DRIVER(cuDeviceTotalMem),
      SINTER_FAKE_DRIVER(cuDeviceGetAttribute),
      SINTER_FAKE_DRIVER(cuDeviceGetUuid),
      SINTER_FAKE_DRIVER(cuDevicePrimaryCtxRetain),
      SINTER_FAKE_DRIVER(cuDevicePrimaryCtxRelease),
      SINTER_FAKE_DRIVER(cuCtxPushCurrent),
      SINTER_FAKE_DRIVER(cuCtxPopCurrent),
      SINTER_FAKE_DRIVER(cuCtxSetCurrent),
      SINTER_FAKE_DRIVER(cuMemGetInfo),
      SINTER_FAKE_DRIVER(cuMemPoolCreate),
      SINTER_FAKE_DRIVER(cuMemPoolDestroy),
      SINTER_FAKE_DRIVER(cuMemPoolSetAttribute),
      SINTER_FAKE_DRIVER(cuMemPoolGetAttribute),
      SINTER_FAKE_DRIVER(cuMemPoolTrimTo),
      SINTER_FAKE_DRIVER(cuMemAllocFromPoolAsync),
      SINTER_FAKE_DRIVER(cuMemFreeAsync),
      SINTER_FAKE_DRIVER(cuMemHostAlloc),
      SINTER_FAKE_DRIVER(cuMemFreeHost),
      SINTER_FAKE_DRIVER(cuMemcpyHtoDAsync),
      SINTER_FAKE_DRIVER(cuMemcpyDtoHAsync),
      SINTER_FAKE_DRIVER(cuMemcpyDtoDAsync),
      SINTER_FAKE_DRIVER(cuMemsetD8Async),
      SINTER_FAKE_DRIVER(cuMemsetD32Async),
      SINTER_FAKE_DRIVER(cuStreamCreate),
      SINTER_FAKE_DRIVER(cuStreamDestroy),
      SINTER_FAKE_DRIVER(cuStreamSynchronize),
      SINTER_FAKE_DRIVER(cuStreamQuery),
      SINTER_FAKE_DRIVER(cuStreamWaitEvent),
      SINTER_FAKE_DRIVER(cuEventCreate),
      SINTER_FAKE_DRIVER(cuEventDestroy),
      SINTER_FAKE_DRIVER(cuEventRecord),
      SINTER_FAKE_DRIVER(cuEventSynchronize),
      SINTER_FAKE_DRIVER(cuEventElapsedTime),
      SINTER_FAKE_DRIVER(cuLibraryLoadData),
      SINTER_FAKE_DRIVER(cuLibraryUnload),
      SINTER_FAKE_DRIVER(cuLibraryGetKernel),
      SINTER_FAKE_DRIVER(cuKernelSetAttribute),
      SINTER_FAKE_DRIVER(cuLaunchKernel),
      SINTER_FAKE_DRIVER(cuLaunchKernelEx),
      SINTER_FAKE_DRIVER(cuStreamBeginCapture),
      SINTER_FAKE_DRIVER(cuStreamEndCapture),
      SINTER_FAKE_DRIVER(cuStreamIsCapturing),
      SINTER_FAKE_DRIVER(cuGraphInstantiate),
      SINTER_FAKE_DRIVER(cuGraphDestroy),
      SINTER_FAKE_DRIVER(cuGraphUpload),
      SINTER_FAKE_DRIVER(cuGraphLaunch),
      SINTER_FAKE_DRIVER(cuGraphExecDestroy),
  };
  return functions;
}
