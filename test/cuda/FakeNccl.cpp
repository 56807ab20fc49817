//===- FakeNccl.cpp - Collectives between GPUs that are not there ----------===//
//
// A collective is work of a stream. When its turn comes, a rank posts a message to each of the
// others and takes theirs, both in an order drawn by chance; it is over when all of its own have
// been taken. So a rank that does not come holds up all others, as on GPUs. So does a send, and
// nothing has room for what is on its way: it is over when it has been received. Other streams of
// its GPU go on meanwhile.
//
// The first message between two ranks of a communicator makes a connection: whoever calls has to
// wait until the other one does.
//
//===----------------------------------------------------------------------===//
#include "test/cuda/FakeDevice.h"

#include "runtime/Device/Cuda/NcclApi.h"
#include "test/simt/Arena.h"

#include <algorithm>
#include <cstring>

using namespace sinter;
using namespace sinter::fake;

namespace {

/// Bytes for another rank, where they lie until it has taken them.
struct Message {
  std::string call;
  const std::byte *bytes;
  size_t size;
  bool taken = false;
};

/// What the ranks of a communicator share.
struct Clique {
  size_t size = 0;
  std::map<int, FakeDevice *> joined;
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Message>>> underWay; ///< from, to
  std::set<std::pair<int, int>> called; ///< who has had messages for or from whom
};

/// A rank's wish for a place in a split.
struct Wish {
  int color, key;
  std::shared_ptr<ncclComm> made;
};

} // namespace

/// A communicator as one rank has it.
struct ncclComm {
  FakeDevice *device = nullptr;
  std::shared_ptr<Clique> clique; ///< null until all ranks have split
  int rank = 0;
  bool ready = false, aborted = false;
  size_t splits = 0, registrations = 0;
  std::set<int> awaited; ///< ranks that connections are being made to
};

