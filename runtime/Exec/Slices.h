//===- Slices.h - The slices that a command touches -------------*- C++ -*-===//
#pragma once

#include "runtime/Exec/Executable_generated.h"

namespace sinter::runtime {

namespace detail {
// Of a command's action or of an alternative's.
template <typename Holder, typename Fn> void forEachSliceOf(const Holder &holder, Fn &fn) {
  switch (holder.action_type()) {
  case fb::Action::Launch:
    if (const auto *slices = holder.action_as_Launch()->slices())
      for (flatbuffers::uoffset_t i = 0; i < slices->size(); ++i)
        fn(*slices->Get(i));
    return;
  case fb::Action::Gemm: {
    const fb::Gemm &gemm = *holder.action_as_Gemm();
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
  case fb::Action::Attention: {
    const fb::Attention &attention = *holder.action_as_Attention();
    for (const fb::Slice *slice : {attention.query(), attention.key(), attention.value(),
                                   attention.out(), attention.logsumexp(), attention.workspace()})
      if (slice)
        fn(*slice);
    return;
  }
  case fb::Action::Pack: {
    const fb::Pack &pack = *holder.action_as_Pack();
    fn(*pack.out());
    for (const fb::PackSource *source : *pack.sources())
      fn(*source->slice());
    return;
  }
  case fb::Action::Copy:
    fn(*holder.action_as_Copy()->source());
    fn(*holder.action_as_Copy()->out());
    return;
  case fb::Action::Fill:
    fn(*holder.action_as_Fill()->out());
    return;
  default:
    return;
  }
}

template <typename Holder, typename Fn> void forEachWrittenSliceOf(const Holder &holder, Fn &fn) {
  switch (holder.action_type()) {
  case fb::Action::Launch: {
    const fb::Launch &launch = *holder.action_as_Launch();
    if (launch.outputs())
      for (flatbuffers::uoffset_t i = 1; i <= launch.outputs()->size(); ++i)
        fn(*launch.slices()->Get(launch.slices()->size() - i));
    return;
  }
  case fb::Action::Gemm:
    return fn(*holder.action_as_Gemm()->out());
  case fb::Action::Attention:
    if (const fb::Slice *logsumexp = holder.action_as_Attention()->logsumexp())
      fn(*logsumexp);
    return fn(*holder.action_as_Attention()->out());
  case fb::Action::Pack:
    return fn(*holder.action_as_Pack()->out());
  case fb::Action::Copy:
    return fn(*holder.action_as_Copy()->out());
  case fb::Action::Fill:
    return fn(*holder.action_as_Fill()->out());
  default:
    return;
  }
}
} // namespace detail

/// Calls `fn(const fb::Slice &)` for every slice of a verified command, read or written, whichever
/// way it is done.
template <typename Fn> void forEachSlice(const fb::Command &command, Fn fn) {
  detail::forEachSliceOf(command, fn);
  if (command.alternatives())
    for (const fb::Alternative *alternative : *command.alternatives())
      detail::forEachSliceOf(*alternative, fn);
}

/// Calls `fn(const fb::Slice &)` for every slice that a verified command leaves something in,
/// workspaces excepted, whichever way it is done.
template <typename Fn> void forEachWrittenSlice(const fb::Command &command, Fn fn) {
  detail::forEachWrittenSliceOf(command, fn);
  if (command.alternatives())
    for (const fb::Alternative *alternative : *command.alternatives())
      detail::forEachWrittenSliceOf(*alternative, fn);
}

} // namespace sinter::runtime
