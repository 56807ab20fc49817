//===- Limits.h - The least time that work takes ----------------*- C++ -*-===//
//
// A roofline: no command is done sooner than its multiply-adds take where nothing else is done, or
// than its bytes take from the smallest memory that can hold them, whichever is longer. What the
// work is, the compiler knows, from shapes alone, and an executable says it; what the machine can
// do is measured where the executable runs (Device/Cpu/HostLimits.h), or a GPU's data sheet.
//
// So there are two descriptions of a machine, for two purposes. What is compiled (fusions, orders,
// `predicted_ns`, what `sinter explain` compares) follows from the target's description alone
// (compiler/Analysis/Target.h): it must be the same on every host of a target, today and tomorrow,
// and no measurement is. What is reported of a run (MFU, rooflines, shares of a limit) is divided
// by what this machine was seen to do.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Format/Executable.h"

namespace sinter::runtime {

/// What a command cannot do without. Each part is counted once.
struct Work {
  double flops = 0;        ///< operations on f32, and all that are none of the following
  double narrowFlops = 0;  ///< of products of 16-bit numbers that the target has instructions for
  double byteFlops = 0;    ///< of products of bytes by bytes: integers, or fp8 on a GPU
  double nibbleFlops = 0;  ///< of products of bytes by integers of four bits
  double memoryBytes = 0;  ///< from and to memory
  double sharedBytes = 0;  ///< of values that fit the cache that all cores share, a GPU's L2
  double privateBytes = 0; ///< of values that fit the cores' own caches
};

Work workOf(const fb::Command &command);

/// What a device does at most, in a second.
struct Limits {
  double flops = 0, narrowFlops = 0, byteFlops = 0, nibbleFlops = 0;
  double memoryBytes = 0, sharedBytes = 0, privateBytes = 0;
};

/// max(sum over kinds of operations of flops / rate, sum over memories of bytes / rate), in
/// seconds. A rate of 0 bounds nothing.
double leastSeconds(const Work &work, const Limits &limits);

} // namespace sinter::runtime
