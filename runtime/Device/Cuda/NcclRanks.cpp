#include "runtime/Device/Cuda/NcclRanks.h"
#include "runtime/Collective/Grid.h"
#include "runtime/Device/Cuda/NcclApi.h"
#include "runtime/Device/Cuda/NcclMemory.h"
#include <cassert>
#include <chrono>
#include <cstdlib>
#include <sched.h>
#include <set>

namespace sinter::runtime::cuda {
namespace {

/// That knows the variable which makes collectives begin in order.
constexpr int kOldestWithOrder = 22600;

/// How long what has been received may take to be over where it was sent.
constexpr std::chrono::seconds kEndTime(1);

/// The ranks of a link's communicator.
enum LinkEnd : int { Sender, Receiver };

ncclConfig_t makeConfig() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

} // namespace

Expected<std::unique_ptr<NcclRanks>> NcclRanks::open(const CudaContext &context,
                                                     Communicator &control, bool ordered) {
  SINTER_TRY(const NcclApi *api, ncclApi(ordered));
  const char *order = std::getenv(kNcclOrder);
  bool isSet = order && std::string_view(order) == "1";
  // NCCL reads it once in a process: to take it back would change nothing.
  if (isSet && !ordered)
    return fail(kNcclOrder,
                "is 1, with which the stages of a pipeline may wait for each other for ever",
                "unset it, or run the pipeline in a process that has opened no program without "
                "stages");
  std::unique_ptr<NcclRanks> ranks(new NcclRanks(context, control, *api));
  int version = 0;
  ranks->ordered = ordered && isSet && api->ncclGetVersion(&version) == ncclSuccess &&
                   version >= kOldestWithOrder;
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
  for (auto &[key, link] : links)
    if (link.stream) {
      context.getApi().cuStreamSynchronize(link.stream);
      context.getApi().cuStreamDestroy(link.stream);
    }
  for (auto &[key, link] : links) {
    if (aborted || !link.communicator)
      continue;
    for (void *registration : link.registrations)
      api.ncclCommDeregister(link.communicator, registration);
    api.ncclCommDestroy(link.communicator);
  }
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
  SINTER_TRY(ncclComm * communicator,
             split(static_cast<int>(group.ranks.front()), group.place, NCCL_CONFIG_UNDEF_INT));
  groups.emplace(group.ranks, Group{communicator, {}});
  return communicator;
}

Expected<ncclComm *> NcclRanks::split(int color, size_t place, int mostBlocks) {
  ncclComm *root = groups.at(all).communicator, *made = nullptr;
  ncclConfig_t config = makeConfig();
  config.maxCTAs = mostBlocks;
  ncclResult_t begun = api.ncclCommSplit(root, color, static_cast<int>(place), &made, &config);
  SINTER_CHECK(settle(begun, root, "ncclCommSplit"));
  if (!made)
    return nullptr;
  if (Expected<void> ready = settle(ncclInProgress, made, "ncclCommSplit"); !ready) {
    api.ncclCommAbort(made);
    return tl::unexpected(std::move(ready).error());
  }
  return made;
}

Expected<void> NcclRanks::openLinks(const Executable &executable, CUdeviceptr scratch) {
  channels = findLinks(executable.getRoot());
  std::set<StageLink> every; // in an order that all ranks have
  for (const auto &[channel, link] : channels)
    every.insert(link);
  size_t rank = control.getRank();
  for (const StageLink &each : every) {
    size_t sender = findRankOfStage(executable.getRoot(), each.sender, rank);
    size_t receiver = findRankOfStage(executable.getRoot(), each.receiver, rank);
    // Both are at one place of the pipeline, for all ranks, or for none.
    if (sender == receiver) {
      links[each];
      continue;
    }
    bool sends = rank == sender, isOurs = sends || rank == receiver;
    SINTER_TRY(ncclComm * communicator,
               split(isOurs ? static_cast<int>(sender) : NCCL_SPLIT_NOCOLOR,
                     sends ? Sender : Receiver, kMostBlocksOfLink));
    if (!isOurs)
      continue;
    NcclLink &link = links.emplace(each, NcclLink{communicator}).first->second;
    NcclMessage first{&link, scratch, 1};
    SINTER_TRY(CudaEvent sent, CudaEvent::create(context, /*timed=*/false));
    if (sends) {
      SINTER_TRY(CudaEvent ready, CudaEvent::create(context, /*timed=*/false));
      link.ready.emplace(std::move(ready));
      SINTER_CHECK(context.check(
          context.getApi().cuStreamCreate(&link.stream, CU_STREAM_NON_BLOCKING), "a stream"));
      SINTER_CHECK(send(first, context.getStream(), sent));
      SINTER_CHECK(sent.holdUp(context.getStream()));
    } else {
      SINTER_CHECK(receive(first, context.getStream()));
    }
    SINTER_CHECK(wait());
  }
  return {};
}

NcclMessage NcclRanks::bindMessage(uint32_t channel, CUdeviceptr address, uint64_t bytes) {
  return {&links.at(channels.at(channel)), address, bytes};
}

Expected<void> NcclRanks::send(const NcclMessage &message, CUstream stream,
                               const CudaEvent &sent) const {
  NcclLink &link = *message.link;
  if (!link.communicator) {
    link.held.push_back(message.address);
    return {};
  }
  SINTER_CHECK(link.ready->record(stream));
  SINTER_CHECK(link.ready->holdUp(link.stream));
  SINTER_CHECK(settle(api.ncclSend(toPointer(message.address), message.bytes, ncclUint8, Receiver,
                                   link.communicator, link.stream),
                      link.communicator, "ncclSend"));
  return sent.record(link.stream);
}

Expected<void> NcclRanks::receive(const NcclMessage &message, CUstream stream) const {
  NcclLink &link = *message.link;
  ncclComm *communicator = link.communicator;
  if (!communicator) {
    CUdeviceptr source = link.held.front();
    link.held.pop_front();
    return context.check(
        context.getApi().cuMemcpyDtoDAsync(message.address, source, message.bytes, stream), "");
  }
  return settle(api.ncclRecv(toPointer(message.address), message.bytes, ncclUint8, Sender,
                             communicator, stream),
                communicator, "ncclRecv");
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
  auto add = [&](ncclComm *communicator, std::vector<void *> &registrations) -> Expected<void> {
    void *registration = nullptr;
    SINTER_CHECK(settle(api.ncclCommRegister(communicator, toPointer(begin), bytes, &registration),
                        communicator, "ncclCommRegister"));
    registrations.push_back(registration);
    return {};
  };
  for (auto &[ranks, group] : groups)
    SINTER_CHECK(add(group.communicator, group.registrations));
  for (auto &[key, link] : links)
    if (link.communicator)
      SINTER_CHECK(add(link.communicator, link.registrations));
  return {};
}

Expected<void> NcclRanks::enqueue(const NcclCollective &collective, CUstream stream) const {
  ncclComm *group = collective.group;
  void *source = toPointer(collective.source), *out = toPointer(collective.out);
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
      void *part = toPointer(collective.source + place * bytes);
      void *into = toPointer(collective.out + place * bytes);
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

std::vector<ncclComm *> NcclRanks::listCommunicators() const {
  std::vector<ncclComm *> list;
  for (const auto &[ranks, group] : groups)
    list.push_back(group.communicator);
  for (const auto &[key, link] : links)
    if (link.communicator)
      list.push_back(link.communicator);
  return list;
}

void NcclRanks::end() {
  std::vector<CUstream> streams = {context.getStream()};
  for (const auto &[key, link] : links)
    if (link.stream)
      streams.push_back(link.stream);
  auto until = std::chrono::steady_clock::now() + kEndTime;
  for (CUstream stream : streams)
    while (!aborted && context.getApi().cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) {
      if (control.getFailure() || std::chrono::steady_clock::now() > until)
        abort();
      ::sched_yield();
    }
  // What is given up ends soon after, and uses memory until then.
  if (aborted)
    for (CUstream stream : streams)
      context.getApi().cuStreamSynchronize(stream);
}

void NcclRanks::abort() {
  for (ncclComm *communicator : listCommunicators())
    if (!aborted)
      api.ncclCommAbort(communicator);
  aborted = true;
}

Expected<void> NcclRanks::wait(CUstream stream) {
  while (true) {
    CUresult result = context.getApi().cuStreamQuery(stream);
    if (result != CUDA_ERROR_NOT_READY)
      return context.check(result, "");
    if (std::optional<Error> failed = control.getFailure()) {
      abort();
      return tl::unexpected(std::move(*failed));
    }
    for (ncclComm *communicator : listCommunicators()) {
      ncclResult_t found = ncclSuccess;
      api.ncclCommGetAsyncError(communicator, &found);
      if (found == ncclSuccess || found == ncclInProgress)
        continue;
      tl::unexpected<Error> error = describe(found, communicator, "a collective");
      abort();
      return error;
    }
    ::sched_yield();
  }
}

} // namespace sinter::runtime::cuda