namespace {

std::map<std::string, std::shared_ptr<Clique>> roots;                    ///< by identifier
std::map<std::pair<const Clique *, size_t>, std::map<int, Wish>> splits; ///< the n-th of a clique
std::map<const ncclComm *, std::shared_ptr<ncclComm>> communicators;

/// What a rank sends and receives at once.
struct Exchange {
  struct Part {
    int peer;
    std::byte *bytes;
    size_t size;
  };
  std::string call;
  std::vector<Part> sends = {}, receives = {};
  std::function<void()> then = [] {}; ///< when all is here
  std::optional<Access> sums = {};    ///< what that writes
};

struct Pending {
  ncclComm_t communicator;
  cudaStream_t stream;
  Exchange exchange;
};

thread_local unsigned groupDepth = 0;
thread_local std::vector<Pending> group;

struct NcclCall : LibraryCall {
  explicit NcclCall(const char *name) : LibraryCall(name, ncclUnhandledCudaError) {}
};
#define SINTER_NCCL_CALL(name)                                                                     \
  NcclCall call(#name);                                                                            \
  if (call.error)                                                                                  \
  return static_cast<ncclResult_t>(call.error)

template <typename List> void shuffle(FakeDevice &device, List &list) {
  std::shuffle(list.begin(), list.end(), device.random);
}

void copy(std::byte *out, const std::byte *in, size_t bytes) {
  std::memmove(out, in, bytes);
  if (simt::Arena::instance().contains(out))
    simt::Arena::instance().copyStates(out, in, bytes);
}

constexpr const char *kMessages = "sends and receives";

/// Runs on the rank's GPU, with the mutex held, which it gives away while it waits.
void run(ncclComm &communicator, Exchange exchange) {
  FakeDevice &own = *communicator.device;
  Clique &clique = *communicator.clique;
  auto waitUntil = [&](auto met) {
    own.waitBeside([&] { return communicator.aborted || (!own.communicationError && met()); });
    return !communicator.aborted;
  };
  ++own.counts.collectives;
  shuffle(own, exchange.sends);
  shuffle(own, exchange.receives);
  std::vector<std::shared_ptr<Message>> posted;
  for (const Exchange::Part &part : exchange.sends) {
    posted.push_back(std::make_shared<Message>(Message{exchange.call, part.bytes, part.size}));
    clique.underWay[{communicator.rank, part.peer}].push_back(posted.back());
  }
  FakeDevice::notify();
  // What has been given up nobody gets any more.
  auto withdraw = [&] {
    for (auto &[ends, queue] : clique.underWay)
      std::erase_if(
          queue, [&](const auto &each) { return std::ranges::find(posted, each) != posted.end(); });
  };
  for (const Exchange::Part &part : exchange.receives) {
    auto &queue = clique.underWay[{part.peer, communicator.rank}];
    if (!waitUntil([&] { return !queue.empty(); }))
      return withdraw();
    Message &message = *queue.front();
    if (message.size != part.size || message.call != exchange.call)
      own.complain("rank " + std::to_string(part.peer) + " sends " + std::to_string(message.size) +
                   " bytes by " + message.call + ", rank " + std::to_string(communicator.rank) +
                   " receives " + std::to_string(part.size) + " by " + exchange.call);
    copy(part.bytes, message.bytes, std::min(part.size, message.size));
    message.taken = true;
    queue.pop_front();
    FakeDevice::notify();
  }
  if (waitUntil(
          [&] { return std::ranges::all_of(posted, [](auto &each) { return each->taken; }); }))
    exchange.then();
  else
    withdraw();
}

ncclResult_t submit(ncclComm_t handle, cudaStream_t on, Exchange exchange) {
  auto found = communicators.find(handle);
  FakeStream *stream = device().stream(reinterpret_cast<CUstream>(on));
  if (found == communicators.end() || !stream)
    return ncclInvalidArgument;
  if (handle->device != &device() || !handle->ready) {
    device().complain(exchange.call + " was called for a communicator that is not ready, or of "
                                      "another GPU than the current one");
    return ncclInvalidUsage;
  }
  std::vector<Access> accesses;
  for (bool writes : {false, true})
    for (const Exchange::Part &part : writes ? exchange.receives : exchange.sends) {
      auto begin = reinterpret_cast<CUdeviceptr>(part.bytes);
      if (writes && exchange.sums)
        continue; // to memory of its own
      if (!device().owns(begin, part.size)) {
        device().complain(exchange.call + " was given memory that is not allocated");
        return ncclInvalidArgument;
      }
      accesses.push_back({begin, begin + part.size, writes});
    }
  if (exchange.sums)
    accesses.push_back(*exchange.sums);
  Clique &clique = *handle->clique;
  if (exchange.call == kMessages)
    for (const auto *parts : {&exchange.sends, &exchange.receives})
      for (const Exchange::Part &part : *parts) {
        clique.called.insert({handle->rank, part.peer});
        if (!clique.called.contains({part.peer, handle->rank}))
          handle->awaited.insert(part.peer);
      }
  // What is captured runs later, and perhaps often.
  bool counts = !stream->capture;
  FakeDevice &own = device();
  own.communicating += counts;
  Work work{exchange.call, std::move(accesses),
            [communicator = found->second, exchange = std::move(exchange), counts, &own] {
              run(*communicator, exchange);
              own.communicating -= counts;
            }};
  work.communicates = true;
  if (own.submit(*stream, std::move(work)) != CUDA_SUCCESS)
    return ncclUnhandledCudaError;
  FakeDevice::notify();
  handle->ready = handle->awaited.empty();
  return handle->ready ? ncclSuccess : ncclInProgress;
}

/// Alone, or as a part of the group of sends and receives.
ncclResult_t submitPart(ncclComm_t communicator, cudaStream_t stream, bool sends,
                        Exchange::Part part) {
  if (groupDepth == 0) {
    Exchange alone{.call = kMessages};
    (sends ? alone.sends : alone.receives).push_back(part);
    ncclResult_t result = submit(communicator, stream, std::move(alone));
    FakeStream *on = device().stream(reinterpret_cast<CUstream>(stream));
    if (sends && on && !on->capture)
      device().runBeside(*on); // who sent it need not wait for it
    return result;
  }
  auto same = std::ranges::find_if(group, [&](const Pending &each) {
    return each.communicator == communicator && each.stream == stream;
  });
  if (same == group.end())
    same = group.insert(group.end(), {communicator, stream, {.call = kMessages}});
  (sends ? same->exchange.sends : same->exchange.receives).push_back(part);
  return ncclSuccess;
}

std::byte *bytesAt(const void *address) {
  return static_cast<std::byte *>(const_cast<void *>(address));
}

size_t sizeOf(ncclDataType_t type) { return type == ncclFloat64 ? 8 : type == ncclFloat32 ? 4 : 1; }

template <typename T>
void addParts(std::byte *sums, const std::vector<std::vector<std::byte>> &parts) {
  for (size_t i = 0; i < parts.front().size() / sizeof(T); ++i) {
    T sum = 0;
    for (const auto &part : parts)
      sum += reinterpret_cast<const T *>(part.data())[i];
    reinterpret_cast<T *>(sums)[i] = sum;
  }
}

/// Gives everyone his place once all ranks of a communicator have split it.
void finishSplit(const Clique &parent, std::map<int, Wish> &wishes) {
  if (wishes.size() != parent.size)
    return;
  std::map<int, std::vector<std::pair<int, int>>> colors; // keys and ranks
  for (const auto &[rank, wish] : wishes)
    colors[wish.color].push_back({wish.key, rank});
  for (auto &[color, members] : colors) {
    if (color == NCCL_SPLIT_NOCOLOR)
      continue;
    std::ranges::sort(members);
    auto clique = std::make_shared<Clique>();
    clique->size = members.size();
    for (size_t i = 0; i < members.size(); ++i) {
      ncclComm &made = *wishes.at(members[i].second).made;
      made.clique = clique;
      made.rank = int(i);
      clique->joined[int(i)] = made.device;
    }
  }
  for (auto &[rank, wish] : wishes)
    wish.made = nullptr;
}

} // namespace

namespace sinter::fake::nccl {

ncclResult_t ncclGetVersion(int *version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
  switch (result) {
  case ncclInvalidUsage:
    return "invalid usage";
  case ncclSystemError:
    return "unhandled system error";
  case ncclRemoteError:
    return "remote process exited or there was a network error";
  default:
    return "an error of the fake";
  }
}
const char *ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  SINTER_NCCL_CALL(ncclGetUniqueId);
  static unsigned drawn = 0;
  *id = {};
  snprintf(id->internal, sizeof(id->internal), "fake %u", ++drawn);
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t *handle, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t *config) {
  SINTER_NCCL_CALL(ncclCommInitRankConfig);
  if (config->blocking != 0)
    device().complain("a communicator that blocks cannot be given up");
  auto &clique = roots[id.internal];
  if (!clique)
    clique = std::make_shared<Clique>();
  clique->size = size_t(size);
  for (const auto &[other, gpu] : clique->joined)
    if (gpu == &device() || other == rank)
      return ncclInvalidUsage;
  clique->joined[rank] = &device();
  auto made = std::make_shared<ncclComm>();
  made->device = &device();
  made->clique = clique;
  made->rank = rank;
  *handle = made.get();
  communicators[made.get()] = std::move(made);
  return ncclInProgress;
}
ncclResult_t ncclCommSplit(ncclComm_t parent, int color, int key, ncclComm_t *handle,
                           ncclConfig_t *config) {
  SINTER_NCCL_CALL(ncclCommSplit);
  if (config->blocking != 0)
    device().complain("a communicator that blocks cannot be given up");
  auto made = std::make_shared<ncclComm>();
  made->device = &device();
  *handle = color == NCCL_SPLIT_NOCOLOR ? nullptr : made.get();
  if (*handle)
    communicators[made.get()] = made;
  auto &wishes = splits[{parent->clique.get(), parent->splits++}];
  wishes[parent->rank] = {color, key, std::move(made)};
  finishSplit(*parent->clique, wishes);
  return ncclInProgress;
}
// What all have come for takes some more time.
ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t *result) {
  SINTER_NCCL_CALL(ncclCommGetAsyncError);
  if (!communicators.contains(communicator))
    return ncclInvalidArgument;
  if (int error = communicator->device->communicationError) {
    *result = static_cast<ncclResult_t>(error);
    return ncclSuccess;
  }
  if (communicator->clique)
    std::erase_if(communicator->awaited, [&](int peer) {
      return communicator->clique->called.contains({peer, communicator->rank});
    });
  if (!communicator->ready)
    communicator->ready = communicator->clique && communicator->awaited.empty() &&
                          communicator->clique->joined.size() == communicator->clique->size &&
                          communicator->device->random() % 2 == 0;
  *result = communicator->ready ? ncclSuccess : ncclInProgress;
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  SINTER_NCCL_CALL(ncclCommDestroy);
  if (communicator->registrations != 0)
    device().complain("a communicator is destroyed that still has memory registered");
  return communicators.erase(communicator) == 1 ? ncclSuccess : ncclInvalidArgument;
}
ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  SINTER_NCCL_CALL(ncclCommAbort);
  communicator->aborted = true;
  FakeDevice::notify();
  return communicators.erase(communicator) == 1 ? ncclSuccess : ncclInvalidArgument;
}
ncclResult_t ncclCommRegister(const ncclComm_t communicator, void *memory, size_t bytes,
                              void **handle) {
  SINTER_NCCL_CALL(ncclCommRegister);
  if (!device().owns(reinterpret_cast<CUdeviceptr>(memory), bytes))
    return ncclInvalidArgument;
  ++communicator->registrations;
  *handle = memory;
  return ncclSuccess;
}
ncclResult_t ncclCommDeregister(const ncclComm_t communicator, void *) {
  SINTER_NCCL_CALL(ncclCommDeregister);
  --communicator->registrations;
  return ncclSuccess;
}

