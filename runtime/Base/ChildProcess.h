//===- ChildProcess.h - Work in a process of its own ------------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include <cstddef>
#include <functional>
#include <vector>

namespace sinter {

/// What work gives back: any bytes, or why there are none.
using ChildResult = Expected<std::vector<std::byte>>;

/// Does `work` in a child, a copy of this process as it is now, waits, and returns what it
/// returned. Memory that the child takes is never this process's, and a crash of it is an error (a
/// defect) that `what` names; a child that the system killed is an error, too. Of this process's
/// threads the child has only the one that calls, so `work` must not wait for any other. It ends
/// with this process, and leaves SIGINT and SIGTERM to it.
ChildResult runInChild(const std::string &what, const std::function<ChildResult()> &work);

} // namespace sinter
