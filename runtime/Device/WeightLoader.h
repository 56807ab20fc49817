//===- WeightLoader.h - The tensors that `preprocess` reads --------*- C++ -*-===//
//
// Each tensor of the executable's list lies either in the weight files' mapping or, where there are
// no files or they store it in another form, in memory of ours that is filled from the seed or
// decoded just before its first use and reused after its last. So only the tensors in use take
// memory, beside the preprocessed parameters.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"
#include "runtime/Base/ThreadPool.h"
#include "runtime/Format/Executable.h"
#include "runtime/Memory/Region.h"
#include "runtime/Weights/WeightSource.h"
#include <map>
#include <vector>

namespace sinter::runtime {

class WeightLoader {
public:
  /// Finds every tensor of `executable` in `weights` and checks its type and shape, or, without
  /// weights, plans random ones, for the commands of `preprocess`. Errors name the tensor.
  static Expected<WeightLoader> open(const Executable &executable, const fb::Program &preprocess,
                                     const WeightSource *weights, uint64_t seed);

  /// Bytes that random and decoded weights take for a time while `preprocess` runs, beyond all
  /// parameters: a tensor is there beside the parameters that were made before it, while the others
  /// are not yet. Without `weights` all are random. In whole large pages (Region.h).
  static uint64_t madeBytes(const Executable &executable, const fb::Program *preprocess,
                            const WeightSource *weights);

  /// The address of a tensor's first byte.
  std::byte *address(uint32_t tensor) const { return const_cast<std::byte *>(data[tensor].data()); }

  /// A tensor's bytes, between the calls before its first and after its last use.
  std::span<const std::byte> content(uint32_t tensor) const { return data[tensor]; }

  /// To be called before and after each command of `program` (the one that was opened for). Before
  /// a tensor's first use it is looked at, while it comes into the caches anyway: weights that are
  /// not finite make no numbers that mean anything, and some kernels would hide it. The error names
  /// the first such tensor of the model.
  Expected<void> beforeCommand(ThreadPool &pool, size_t command);
  void afterCommand(size_t command);

  /// Bytes of all tensors, as stored.
  uint64_t getBytes() const { return total; }

private:
  /// Where the made tensors lie: those that are there at a time, apart from each other.
  struct Placement {
    std::map<uint32_t, uint64_t> offsets;
    uint64_t bytes = 0;
    std::vector<uint64_t> needed; ///< by the command, the bytes that it or a later one uses
  };

  void findUses(const fb::Program &program);
  void readAhead(size_t command);
  Placement placeMade(const std::map<uint32_t, uint64_t> &bytes) const;
  bool isMade(uint32_t tensor) const { return !weights || decoders[tensor]; }
  void make(ThreadPool &pool, uint32_t tensor);
  Error describeNonFinite(ThreadPool &pool);

  const Executable *executable = nullptr;
  const WeightSource *weights = nullptr;
  uint64_t seed = 0;
  uint64_t total = 0;
  Placement placement;
  Region made;
  std::vector<std::span<const std::byte>> data;
  std::vector<TensorDecoder> decoders;           ///< of each tensor; with weights
  std::vector<std::span<const std::byte>> files; ///< of each tensor, as stored; with weights
  size_t ahead = 0;                     ///< the first command whose tensors have not been asked for
  uint64_t aheadBytes = 0;              ///< that were asked for and whose commands have not begun
  std::map<uint32_t, uint64_t> extents; ///< of each tensor that is read, the bytes up to its end
  std::vector<std::vector<uint32_t>> begins, ends; ///< tensors by the command of first, last use
};

} // namespace sinter::runtime
