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
#include "runtime/Device/Cuda/CudaContext.h"
#include "runtime/Format/Executable_generated.h"
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

class NcclRanks {
public:
  /// All ranks at once, each with its own GPU's context current. `control` outlives it. Errors: no
  /// NCCL, or what NCCL says of the machine.
  static Expected<std::unique_ptr<NcclRanks>> open(const CudaContext &context,
                                                   Communicator &control);
  /// Waits for no other rank where the run has been given up. @pre graphs with collectives are gone
  ~NcclRanks();
  NcclRanks(const NcclRanks &) = delete;
  NcclRanks &operator=(const NcclRanks &) = delete;

  /// Makes a collective ready. The first one of a group is itself a collective: it splits.
  /// @pre the group has several ranks, and something is sent
  Expected<NcclCollective> bind(const fb::Collective &collective, const RankGroup &group,
                                CUdeviceptr source, CUdeviceptr out);

  /// Tells all communicators of memory that collectives move to and from, once it is there and they
  /// are. It stays until the ranks are gone.
  Expected<void> registerMemory(CUdeviceptr begin, uint64_t bytes);

  /// Puts a collective into a stream.
  Expected<void> enqueue(const NcclCollective &collective, CUstream stream) const;

  /// Waits until all that the context's stream was given is done. Fails where the run is given up
  /// meanwhile, with why.
  Expected<void> wait();

private:
  struct Group {
    ncclComm *communicator;
    std::vector<void *> registrations;
  };

  NcclRanks(const CudaContext &context, Communicator &control, const NcclApi &api)
      : context(context), control(control), api(api) {}
  Expected<void> start();
  Expected<ncclComm *> findGroup(const RankGroup &group);
  /// Asks again for as long as a call goes on.
  Expected<void> settle(int result, ncclComm *communicator, const char *call) const;
  tl::unexpected<Error> describe(int result, ncclComm *communicator, const char *call) const;
  void abort();

  const CudaContext &context;
  Communicator &control;
  const NcclApi &api;
  std::map<std::vector<size_t>, Group> groups; ///< by their ranks
  std::vector<size_t> all;                     ///< the root's
  bool aborted = false;
};

} // namespace sinter::runtime::cuda
