//===- RunOptions.h - How a model is compiled and run -----------*- C++ -*-===//
#pragma once

#include "compiler/Pipelines/CompileOptions.h"
#include "runtime/Base/ByteSize.h"
#include "runtime/Collective/Communicator.h"
#include "sinter/Observer.h"

namespace sinter {

/// What all work on a model shares. Of its CompileOptions, what is not set is chosen for the model,
/// the machine and the work.
struct RunOptions : CompileOptions {
#define SINTER_OPTION SINTER_OPTION_MEMBER
#include "sinter/RunOptions.def"
#define SINTER_OPTION SINTER_OPTION_MEMBER
#include "sinter/RankOptions.def"

  Observer observer;

  /// The ranks that run it together (sinter/Ranks.h); it outlives what is run. Null: one.
  runtime::Communicator *communicator = nullptr;

  /// The bytes of memoryBudget, 0 for any. Fails where it is no size.
  Expected<uint64_t> getBudget() const {
    if (memoryBudget.empty())
      return 0;
    return parseByteSize(memoryBudget, "`memory_budget`");
  }

  template <typename Self, typename Visitor> static void visit(Self &self, Visitor &&visitor) {
    CompileOptions::visit(self, visitor);
#define SINTER_OPTION SINTER_OPTION_VISIT
#include "sinter/RunOptions.def"
#define SINTER_OPTION SINTER_OPTION_VISIT
#include "sinter/RankOptions.def"
  }
};

} // namespace sinter
