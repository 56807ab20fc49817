#include "test/unit/cuda/TestDriver.h"
#include <cassert>
#include <cstdlib>
#include <cstring>

namespace sinter::runtime::cuda::testing {
namespace {

TestDriver *installed = nullptr;

// Handles are addresses of these.
struct Event {
  double time = 0;
};
struct Graph {
  std::vector<TestDriver::Operation> operations;
};

template <typename Handle, typename T> Handle toHandle(T *object) {
  return reinterpret_cast<Handle>(object);
}

void *memoryAt(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

} // namespace

TestDriver &TestDriver::get() {
  assert(installed);
  return *installed;
}

CUresult TestDriver::begin(const char *function) {
  ++counts[function];
  auto failure = failures.find(function);
  if (failure != failures.end() && failure->second.after-- == 0) {
    CUresult result = failure->second.result;
    failures.erase(failure);
    return result;
  }
  return sticky;
}

void TestDriver::drain() {
  // Operations may not add any.
  for (const Operation &operation : queue) {
    if (sticky != CUDA_SUCCESS)
      break;
    clock += 1e-3;
    operation();
  }
  queue.clear();
}

#define SINTER_BEGIN(name)                                                                         \
  TestDriver &driver = TestDriver::get();                                                          \
  if (CUresult result = driver.begin(#name); result != CUDA_SUCCESS)                               \
    return result;

// The table's functions.
struct Calls {
  static CUresult getVersion(int *version) {
    *version = TestDriver::get().version;
    return CUDA_SUCCESS;
  }
  static CUresult initialize(unsigned) {
    SINTER_BEGIN(cuInit)
    return CUDA_SUCCESS;
  }
  static CUresult getErrorName(CUresult error, const char **text) {
    *text = error == CUDA_ERROR_OUT_OF_MEMORY     ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                                  : nullptr;
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  static CUresult getErrorString(CUresult error, const char **text) {
    *text =
        error == CUDA_ERROR_ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : nullptr;
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  static CUresult getDeviceCount(int *count) {
    SINTER_BEGIN(cuDeviceGetCount)
    *count = driver.devices;
    return CUDA_SUCCESS;
  }
  static CUresult getDevice(CUdevice *device, int ordinal) {
    SINTER_BEGIN(cuDeviceGet)
    *device = ordinal;
    return CUDA_SUCCESS;
  }
  static CUresult getDeviceName(char *name, int bytes, CUdevice) {
    SINTER_BEGIN(cuDeviceGetName)
    std::strncpy(name, "Test GPU", size_t(bytes));
    return CUDA_SUCCESS;
  }
  static CUresult getAttribute(int *value, CUdevice_attribute attribute, CUdevice) {
    SINTER_BEGIN(cuDeviceGetAttribute)
    *value =
        attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? driver.major : driver.minor;
    return CUDA_SUCCESS;
  }
  static CUresult retain(CUcontext *context, CUdevice) {
    SINTER_BEGIN(cuDevicePrimaryCtxRetain)
    ++driver.contexts;
    *context = toHandle<CUcontext>(&driver);
    return CUDA_SUCCESS;
  }
  static CUresult release(CUdevice) {
    --TestDriver::get().contexts;
    return CUDA_SUCCESS;
  }
  static CUresult push(CUcontext) {
    ++TestDriver::get().current;
    return CUDA_SUCCESS;
  }
  static CUresult pop(CUcontext *context) {
    TestDriver &driver = TestDriver::get();
    assert(driver.current > 0);
    --driver.current;
    *context = toHandle<CUcontext>(&driver);
    return CUDA_SUCCESS;
  }
  static CUresult getInfo(size_t *free, size_t *total) {
    SINTER_BEGIN(cuMemGetInfo)
    assert(driver.current > 0);
    *total = driver.capacity;
    *free = driver.capacity - driver.reserved;
    return CUDA_SUCCESS;
  }
  static CUresult createPool(CUmemoryPool *pool, const CUmemPoolProps *) {
    SINTER_BEGIN(cuMemPoolCreate)
    ++driver.pools;
    *pool = toHandle<CUmemoryPool>(&driver);
    return CUDA_SUCCESS;
  }
  static CUresult destroyPool(CUmemoryPool) {
    --TestDriver::get().pools;
    return CUDA_SUCCESS;
  }
  static CUresult setPoolAttribute(CUmemoryPool, CUmemPool_attribute, void *) {
    SINTER_BEGIN(cuMemPoolSetAttribute)
    return CUDA_SUCCESS;
  }
  static CUresult getPoolAttribute(CUmemoryPool, CUmemPool_attribute attribute, void *value) {
    TestDriver &driver = TestDriver::get();
    const std::map<CUmemPool_attribute, uint64_t> values = {
        {CU_MEMPOOL_ATTR_USED_MEM_CURRENT, driver.used},
        {CU_MEMPOOL_ATTR_USED_MEM_HIGH, driver.usedHigh},
        {CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, driver.reserved},
        {CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, driver.reservedHigh}};
    *static_cast<cuuint64_t *>(value) = values.at(attribute);
    return CUDA_SUCCESS;
  }
  static CUresult trimPool(CUmemoryPool, size_t) {
    SINTER_BEGIN(cuMemPoolTrimTo)
    driver.reserved = driver.used;
    return CUDA_SUCCESS;
  }
  // Memory comes at once; it is given back in the stream's order.
  static CUresult allocate(CUdeviceptr *address, size_t bytes, CUmemoryPool, CUstream) {
    SINTER_BEGIN(cuMemAllocFromPoolAsync)
    assert(!driver.capturing);
    if (driver.used + bytes > driver.capacity)
      return CUDA_ERROR_OUT_OF_MEMORY;
    void *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    std::memset(memory, 0xee, bytes);
    *address = reinterpret_cast<CUdeviceptr>(memory);
    driver.blocks[*address] = {memory, bytes};
    driver.used += bytes;
    driver.usedHigh = std::max(driver.usedHigh, driver.used);
    driver.reserved = std::max(driver.reserved, driver.used);
    driver.reservedHigh = std::max(driver.reservedHigh, driver.reserved);
    return CUDA_SUCCESS;
  }
  static CUresult free(CUdeviceptr address, CUstream) {
    TestDriver &driver = TestDriver::get();
    auto release = [&driver, address] {
      auto block = driver.blocks.find(address);
      assert(block != driver.blocks.end());
      driver.used -= block->second.second;
      std::free(block->second.first);
      driver.blocks.erase(block);
    };
    if (driver.sticky == CUDA_SUCCESS)
      driver.enqueue(release);
    else
      release();
    return CUDA_SUCCESS;
  }
  static CUresult allocateHost(void **address, size_t bytes, unsigned) {
    SINTER_BEGIN(cuMemHostAlloc)
    *address = std::malloc(bytes + 8);
    std::memcpy(*address, &bytes, 8);
    *address = static_cast<std::byte *>(*address) + 8;
    driver.pinned += bytes;
    return CUDA_SUCCESS;
  }
  static CUresult freeHost(void *address) {
    uint64_t bytes;
    std::byte *begin = static_cast<std::byte *>(address) - 8;
    std::memcpy(&bytes, begin, 8);
    TestDriver::get().pinned -= bytes;
    std::free(begin);
    return CUDA_SUCCESS;
  }
  static CUresult copyIn(CUdeviceptr out, const void *source, size_t bytes, CUstream) {
    SINTER_BEGIN(cuMemcpyHtoDAsync)
    driver.enqueue([=] { std::memcpy(memoryAt(out), source, bytes); });
    return CUDA_SUCCESS;
  }
  static CUresult copyOut(void *out, CUdeviceptr source, size_t bytes, CUstream) {
    SINTER_BEGIN(cuMemcpyDtoHAsync)
    driver.enqueue([=] { std::memcpy(out, memoryAt(source), bytes); });
    return CUDA_SUCCESS;
  }
  static CUresult copy(CUdeviceptr out, CUdeviceptr source, size_t bytes, CUstream) {
    SINTER_BEGIN(cuMemcpyDtoDAsync)
    driver.enqueue([=] { std::memcpy(memoryAt(out), memoryAt(source), bytes); });
    return CUDA_SUCCESS;
  }
  static CUresult fill(CUdeviceptr out, unsigned char value, size_t bytes, CUstream) {
    SINTER_BEGIN(cuMemsetD8Async)
    driver.enqueue([=] { std::memset(memoryAt(out), value, bytes); });
    return CUDA_SUCCESS;
  }
  static CUresult createStream(CUstream *stream, unsigned) {
    SINTER_BEGIN(cuStreamCreate)
    ++driver.streams;
    *stream = toHandle<CUstream>(&driver);
    return CUDA_SUCCESS;
  }
  static CUresult destroyStream(CUstream) {
    TestDriver::get().drain();
    --TestDriver::get().streams;
    return CUDA_SUCCESS;
  }
  static CUresult synchronize(CUstream) {
    SINTER_BEGIN(cuStreamSynchronize)
    if (driver.capturing) {
      driver.spoilt = true;
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    driver.drain();
    return driver.sticky;
  }
  static CUresult createEvent(CUevent *event, unsigned) {
    SINTER_BEGIN(cuEventCreate)
    ++driver.events;
    *event = toHandle<CUevent>(new Event);
    return CUDA_SUCCESS;
  }
  static CUresult destroyEvent(CUevent event) {
    TestDriver::get().drain();
    --TestDriver::get().events;
    delete reinterpret_cast<Event *>(event);
    return CUDA_SUCCESS;
  }
  static CUresult record(CUevent event, CUstream) {
    SINTER_BEGIN(cuEventRecord)
    driver.enqueue([event, &driver] { reinterpret_cast<Event *>(event)->time = driver.clock; });
    return CUDA_SUCCESS;
  }
  static CUresult waitEvent(CUevent) {
    SINTER_BEGIN(cuEventSynchronize)
    driver.drain();
    return driver.sticky;
  }
  static CUresult elapsed(float *milliseconds, CUevent begin, CUevent end) {
    SINTER_BEGIN(cuEventElapsedTime)
    *milliseconds =
        float(reinterpret_cast<Event *>(end)->time - reinterpret_cast<Event *>(begin)->time);
    return CUDA_SUCCESS;
  }
  // Machine code is a text that begins with "cubin" and names its kernels.
  static CUresult load(CUlibrary *library, const void *code, CUjit_option *, void **, unsigned,
                       CUlibraryOption *, void **, unsigned) {
    SINTER_BEGIN(cuLibraryLoadData)
    auto *text = static_cast<const char *>(code);
    if (std::strncmp(text, "cubin", 5) != 0)
      return CUDA_ERROR_NO_BINARY_FOR_GPU;
    ++driver.libraries;
    *library = toHandle<CUlibrary>(new std::string(text));
    return CUDA_SUCCESS;
  }
  static CUresult unload(CUlibrary library) {
    --TestDriver::get().libraries;
    delete reinterpret_cast<std::string *>(library);
    return CUDA_SUCCESS;
  }
  static CUresult getKernel(CUkernel *kernel, CUlibrary library, const char *name) {
    SINTER_BEGIN(cuLibraryGetKernel)
    if (reinterpret_cast<std::string *>(library)->find(name) == std::string::npos ||
        !driver.kernels.contains(name))
      return CUDA_ERROR_NOT_FOUND;
    *kernel = toHandle<CUkernel>(const_cast<std::string *>(&*driver.names.insert(name).first));
    return CUDA_SUCCESS;
  }
  static CUresult setKernelAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                                     CUdevice) {
    SINTER_BEGIN(cuKernelSetAttribute)
    assert(attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    driver.sharedLimits[*reinterpret_cast<std::string *>(kernel)] = value;
    return CUDA_SUCCESS;
  }
  static CUresult launch(CUfunction function, unsigned gridX, unsigned, unsigned, unsigned blockX,
                         unsigned, unsigned, unsigned sharedBytes, CUstream, void **parameters,
                         void **) {
    SINTER_BEGIN(cuLaunchKernel)
    assert(driver.current > 0 && gridX > 0 && blockX > 0);
    const auto &entry = driver.kernels.at(*reinterpret_cast<std::string *>(function));
    // The driver takes the values at the call, not when the kernel runs.
    LaunchArguments arguments{{}, gridX, blockX, sharedBytes};
    for (size_t i = 0; i < entry.pointers; ++i)
      arguments.pointers.push_back(memoryAt(*static_cast<CUdeviceptr *>(parameters[i])));
    if (driver.capturing && !driver.mayCapture) {
      driver.spoilt = true;
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    driver.enqueue([&entry, arguments] { entry.function(arguments); });
    return CUDA_SUCCESS;
  }
  static CUresult beginCapture(CUstream, CUstreamCaptureMode) {
    SINTER_BEGIN(cuStreamBeginCapture)
    driver.capturing = true;
    driver.spoilt = false;
    driver.captured.clear();
    return CUDA_SUCCESS;
  }
  static CUresult endCapture(CUstream, CUgraph *graph) {
    TestDriver::get().capturing = false; // whatever comes of it
    SINTER_BEGIN(cuStreamEndCapture)
    if (driver.spoilt)
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    ++driver.graphs;
    *graph = toHandle<CUgraph>(new Graph{std::move(driver.captured)});
    return CUDA_SUCCESS;
  }
  static CUresult instantiate(CUgraphExec *executable, CUgraph graph, unsigned long long) {
    SINTER_BEGIN(cuGraphInstantiate)
    ++driver.graphs;
    *executable = toHandle<CUgraphExec>(new Graph(*reinterpret_cast<Graph *>(graph)));
    return CUDA_SUCCESS;
  }
  static CUresult destroyGraph(CUgraph graph) {
    --TestDriver::get().graphs;
    delete reinterpret_cast<Graph *>(graph);
    return CUDA_SUCCESS;
  }
  static CUresult destroyExecutable(CUgraphExec graph) {
    --TestDriver::get().graphs;
    delete reinterpret_cast<Graph *>(graph);
    return CUDA_SUCCESS;
  }
  static CUresult uploadGraph(CUgraphExec, CUstream) {
    SINTER_BEGIN(cuGraphUpload)
    return CUDA_SUCCESS;
  }
  static CUresult launchGraph(CUgraphExec graph, CUstream) {
    SINTER_BEGIN(cuGraphLaunch)
    for (const TestDriver::Operation &operation : reinterpret_cast<Graph *>(graph)->operations)
      driver.enqueue(operation);
    return CUDA_SUCCESS;
  }
};

TestDriver::TestDriver() {
  assert(!installed);
  installed = this;
  table.cuInit = Calls::initialize;
  table.cuDriverGetVersion = Calls::getVersion;
  table.cuGetErrorName = Calls::getErrorName;
  table.cuGetErrorString = Calls::getErrorString;
  table.cuDeviceGetCount = Calls::getDeviceCount;
  table.cuDeviceGet = Calls::getDevice;
  table.cuDeviceGetName = Calls::getDeviceName;
  table.cuDeviceGetAttribute = Calls::getAttribute;
  table.cuDevicePrimaryCtxRetain = Calls::retain;
  table.cuDevicePrimaryCtxRelease = Calls::release;
  table.cuCtxPushCurrent = Calls::push;
  table.cuCtxPopCurrent = Calls::pop;
  table.cuMemGetInfo = Calls::getInfo;
  table.cuMemPoolCreate = Calls::createPool;
  table.cuMemPoolDestroy = Calls::destroyPool;
  table.cuMemPoolSetAttribute = Calls::setPoolAttribute;
  table.cuMemPoolGetAttribute = Calls::getPoolAttribute;
  table.cuMemPoolTrimTo = Calls::trimPool;
  table.cuMemAllocFromPoolAsync = Calls::allocate;
  table.cuMemFreeAsync = Calls::free;
  table.cuMemHostAlloc = Calls::allocateHost;
  table.cuMemFreeHost = Calls::freeHost;
  table.cuMemcpyHtoDAsync = Calls::copyIn;
  table.cuMemcpyDtoHAsync = Calls::copyOut;
  table.cuMemcpyDtoDAsync = Calls::copy;
  table.cuMemsetD8Async = Calls::fill;
  table.cuStreamCreate = Calls::createStream;
  table.cuStreamDestroy = Calls::destroyStream;
  table.cuStreamSynchronize = Calls::synchronize;
  table.cuEventCreate = Calls::createEvent;
  table.cuEventDestroy = Calls::destroyEvent;
  table.cuEventRecord = Calls::record;
  table.cuEventSynchronize = Calls::waitEvent;
  table.cuEventElapsedTime = Calls::elapsed;
  table.cuLibraryLoadData = Calls::load;
  table.cuLibraryUnload = Calls::unload;
  table.cuLibraryGetKernel = Calls::getKernel;
  table.cuKernelSetAttribute = Calls::setKernelAttribute;
  table.cuLaunchKernel = Calls::launch;
  table.cuStreamBeginCapture = Calls::beginCapture;
  table.cuStreamEndCapture = Calls::endCapture;
  table.cuGraphInstantiate = Calls::instantiate;
  table.cuGraphDestroy = Calls::destroyGraph;
  table.cuGraphUpload = Calls::uploadGraph;
  table.cuGraphLaunch = Calls::launchGraph;
  table.cuGraphExecDestroy = Calls::destroyExecutable;
  installCudaApi(&table);
}

TestDriver::~TestDriver() {
  installCudaApi(nullptr);
  installed = nullptr;
}

} // namespace sinter::runtime::cuda::testing
