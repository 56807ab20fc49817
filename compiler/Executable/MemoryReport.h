//===- MemoryReport.h - Where the memory goes, for people -------*- C++ -*-===//
//
// What `sinter plan` says without running anything, as JSON, so that a program without MLIR can
// read it. All numbers are bytes unless their names say otherwise.
//
//   {
//     "planned_bytes": 1234,           the most that a session holds at once (see below)
//     "resident_bytes": 1200,          what it holds while steps run
//     "spaces": { "parameter": , "state": , "arena": , "input": , "output": , "constant": ,
//                 "code":  },
//     "preprocess_arena_bytes": 10,
//     "checkpoint_bytes": 999,         tensors read while binding, in mapped files
//     "largest": [ { "owner": "lm_head.weight", "space": "parameter", "bytes": 99 }, ... ],
//     "programs": [ {
//       "name": "prefill", "arena_bytes": 64, "arena_lower_bound_bytes": 64,
//       "input_bytes": 64, "output_bytes": 64,
//       "peak_command": 3, "live_at_peak_bytes": 64, "live_at_peak": [ 0, 2 ],
//       "commands": [ { "label": , "layer": , "kind": "launch", "flops": , "bytes": ,
//                       "predicted_ns":  } ],
//       "buffers": [ { "label": , "layer": , "bytes": , "offset": , "first": , "last":  } ] } ]
//   }
//
// The prediction follows the runtime's own account (MemoryUse in runtime/Session/Session.h): one
// arena, input and output region as large as the largest program's; preprocessing the weights holds
// the arena of `preprocess` in place of states and step memory, and the larger of both is the peak.
// `sinter plan` adds what only the runtime knows: "process" (and of training "snapshot" and
// "batches") among the spaces, and "outside", bytes that no budget counts: { "libraries and
// program": , "files of weights": , "tokenizer":  }. A buffer is labelled by the command that first
// writes it. `live_at_peak` are indices of buffers.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include <cstdint>
#include <string>

namespace sinter {

/// The report on a module after the Memory phase, as JSON text.
/// @param codeBytes of the machine code's image.
std::string makeMemoryReport(mlir::ModuleOp plan, int64_t codeBytes);

} // namespace sinter
