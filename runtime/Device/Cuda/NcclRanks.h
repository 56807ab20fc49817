//===- NcclRanks.h - Collectives between the GPUs of ranks ------*- C++ -*-===//
//
// A rank has one GPU. Its collectives are work of a stream as kernels are, ordered by streams and
// events, and captured in the step's graph. NCCL runs them; what begins a run, what is agreed on
// between steps and what watches the ranks stays with the Communicator that the run was started
// with.
//
//   root    one communicator of all ranks, by an identifier that rank 0 draws and all others get
//           over the control communicator
//   groups  split from it when a program first asks for one: all ranks bind the same programs, so
//           all split in the same order
//   links   of a pipeline (PipelineStages.h), split from it beforehand, since ranks bind other
//           programs: two ranks each, the one that sends and the one that receives
//
// A send is over when it has been received; NCCL need not have room for what is on its way. So a
// link has a stream of its own where it is sent: the program goes on, and whoever writes the memory
// again waits for an event behind the send. A communicator does one thing after the other, in the
// order in which it was asked: on one link only what the receiver takes in that order, and nothing
// of the other direction, which might be what the send is waited for with (RanksVerifier.h proves
// of all programs that no rank waits so for itself). While a send waits it keeps multiprocessors
// busy, and so does what waits for all ranks: each link has a few of them at most, so that there
// are always some that compute.
//
// Collectives along several axes may be at work at a time, in streams of their own. Each keeps
// blocks of the GPU busy until all of its ranks have begun it, so that two that begin in one order
// on one rank and in the other on another one could wait for each other for ever. NVIDIA's manual
// ("Using multiple NCCL communicators concurrently") has two ways to be safe, for both of which all
// ranks ask in one order, that of the list of commands here, of one thread, and capture it:
//
//   NCCL 2.26 and newer begin what they are asked for in that order, whatever streams it is in, if
//   NCCL_LAUNCH_ORDER_IMPLICIT is 1, which open() sets. Then it runs side by side with CUDA 12.3
//   (in graphs 12.9), before that one after the other.
//   Where NCCL is older, or the variable 0, each waits for the one before (CudaProgram.h).
//
// Then the first collective that is not over on all of its ranks can always go on: all before it
// are, and what has begun behind it holds no block that it needs, since it has its own.
//
// In a pipeline the variable is not set, and an error where it is, be it by a program without
// stages that the process has opened before: a send behind another one on its link begins when that
// has been received, and what this rank asked for later would wait for it. Its collectives wait for
// each other, if the compiler put them into several streams, which it does not.
//
// Where a rank has several stages, what one sends to another is copied when that receives it, from
// where it still lies.
//
// The first message of a communicator makes a connection, for which both ends have to be there:
// that is done when links are opened, or else a stage would wait for the next one to have computed
// what it waits for.
//
// Nothing may wait forever for a rank that has failed: communicators do not block, so that a call
// that waits for others returns at once and is asked for again; and who waits for a stream asks
// meanwhile whether the run has been given up, by the ranks' watch or by NCCL itself. Then all
// communicators are aborted, which ends the kernels that wait on the GPU.
//
// Not run on a GPU.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Collective/Communicator.h"
#include "runtime/Device/Cuda/CudaEvent.h"
#include "runtime/Format/PipelineStages.h"
#include <deque>
#include <map>

struct ncclComm;

