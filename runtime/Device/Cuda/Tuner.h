//===- Tuner.h - The fastest of several alternatives ------------*- C++ -*-===//
//
// A command with alternatives (algorithms of a library, kernels with other tiles, a
// kernel or a library) takes the one that is fastest here: each is run once to load
// its code, then timed by events in three rounds of five runs that take turns, so that a clock that
// changes meanwhile changes for all. The least of an alternative's rounds counts. After the first
// round, whatever took 1.25 times as long as the fastest is out. Before each run the L2 cache is
// written over: a step comes to a command with what all others read in between, and its weights are
// not there.
//
// What was chosen is kept in the cache's folder, in a file by what was chosen among, for which GPU
// and with which driver: the next session times nothing. The file is written aside and renamed, so
// that processes may choose at once; one that is damaged is made anew.
//
//   products of [4096, 768, 768]: algorithm 0 .. 7      ->  <cache>/tuning/<hash>: "3 of 8\n"
//
// An alternative that does not begin to run (a library that is not there, more shared memory than
// the GPU has) is left out. One that fails while it runs takes the context with it: that is an
// error, with the name of the alternative. What runs here reads and writes whatever the memory
// holds.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Cuda/CudaPool.h"
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace sinter::runtime::cuda {

class Tuner {
public:
  /// With a pool, memory as large as the L2 cache is taken from it while alternatives are timed, if
  /// there is any.
  explicit Tuner(const CudaContext &context, const CudaPool *pool = nullptr)
      : context(context), pool(pool) {}

  struct Alternative {
    std::string name;                    ///< "kernel 'k7'"
    std::function<Expected<void>()> run; ///< puts it into the context's stream
  };

  /// The index of the fastest alternative. `problem` says all that the choice depends on but for
  /// the GPU and its driver: equal problems have equal alternatives. `before` is called before any
  /// of them is run. Errors: none of the alternatives runs, or one broke the context. @pre there is
  /// an alternative
  Expected<size_t> choose(const std::string &problem, std::span<const Alternative> alternatives,
                          const std::function<Expected<void>()> &before = {});

  /// What was chosen, each once: "kernel 'k7', of 3 alternatives".
  const std::vector<std::string> &getAlternatives() const { return made; }

private:
  Expected<size_t> measure(std::span<const Alternative> alternatives) const;
  DeviceMemory takeCacheSize() const;
  std::string keyOf(const std::string &problem, size_t count) const;

  const CudaContext &context;
  const CudaPool *pool;
  std::map<std::string, size_t> chosen; ///< by key, in this session
  std::vector<std::string> made;
};

} // namespace sinter::runtime::cuda
