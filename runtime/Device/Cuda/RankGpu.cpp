#include "runtime/Device/Cuda/RankGpu.h"
#include "runtime/Device/Cuda/CudaApi.h"
#include "runtime/Device/Cuda/FindGpu.h"
#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <unistd.h>

namespace sinter::runtime::cuda {
namespace {

/// A text of a size that all ranks agree on.
using Text = std::array<char, 128>;

Text makeText(const std::string &text) {
  Text result{};
  std::copy_n(text.begin(), std::min(text.size(), result.size() - 1), result.begin());
  return result;
}

/// Containers on one machine may have one name each, machines may share a name: both count.
struct Host {
  Text name{}, boot{};

  bool operator==(const Host &) const = default;
};

Host describeHost() {
  Text name{};
  ::gethostname(name.data(), name.size() - 1);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return {name, makeText(boot)};
}

struct Gpu {
  Text model{};
  CUuuid identity{};
};

template <typename T> Expected<std::vector<T>> gather(Communicator &ranks, const T &own) {
  std::vector<T> all(ranks.size());
  SINTER_CHECK(ranks.allGather(makeWholeGroup(ranks), std::as_bytes(std::span(&own, 1)),
                               std::as_writable_bytes(std::span(all))));
  return all;
}

} // namespace

Expected<int> chooseGpu(Communicator &ranks) {
  SINTER_TRY(GpuInfo first, findGpu()); // the driver is there and started
  SINTER_TRY(const CudaApi *api, cudaApi());
  int count = 0;
  if (api->cuDeviceGetCount(&count) != CUDA_SUCCESS || count == 0)
    return fail(first.name, "the NVIDIA driver counts no GPU", "see what nvidia-smi says");
  SINTER_TRY(std::vector<Host> hosts, gather(ranks, describeHost()));
  size_t rank = ranks.getRank();
  auto before =
      std::count(hosts.begin(), hosts.begin() + static_cast<ptrdiff_t>(rank), hosts[rank]);
  int chosen = static_cast<int>(before) % count;

  SINTER_TRY(GpuInfo info, findGpu(chosen));
  Gpu own{makeText(info.name), {}};
  CUdevice device = 0;
  if (api->cuDeviceGet(&device, chosen) != CUDA_SUCCESS ||
      api->cuDeviceGetUuid(&own.identity, device) != CUDA_SUCCESS)
    return fail(info.name, "the NVIDIA driver does not say which GPU it is",
                "see what nvidia-smi says");
  SINTER_TRY(std::vector<Gpu> gpus, gather(ranks, own));
  for (size_t i = 0; i < gpus.size(); ++i) {
    if (gpus[i].model != gpus[0].model)
      return fail("rank " + std::to_string(i),
                  std::string("runs on ") + gpus[i].model.data() + ", and rank 0 on " +
                      gpus[0].model.data() + ", which need not give the same bits",
                  "give all ranks GPUs of one kind");
    for (size_t j = 0; j < i; ++j)
      if (std::memcmp(&gpus[i].identity, &gpus[j].identity, sizeof(CUuuid)) == 0)
        return fail("rank " + std::to_string(i),
                    "would share a GPU with rank " + std::to_string(j) + " on " +
                        hosts[i].name.data(),
                    "start as many ranks on a machine as it has GPUs, or say in "
                    "CUDA_VISIBLE_DEVICES which is whose");
  }
  return chosen;
}

} // namespace sinter::runtime::cuda