namespace sinter::runtime::cuda {

struct NcclApi;

/// A collective between GPUs, ready for a stream.
struct NcclCollective {
  fb::CollectiveKind kind;
  DType dtype;
  ncclComm *group;
  size_t ranks; ///< of the group
  CUdeviceptr source, out;
  uint64_t sourceBytes, outBytes;
};

/// A link of a pipeline, as one of its two ranks has it.
struct NcclLink {
  ncclComm *communicator = nullptr;    ///< none between two stages of this rank
  std::optional<CudaEvent> ready = {}; ///< what is sent next is there, where this rank sends
  CUstream stream = nullptr;           ///< of what this rank sends
  std::deque<CUdeviceptr> held = {};   ///< what it has sent to itself
  std::vector<void *> registrations = {};
};

/// What goes over a link, ready for a stream.
struct NcclMessage {
  NcclLink *link;
  CUdeviceptr address;
  uint64_t bytes;
};

class NcclRanks {
public:
  /// All ranks at once, each with its own GPU's context current. `control` outlives it. Errors: no
  /// NCCL, or what NCCL says of the machine, or that NCCL_LAUNCH_ORDER_IMPLICIT is set where it
  /// must not be.
  /// @param ordered whether collectives should begin in the order in which they are asked for; not
  /// so in a pipeline
  static Expected<std::unique_ptr<NcclRanks>> open(const CudaContext &context,
                                                   Communicator &control, bool ordered);
  /// @pre graphs with collectives are gone, and end() was called
  ~NcclRanks();
  NcclRanks(const NcclRanks &) = delete;
  NcclRanks &operator=(const NcclRanks &) = delete;

  /// Makes a collective ready. The first one of a group is itself a collective: it splits.
  /// @pre the group has several ranks, and something is sent
  Expected<NcclCollective> bind(const fb::Collective &collective, const RankGroup &group,
                                CUdeviceptr source, CUdeviceptr out);

  /// Opens the links of a pipeline that this rank sends or receives over. All ranks at once.
  /// @param scratch a byte of the GPU's memory. After an error it is in use until end().
  Expected<void> openLinks(const Executable &executable, CUdeviceptr scratch);

  /// Makes what goes over a channel ready. @pre the links are open, and the ranks verified
  NcclMessage bindMessage(uint32_t channel, CUdeviceptr address, uint64_t bytes);

  /// Tells all communicators of memory that collectives move to and from, once it is there and they
  /// are. It stays until the ranks are gone.
  Expected<void> registerMemory(CUdeviceptr begin, uint64_t bytes);

  /// Whether collectives begin in the order in which they are put into streams. Else only one may
  /// be at work at a time.
  bool isOrdered() const { return ordered; }

  /// Puts a collective into a stream.
  Expected<void> enqueue(const NcclCollective &collective, CUstream stream) const;

  /// Begins to send, beside the stream, what that leaves there; `sent` is reached when it has been
  /// received. Not to be captured.
  Expected<void> send(const NcclMessage &message, CUstream stream, const CudaEvent &sent) const;
  /// Puts the arrival of a message into a stream. Not to be captured where this rank sent it.
  Expected<void> receive(const NcclMessage &message, CUstream stream) const;

  /// Waits until all that the context's stream was given is done. Fails where the run is given up
  /// meanwhile, with why.
  Expected<void> wait() { return wait(context.getStream()); }

  /// Waits until nothing is on its way any more. What is not over soon is of a run that has failed,
  /// and given up: ranks that end well have received what they were sent.
  void end();

private:
  struct Group {
    ncclComm *communicator;
    std::vector<void *> registrations;
  };

  NcclRanks(const CudaContext &context, Communicator &control, const NcclApi &api)
      : context(context), control(control), api(api) {}
  Expected<void> start();
  Expected<ncclComm *> findGroup(const RankGroup &group);
  /// Splits the root, which all ranks do at once: those of one color, in the order of `place`;
  /// null for those without one.
  Expected<ncclComm *> split(int color, size_t place, int mostBlocks);
  Expected<void> wait(CUstream stream);
  std::vector<ncclComm *> listCommunicators() const;
  /// Asks again for as long as a call goes on.
  Expected<void> settle(int result, ncclComm *communicator, const char *call) const;
  tl::unexpected<Error> describe(int result, ncclComm *communicator, const char *call) const;
  void abort();

  const CudaContext &context;
  Communicator &control;
  const NcclApi &api;
  std::map<std::vector<size_t>, Group> groups; ///< by their ranks
  std::vector<size_t> all;                     ///< the root's
  std::map<uint32_t, StageLink> channels;      ///< the links that channels belong to
  std::map<StageLink, NcclLink> links;         ///< those of this rank
  bool ordered = false;
  bool aborted = false;
};

} // namespace sinter::runtime::cuda
