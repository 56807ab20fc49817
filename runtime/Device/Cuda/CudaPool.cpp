#include "runtime/Device/Cuda/CudaPool.h"
#include <cstring>
#include <limits>

namespace sinter::runtime::cuda {

DeviceMemory::~DeviceMemory() {
  if (base)
    context->getApi().cuMemFreeAsync(base, context->getStream());
}

Expected<std::unique_ptr<CudaPool>> CudaPool::create(const CudaContext &context) {
  std::unique_ptr<CudaPool> result(new CudaPool(context));
  CUmemPoolProps properties = {};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = context.getDevice();
  const CudaApi &api = context.getApi();
  const std::string what = "the memory pool of " + context.getName();
  SINTER_CHECK(context.check(api.cuMemPoolCreate(&result->pool, &properties), what));
  cuuint64_t keep = std::numeric_limits<cuuint64_t>::max();
  SINTER_CHECK(context.check(
      api.cuMemPoolSetAttribute(result->pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep), what));
  return result;
}

CudaPool::~CudaPool() {
  if (pool)
    context.getApi().cuMemPoolDestroy(pool);
}

Expected<DeviceMemory> CudaPool::allocate(uint64_t bytes, const char *owner) const {
  DeviceMemory memory;
  if (bytes == 0)
    return memory;
  CUdeviceptr address = 0;
  SINTER_CHECK(context.check(
      context.getApi().cuMemAllocFromPoolAsync(&address, bytes, pool, context.getStream()),
      std::to_string(bytes) + " bytes of " + context.getName() + " for " + owner));
  memory.context = &context;
  memory.base = address;
  memory.size = bytes;
  return memory;
}

void CudaPool::trim() const { context.getApi().cuMemPoolTrimTo(pool, 0); }

CudaPool::Statistics CudaPool::getStatistics() const {
  auto get = [&](CUmemPool_attribute attribute) {
    cuuint64_t value = 0;
    context.getApi().cuMemPoolGetAttribute(pool, attribute, &value);
    return uint64_t(value);
  };
  return {get(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), get(CU_MEMPOOL_ATTR_USED_MEM_HIGH),
          get(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), get(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)};
}

PinnedMemory::~PinnedMemory() {
  if (base)
    context->getApi().cuMemFreeHost(base);
}

Expected<PinnedMemory> PinnedMemory::allocate(const CudaContext &context, uint64_t bytes,
                                              const char *owner) {
  PinnedMemory memory;
  if (bytes == 0)
    return memory;
  void *address = nullptr;
  SINTER_CHECK(context.check(context.getApi().cuMemHostAlloc(&address, bytes, 0),
                             std::to_string(bytes) + " bytes of pinned memory for " + owner));
  std::memset(address, 0, bytes);
  memory.context = &context;
  memory.base = static_cast<std::byte *>(address);
  memory.size = bytes;
  return memory;
}

} // namespace sinter::runtime::cuda
