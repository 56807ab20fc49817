//===- RunSteps.h - An executable that may be wrong, run apart --*- C++ -*-===//
#pragma once

#include "compiler/Pipelines/Verify.h"

namespace sinter {

/// Runs an entry as RunExecutable has it, with the session's checks on (BindOptions::debug): a
/// command that writes where it should not is an error that names it.
Expected<std::vector<RunValues>> runSteps(const RunRequest &request);

/// The same in a process of its own: what is compiled wrongly may crash or not end, which is an
/// error then. @pre no other thread runs
Expected<std::vector<RunValues>> runStepsApart(const RunRequest &request);

} // namespace sinter
