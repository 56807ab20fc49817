//===- MpiRanks.h - What libSinterMpi.so is asked for -----------*- C++ -*-===//
#pragma once

#include "runtime/Collective/Communicator.h"

namespace sinter::runtime {

/// Starts MPI in this process, with all of its job as ranks.
using OpenMpiRanks = void(Expected<std::unique_ptr<Communicator>> &opened);

constexpr char mpiLibrary[] = "libSinterMpi.so", mpiEntry[] = "sinterOpenMpiRanks1";

} // namespace sinter::runtime
