//===- Mpi.h - Ranks that are processes of an MPI job -----------*- C++ -*-===//
//
// MPI is linked by a library of its own, libSinterMpi.so, which is opened here: who runs one rank
// needs no MPI.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Collective/Communicator.h"
#include <optional>

namespace sinter::runtime {

/// The place of this process in the job that mpirun, mpiexec, srun or an MPI operator started.
struct LaunchedRank {
  size_t rank = 0, size = 1;
  size_t localRank = 0, localSize = 0; ///< on this machine; a size of 0: not known
};

/// What the environment says of this process; nothing where no such job started it.
std::optional<LaunchedRank> findLaunchedRank();

/// All processes of the job as ranks. Once in a process, with the calling thread as the main one.
/// Errors: no libSinterMpi.so, no MPI that it can load, one of another kind than started the job.
Expected<std::unique_ptr<Communicator>> openMpi();

} // namespace sinter::runtime
