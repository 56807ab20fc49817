#include "runtime/Device/Cuda/NcclRanks.h"
#include "runtime/Device/Cuda/NcclApi.h"
#include <cassert>
#include <sched.h>

namespace sinter::runtime::cuda {
namespace {

void *pointer(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

ncclConfig_t makeConfig() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

} // namespace

Expected<std::unique_ptr<NcclRanks>> NcclRanks::open(const CudaContext &context,
                                                     Communicator &control) {
  SINTER_TRY(const NcclApi *api, ncclApi());
  std::unique_ptr<NcclRanks> ranks(new NcclRanks(context, control, *api));
  SINTER_CHECK(ranks->start());
  return ranks;
}

Expected<void> NcclRanks::start() {
  RankGroup whole = makeWholeGroup(control);
  all = whole.ranks;
  ncclUniqueId own{};
  if (control.getRank() == 0)
    SINTER_CHECK(settle(api.ncclGetUniqueId(&own), nullptr, "ncclGetUniqueId"));
  std::vector<ncclUniqueId> drawn(control.size());
  SINTER_CHECK(control.allGather(whole, std::as_bytes(std::span(&own, 1)),
                                 std::as_writable_bytes(std::span(drawn))));
  ncclConfig_t config = makeConfig();
  Group root{};
  ncclResult_t begun =
      api.ncclCommInitRankConfig(&root.communicator, static_cast<int>(control.size()),
                                 drawn.front(), static_cast<int>(control.getRank()), &config);
  if (root.communicator)
    groups.emplace(all, root);
  return settle(begun, root.communicator, "ncclCommInitRankConfig");
}

NcclRanks::~NcclRanks() {
  // Those that were split go before what they were split from.
  for (bool splits : {true, false})
    for (auto &[ranks, group] : groups) {
      if (aborted || (ranks != all) != splits)
        continue;
      for (void *registration : group.registrations)
        api.ncclCommDeregister(group.communicator, registration);
      api.ncclCommDestroy(group.communicator);
    }
}

tl::unexpected<Error> NcclRanks::describe(int result, ncclComm *communicator,
                                          const char *call) const {
  auto code = static_cast<ncclResult_t>(result);
  std::string why = api.ncclGetErrorString(code);
  if (const char *last = api.ncclGetLastError(communicator); last && *last)
    why += std::string(" (") + last + ")";
  return fail(std::string("NCCL, ") + call, why,
              "see which rank has ended, and whether the network is up; NCCL_DEBUG=WARN says more");
}

Expected<void> NcclRanks::settle(int result, ncclComm *communicator, const char *call) const {
  auto code = static_cast<ncclResult_t>(result);
  while (code == ncclInProgress) {
    if (std::optional<Error> failed = control.getFailure())
      return tl::unexpected(std::move(*failed));
    ::sched_yield();
    if (ncclResult_t asked = api.ncclCommGetAsyncError(communicator, &code); asked != ncclSuccess)
      code = asked;
  }
  return code == ncclSuccess ? Expected<void>() : describe(code, communicator, call);
}

Expected<ncclComm *> NcclRanks::findGroup(const RankGroup &group) {
  auto known = groups.find(group.ranks);
  if (known != groups.end())
    return known->second.communicator;
  // The ranks of one group name it by their first one.
  ncclComm *root = groups.at(all).communicator;
  ncclConfig_t config = makeConfig();
  Group split{};
  ncclResult_t begun =
      api.ncclCommSplit(root, static_cast<int>(group.ranks.front()), static_cast<int>(group.place),
                        &split.communicator, &config);
  SINTER_CHECK(settle(begun, root, "ncclCommSplit"));
  groups.emplace(group.ranks, split);
  SINTER_CHECK(settle(ncclInProgress, split.communicator, "ncclCommSplit"));
  return split.communicator;
}

Expected<NcclCollective> NcclRanks::bind(const fb::Collective &collective, const RankGroup &group,
                                         CUdeviceptr source, CUdeviceptr out) {
  assert(group.size() > 1 && collective.kind() != fb::CollectiveKind::AllSlice);
  SINTER_TRY(ncclComm * communicator, findGroup(group));
  return NcclCollective{collective.kind(),
                        static_cast<DType>(collective.dtype()),
                        communicator,
                        group.size(),
                        source,
                        out,
                        collective.source()->bytes(),
                        collective.out()->bytes()};
}

Expected<void> NcclRanks::registerMemory(CUdeviceptr begin, uint64_t bytes) {
  if (bytes == 0)
    return {};
  for (auto &[ranks, group] : groups) {
    void *registration = nullptr;
    SINTER_CHECK(
        settle(api.ncclCommRegister(group.communicator, pointer(begin), bytes, &registration),
               group.communicator, "ncclCommRegister"));
    group.registrations.push_back(registration);
  }
  return {};
}

Expected<void> NcclRanks::enqueue(const NcclCollective &collective, CUstream stream) const {
  ncclComm *group = collective.group;
  void *source = pointer(collective.source), *out = pointer(collective.out);
  switch (collective.kind) {
  case fb::CollectiveKind::AllGather:
    return settle(api.ncclAllGather(source, out, collective.sourceBytes, ncclUint8, group, stream),
                  group, "ncclAllGather");
  case fb::CollectiveKind::AllReduce: {
    bool wide = collective.dtype == DType::F64;
    return settle(api.ncclAllReduce(source, out, collective.outBytes / sizeOf(collective.dtype),
                                    wide ? ncclFloat64 : ncclFloat32, ncclSum, group, stream),
                  group, "ncclAllReduce");
  }
  case fb::CollectiveKind::AllToAll: {
    uint64_t bytes = collective.sourceBytes / collective.ranks;
    SINTER_CHECK(settle(api.ncclGroupStart(), group, "ncclGroupStart"));
    for (size_t place = 0; place < collective.ranks; ++place) {
      void *part = pointer(collective.source + place * bytes);
      void *into = pointer(collective.out + place * bytes);
      int peer = static_cast<int>(place);
      SINTER_CHECK(
          settle(api.ncclSend(part, bytes, ncclUint8, peer, group, stream), group, "ncclSend"));
      SINTER_CHECK(
          settle(api.ncclRecv(into, bytes, ncclUint8, peer, group, stream), group, "ncclRecv"));
    }
    return settle(api.ncclGroupEnd(), group, "ncclGroupEnd");
  }
  case fb::CollectiveKind::AllSlice:
    break;
  }
  assert(false && "a slice sends nothing");
  return {};
}

void NcclRanks::abort() {
  for (auto &[ranks, group] : groups)
    if (!aborted)
      api.ncclCommAbort(group.communicator);
  aborted = true;
}

Expected<void> NcclRanks::wait() {
  while (true) {
    CUresult result = context.getApi().cuStreamQuery(context.getStream());
    if (result != CUDA_ERROR_NOT_READY)
      return context.check(result, "");
    if (std::optional<Error> failed = control.getFailure()) {
      abort();
      return tl::unexpected(std::move(*failed));
    }
    for (auto &[ranks, group] : groups) {
      ncclResult_t found = ncclSuccess;
      api.ncclCommGetAsyncError(group.communicator, &found);
      if (found == ncclSuccess || found == ncclInProgress)
        continue;
      tl::unexpected<Error> error = describe(found, group.communicator, "a collective");
      abort();
      return error;
    }
    ::sched_yield();
  }
}

} // namespace sinter::runtime::cuda
