//===- CudaProgram.h - A program, ready for a stream ------------*- C++ -*-===//
//
// The flat form of a program: every slice is an address, every kernel a handle, every product a
// call of the library with its algorithm chosen. A walk over all commands is the eager mode; the
// same walk, captured, is the graph.
//
// Each command goes into the stream that the plan gives it, behind what the plan lets it wait for
// in others: an event is recorded behind every command that another one waits for. In a graph these
// are edges, and the streams parallel branches. A collective also waits for the one before where
// NCCL would not begin them in one order (NcclRanks.h).
//
// Launches that overlap. From one kernel's last block to the next one's first result a GPU has
// little to do, which in a program of small kernels is much of the time. So a kernel that waits
// itself (fb::Kernel.waits; pdl_wait of device.cuh) and stands right behind another may be launched
// before that is done (programmatic dependent launch, compute capability 9.0), and reads its
// weights in the meantime. That this is safe follows from four rules:
//
// 1. Every thread of a kernel that is launched so waits, and no thread ends before it has. The wait
//    returns when the kernel before in its stream is done and what it wrote is visible.
// 2. Before the wait a kernel reads only what no kernel of the program writes, and writes nothing.
// 3. A kernel that does not wait is launched when all before it in its stream is done, and all that
//    it waits for in others, as ever; so are copies, fills, products of the library, commands that
//    wait for others by events or stand behind one that others wait for, and the first command in
//    each stream of a program, or of a part of it that is a graph of its own.
// 4. What a kernel lets the next one begin by (pdl_launch_dependents) only concerns when it begins.
//
// To see that C, behind B, behind A in one stream, may read what A wrote though C waits for B
// alone: B is not done before its threads are, these wait for A (1), or B began after A was done
// (3). So B done means A done, and by induction everything before in the stream. And it means
// everything done that these waited for in other streams: who waits by an event began after that
// (3), and an event is reached when the command before it is done, which means the same in its
// stream. So an order that streams and events make holds for what kernels do behind their waits,
// whichever of them are launched early; what they do before, nothing needs to be ordered with (2).
// It does not hold if B has a thread that ends without waiting, or is launched early and does not
// wait: then B may be done while A still runs, and C reads what A has not written. Nor may C,
// before its wait, read what A writes, were B as long as it likes: C may begin while A runs, since
// both of the others let it. Hence rule 2 speaks of all kernels of the program, not of the one
// before.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Cuda/CudaKernels.h"
#include "runtime/Device/Cuda/CudaStreams.h"
#include "runtime/Device/Cuda/CudnnAttention.h"
#include "runtime/Device/Cuda/LtGemm.h"
#include "runtime/Device/Cuda/NcclRanks.h"
#include <optional>
#include <variant>

namespace sinter::runtime::cuda {

/// What recording turns a program's indices into.
struct CudaResolver {
  LtLibrary::Address address;
  const Executable &executable;
  const CudaKernels &kernels;
  LtLibrary &gemms;
  CudnnLibrary &attentions;
  Tuner *tuner = nullptr; ///< with one, alternatives may be run while recording
  bool overlaps = false;  ///< whether launches may overlap
  /// Of the ranks that run the executable together, this one's number and their collectives; null
  /// where it runs alone.
  size_t rank = 0;
  NcclRanks *ranks = nullptr;
};

class CudaProgram {
public:
  /// Records commands [begin, end) of a verified program, each as the alternative that the tuner
  /// finds fastest, or without a tuner by its action. Fails where the library has no algorithm for
  /// a product.
  static Expected<CudaProgram> record(const CudaContext &context, const fb::Program &program,
                                      size_t begin, size_t end, const CudaResolver &resolver);

  size_t size() const { return steps.size(); }
  /// How many streams its commands are in.
  size_t getStreams() const { return last.size(); }

  /// Of the commands [begin, end), those streams beside the context's that have to be told when to
  /// begin, and those that nothing in the context's waits for at the end.
  struct Branches {
    std::vector<uint32_t> forked, joined;
  };
  Branches branches(size_t begin, size_t end) const;

