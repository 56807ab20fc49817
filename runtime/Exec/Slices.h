//===- Slices.h - The slices that a command touches -------------*- C++ -*-===//
#pragma once

#include "runtime/Exec/Executable_generated.h"

namespace sinter::runtime {

/// Calls `fn(const fb::Slice &)` for every slice of a verified command, read or written.
template <typename Fn> void forEachSlice(const fb::Command &command, Fn fn) {
  switch (command.action_type()) {
  case fb::Action::Launch:
    if (const auto *slices = command.action_as_Launch()->slices())
      for (flatbuffers::uoffset_t i = 0; i < slices->size(); ++i)
        fn(*slices->Get(i));
    return;
  case fb::Action::Gemm: {
    const fb::Gemm &gemm = *command.action_as_Gemm();
    fn(*gemm.lhs());
    fn(*gemm.rhs());
    fn(*gemm.out());
    if (gemm.workspace())
      fn(*gemm.workspace());
    if (gemm.post_ops())
      for (const fb::PostOp *step : *gemm.post_ops())
        if (step->operand())
          fn(*step->operand());
    return;
  }
  case fb::Action::Pack: {
    const fb::Pack &pack = *command.action_as_Pack();
    fn(*pack.out());
    for (const fb::PackSource *source : *pack.sources())
      fn(*source->slice());
    return;
  }
  case fb::Action::Copy:
    fn(*command.action_as_Copy()->source());
    fn(*command.action_as_Copy()->out());
    return;
  case fb::Action::Fill:
    fn(*command.action_as_Fill()->out());
    return;
  default:
    return;
  }
}

/// Calls `fn(const fb::Slice &)` for every slice that a verified command leaves something in,
/// workspaces excepted.
template <typename Fn> void forEachWrittenSlice(const fb::Command &command, Fn fn) {
  switch (command.action_type()) {
  case fb::Action::Launch: {
    const fb::Launch &launch = *command.action_as_Launch();
    if (launch.outputs())
      for (flatbuffers::uoffset_t i = 1; i <= launch.outputs()->size(); ++i)
        fn(*launch.slices()->Get(launch.slices()->size() - i));
    return;
  }
  case fb::Action::Gemm:
    return fn(*command.action_as_Gemm()->out());
  case fb::Action::Pack:
    return fn(*command.action_as_Pack()->out());
  case fb::Action::Copy:
    return fn(*command.action_as_Copy()->out());
  case fb::Action::Fill:
    return fn(*command.action_as_Fill()->out());
  default:
    return;
  }
}

} // namespace sinter::runtime
