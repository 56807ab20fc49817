//===- Liveness.h - When slices of a program live ---------------*- C++ -*-===//
#pragma once

#include "compiler/Memory/Streams.h"
#include "dialects/Plan/PlanDialect.h"
#include "dialects/Sinter/SinterDialect.h"

namespace sinter {

/// The commands of a program, in order; their indices are the time that lives are measured in.
llvm::SmallVector<plan::CommandInterface> getCommands(plan::ProgramOp program);

/// Bytes of an alloc or a slice.
int64_t getSliceBytes(mlir::Value slice);

/// What a command reads and writes, after Memory.
std::vector<ByteRange> getRanges(plan::CommandInterface command);

/// Whether a command moves bytes to other ranks.
bool communicates(plan::CommandInterface command);

/// Of each command the group of axes along which it moves bytes to other ranks: from 1, in the
/// order in which groups come; 0 where it moves none. All are one group where they are to be in one
/// stream: on a processor, of which each stream would keep a core busy, and in a pipeline, between
/// whose stages messages wait beside all streams (NcclRanks.h).
llvm::SmallVector<unsigned> findAxisGroups(plan::ProgramOp program);

/// Whether a program's commands may be in several streams: on a GPU, or where some communicate.
bool hasStreams(plan::ProgramOp program, TargetAttr target);

/// Bytes that slices of a program's arena start at multiples of, which its target says.
int64_t getArenaAlignment(plan::ProgramOp program);

/// A slice that lives inside a step, from the first command that uses it to the last one.
struct Life {
  mlir::Value slice; ///< a plan.alloc, or after Memory a plan.slice of the arena
  int64_t first;
  int64_t last;
};

/// The lives of a program's allocs and arena slices, in program order; unused ones are left out.
llvm::SmallVector<Life> getLives(plan::ProgramOp program);

} // namespace sinter