  /// Whether a command may be a part of a graph. One that sends to another stage is over beside its
  /// stream, which goes on at once, and what the rank sent to itself lies somewhere else in each
  /// run (NcclRanks.h).
  bool mayCapture(size_t command) const;
  /// What a stream is given from now on begins when all that the program sent has been received.
  Expected<void> awaitSends(CUstream stream) const;

  /// Runs each command that waits for no other rank once, on zeros, so that all of their code is
  /// loaded: that may wait for all that the GPU does, and must find nothing there that waits for
  /// ranks which do the same. @pre those of a whole program, which runs nowhere
  Expected<void> rehearse(const fb::Program &program, const CudaResolver &resolver) const;

  /// Puts a command into its stream, in a walk that began with command `begin`.
  Expected<void> enqueue(size_t command, size_t begin, const CudaStreams &streams) const;

  /// Puts a command into the context's stream, to begin when what is before it is done, as for one
  /// that is timed or waited for.
  Expected<void> enqueueAlone(size_t command) const;

  /// Which alternative of a command is taken: 0 for its action, else one more than the
  /// alternative's index.
  size_t wayOf(size_t command) const { return chosen[command]; }

private:
  struct LaunchStep {
    LoadedKernel kernel;
    unsigned grid;
    size_t firstArgument; ///< in `parameters`
    bool overlaps;        ///< with the launch before it, if that is of the same walk
  };
  struct CopyStep {
    CUdeviceptr source, out;
    uint64_t bytes;
  };
  struct FillStep {
    CUdeviceptr out;
    uint64_t bytes;
    uint8_t value;
  };
  struct CollectiveStep {
    const NcclRanks *ranks;
    NcclCollective collective;
  };
  struct SendStep {
    const NcclRanks *ranks;
    NcclMessage message;
    CudaEvent sent;
  };
  struct ReceiveStep {
    const NcclRanks *ranks;
    NcclMessage message;
  };
  struct Step {
    std::variant<LaunchStep, LtGemm, CudnnAttention, CopyStep, FillStep, CollectiveStep, SendStep,
                 ReceiveStep>
        action;
    uint32_t stream = 0;
    std::vector<uint32_t> waits = {};   ///< for other steps
    std::optional<CudaEvent> done = {}; ///< where others wait for it
    std::optional<size_t> before = {};  ///< the one before in its stream
  };

  explicit CudaProgram(const CudaContext &context) : context(&context) {}
  Expected<void> add(const fb::Launch &launch, const CudaResolver &resolver);
  Expected<void> add(const fb::Gemm &gemm, const CudaResolver &resolver);
  Expected<void> add(const fb::Attention &attention, const CudaResolver &resolver);
  Expected<void> add(const fb::Copy &copy, const CudaResolver &resolver);
  Expected<void> add(const fb::Collective &collective, const CudaResolver &resolver);
  Expected<void> add(const fb::Send &send, const CudaResolver &resolver);
  Expected<void> add(const fb::Receive &receive, const CudaResolver &resolver);
  Expected<void> add(const fb::Fill &fill, const CudaResolver &resolver);
  Expected<void> add(const fb::Pack &pack, const CudaResolver &resolver);
  Expected<void> order(const fb::Command &command, size_t begin, const CudaResolver &resolver);
  Expected<size_t> choose(const fb::Command &command, const CudaResolver &resolver) const;
  void bindArguments();
  bool mayOverlap(const Step &step) const;
  CUresult launch(const LaunchStep &step, CUstream stream, bool overlaps) const;
  Expected<void> enqueue(const Step &step, CUstream stream, bool overlaps) const;

  const CudaContext *context;
  std::vector<Step> steps;
  std::vector<size_t> chosen;              ///< the alternatives of the steps
  std::vector<std::optional<size_t>> last; ///< step of each stream
  std::optional<size_t> lastCollective;
  std::vector<CUdeviceptr> arguments; ///< of all launches
  std::vector<void *> parameters;     ///< the addresses of the arguments
};

/// "<executable>: program 'decode', command 3 (rms_norm, model.layers.0), kernel 'k7'", of the
/// alternative that is taken.
std::string nameOfCommand(const Executable &executable, const fb::Program &program, size_t command,
                          size_t alternative = 0);

} // namespace sinter::runtime::cuda