ncclResult_t ncclAllGather(const void *source, void *out, size_t count, ncclDataType_t type,
                           ncclComm_t communicator, cudaStream_t stream) {
  SINTER_NCCL_CALL(ncclAllGather);
  size_t bytes = count * sizeOf(type);
  Exchange exchange{.call = "ncclAllGather"};
  for (int peer = 0; peer < int(communicator->clique->size); ++peer) {
    exchange.sends.push_back({peer, bytesAt(source), bytes});
    exchange.receives.push_back({peer, bytesAt(out) + size_t(peer) * bytes, bytes});
  }
  return submit(communicator, stream, std::move(exchange));
}
ncclResult_t ncclAllReduce(const void *source, void *out, size_t count, ncclDataType_t type,
                           ncclRedOp_t, ncclComm_t communicator, cudaStream_t stream) {
  SINTER_NCCL_CALL(ncclAllReduce);
  size_t bytes = count * sizeOf(type), ranks = communicator->clique->size;
  auto parts = std::make_shared<std::vector<std::vector<std::byte>>>(ranks);
  Exchange exchange{.call = "ncclAllReduce"};
  for (int peer = 0; peer < int(ranks); ++peer) {
    (*parts)[size_t(peer)].resize(bytes);
    exchange.sends.push_back({peer, bytesAt(source), bytes});
    exchange.receives.push_back({peer, (*parts)[size_t(peer)].data(), bytes});
  }
  exchange.then = [=] {
    type == ncclFloat64 ? addParts<double>(bytesAt(out), *parts)
                        : addParts<float>(bytesAt(out), *parts);
    simt::Arena::instance().markInitialised(out, bytes);
  };
  auto sums = reinterpret_cast<CUdeviceptr>(out);
  exchange.sums = Access{sums, sums + bytes, true};
  return submit(communicator, stream, std::move(exchange));
}
ncclResult_t ncclSend(const void *source, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  SINTER_NCCL_CALL(ncclSend);
  return submitPart(communicator, stream, true, {peer, bytesAt(source), count * sizeOf(type)});
}
ncclResult_t ncclRecv(void *out, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  SINTER_NCCL_CALL(ncclRecv);
  return submitPart(communicator, stream, false, {peer, bytesAt(out), count * sizeOf(type)});
}
ncclResult_t ncclGroupStart() {
  SINTER_NCCL_CALL(ncclGroupStart);
  ++groupDepth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  SINTER_NCCL_CALL(ncclGroupEnd);
  if (groupDepth == 0)
    return ncclInvalidUsage;
  if (--groupDepth != 0)
    return ncclSuccess;
  ncclResult_t result = ncclSuccess;
  for (Pending &each : std::exchange(group, {}))
    if (ncclResult_t own = submit(each.communicator, each.stream, std::move(each.exchange));
        own != ncclSuccess)
      result = own; // perhaps still in progress
  return result;
}

} // namespace sinter::fake::nccl

void sinter::fake::installNccl(bool fakes) {
#define SINTER_FAKE_NCCL(name) &nccl::name,
  static const runtime::cuda::NcclApi table = {SINTER_NCCL_FUNCTIONS(SINTER_FAKE_NCCL)};
  runtime::cuda::installNcclApi(fakes ? &table : nullptr);
  roots.clear();
  splits.clear();
  communicators.clear();
}
