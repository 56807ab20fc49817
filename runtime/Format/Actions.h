//===- Actions.h - What commands do, by kind --------------------*- C++ -*-===//
//
// The kinds of commands and the operands of each, once for all who walk a program: a new kind is a
// line in visitAction() and an overload of forEachOperand() here, a check in ActionVerifier.cpp and
// a step of the devices that run it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Format/Executable_generated.h"
#include "runtime/Format/PackedRhs.h"
#include <cassert>
#include <cstdlib>
#include <optional>

namespace sinter::runtime {

/// Whether this build knows the kind; of a verified executable every one is.
inline bool isKnownAction(fb::Action kind) {
  return kind != fb::Action::NONE && kind <= fb::Action::MAX;
}

/// Calls `fn` with the action of a command or an alternative, as fb::Launch, fb::Gemm, ..., and
/// returns what that returns. @pre the kind is known
template <typename Holder, typename Fn> decltype(auto) visitAction(const Holder &holder, Fn &&fn) {
  switch (holder.action_type()) {
  case fb::Action::Launch:
    return fn(*holder.action_as_Launch());
  case fb::Action::Gemm:
    return fn(*holder.action_as_Gemm());
  case fb::Action::Attention:
    return fn(*holder.action_as_Attention());
  case fb::Action::Pack:
    return fn(*holder.action_as_Pack());
  case fb::Action::Copy:
    return fn(*holder.action_as_Copy());
  case fb::Action::Fill:
    return fn(*holder.action_as_Fill());
  case fb::Action::Collective:
    return fn(*holder.action_as_Collective());
  case fb::Action::Send:
    return fn(*holder.action_as_Send());
  case fb::Action::Receive:
    return fn(*holder.action_as_Receive());
  case fb::Action::NONE:
    break;
  }
  assert(false && "an action that was not verified");
  std::abort();
}

/// The panels that a Pack writes.
inline PackedRhs panelsOf(const fb::Pack &pack) {
  auto dtype = static_cast<DType>(pack.dtype());
  bool isInteger = dtype == DType::I8 || dtype == DType::I4;
  return {pack.k(),
          pack.n(),
          dtype,
          pack.width(),
          /*isScales=*/!isInteger && pack.depth() == 1,
          /*together=*/isInteger ? pack.interleave() : 1,
          /*isWeightOnly=*/isInteger && pack.depth() == 32,
          pack.values() ? std::span(pack.values()->data(), pack.values()->size())
                        : std::span<const int8_t>()};
}

/// What a command does with a slice.
enum class Access { Read, Write, Workspace };

/// A slice of a command. Of what it computes the element type is known, too; a copy and a fill
/// compute nothing.
struct Operand {
  const fb::Slice &slice;
  Access access = Access::Read;
  std::optional<fb::DType> computed = std::nullopt;
};

/// Calls `fn(const Operand &)` for each slice of a verified action, those that are absent excepted.
template <typename Fn> void forEachOperand(const fb::Launch &launch, Fn &&fn) {
  if (!launch.slices())
    return;
  flatbuffers::uoffset_t outputs = launch.outputs() ? launch.outputs()->size() : 0;
  flatbuffers::uoffset_t inputs = launch.slices()->size() - outputs;
  for (flatbuffers::uoffset_t i = 0; i < inputs; ++i)
    fn(Operand{*launch.slices()->Get(i)});
  for (flatbuffers::uoffset_t i = 0; i < outputs; ++i)
    fn(Operand{*launch.slices()->Get(inputs + i), Access::Write, launch.outputs()->Get(i)});
}
/// Whether each side of a product has one scale for all of it. @pre it is verified, or being so
inline bool hasOneScale(const fb::Gemm &gemm) {
  auto isOne = [](const fb::Slice *scales) { return scales && scales->bytes() == sizeof(float); };
  return isOne(gemm.lhs_scales()) && isOne(gemm.rhs_scales());
}

template <typename Fn> void forEachOperand(const fb::Gemm &gemm, Fn &&fn) {
  fn(Operand{*gemm.lhs()});
  fn(Operand{*gemm.rhs()});
  for (const fb::Slice *scales : {gemm.lhs_scales(), gemm.rhs_scales()})
    if (scales)
      fn(Operand{*scales});
  fn(Operand{*gemm.out(), Access::Write, gemm.out_dtype()});
  if (gemm.workspace())
    fn(Operand{*gemm.workspace(), Access::Workspace});
  if (gemm.post_ops())
    for (const fb::PostOp *step : *gemm.post_ops())
      if (step->operand())
        fn(Operand{*step->operand()});
}
template <typename Fn> void forEachOperand(const fb::Attention &attention, Fn &&fn) {
  fn(Operand{*attention.query()});
  fn(Operand{*attention.key()});
  fn(Operand{*attention.value()});
  fn(Operand{*attention.out(), Access::Write, attention.out_dtype()});
  if (attention.logsumexp())
    fn(Operand{*attention.logsumexp(), Access::Write, fb::DType::F32});
  if (attention.workspace())
    fn(Operand{*attention.workspace(), Access::Workspace});
}
template <typename Fn> void forEachOperand(const fb::Pack &pack, Fn &&fn) {
  fn(Operand{*pack.out(), Access::Write, pack.dtype()});
  for (const fb::PackSource *source : *pack.sources())
    fn(Operand{*source->slice()});
}
template <typename Fn> void forEachOperand(const fb::Copy &copy, Fn &&fn) {
  fn(Operand{*copy.source()});
  fn(Operand{*copy.out(), Access::Write});
}
template <typename Fn> void forEachOperand(const fb::Fill &fill, Fn &&fn) {
  fn(Operand{*fill.out(), Access::Write});
}
template <typename Fn> void forEachOperand(const fb::Collective &collective, Fn &&fn) {
  fn(Operand{*collective.source()});
  fn(Operand{*collective.out(), Access::Write});
}
template <typename Fn> void forEachOperand(const fb::Send &send, Fn &&fn) {
  fn(Operand{*send.source()});
}
template <typename Fn> void forEachOperand(const fb::Receive &receive, Fn &&fn) {
  fn(Operand{*receive.out(), Access::Write});
}

/// The same for a verified command, with the operands of its alternatives.
template <typename Fn> void forEachOperand(const fb::Command &command, Fn &&fn) {
  auto visit = [&](const auto &action) { forEachOperand(action, fn); };
  visitAction(command, visit);
  if (command.alternatives())
    for (const fb::Alternative *alternative : *command.alternatives())
      visitAction(*alternative, visit);
}

/// Whether a verified command moves bytes to other ranks.
inline bool communicates(const fb::Command &command) {
  const fb::Collective *collective = command.action_as_Collective();
  return collective && collective->kind() != fb::CollectiveKind::AllSlice;
}

/// Calls `fn(const fb::Slice &)` for every slice of a verified command, read or written.
template <typename Fn> void forEachSlice(const fb::Command &command, Fn fn) {
  forEachOperand(command, [&](const Operand &operand) { fn(operand.slice); });
}

/// Calls `fn(const fb::Slice &)` for every slice that a verified command leaves something in,
/// workspaces excepted.
template <typename Fn> void forEachWrittenSlice(const fb::Command &command, Fn fn) {
  forEachOperand(command, [&](const Operand &operand) {
    if (operand.access == Access::Write)
      fn(operand.slice);
  });
}

} // namespace sinter::runtime
