//===- Recording.h - A program, ready to run --------------------*- C++ -*-===//
//
// The flat form of a program: every slice is an address, every kernel a function. Made once at bind
// by record(), walked by Session::run.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/ThreadPool.h"
#include "runtime/Collective/Communicator.h"
#include "runtime/Device/Cpu/CodeImage.h"
#include "runtime/Device/Cpu/Pack.h"
#include "runtime/Format/Executable_generated.h"
#include <functional>
#include <span>
#include <variant>
#include <vector>

namespace sinter::runtime {

/// Calls a generated kernel over a grid.
struct LaunchStep {
  KernelFunction kernel = nullptr;
  size_t firstSlice = 0; ///< in Recording::slices
  uint64_t grid = 0;
  uint64_t chunk = 0;
};

/// Packs weights into panels.
struct PackStep {
  PackedRhs layout;
  std::vector<PackSource> sources;
  void *out = nullptr;
};

struct CopyStep {
  const std::byte *source = nullptr;
  std::span<std::byte> out;
};

struct FillStep {
  std::span<std::byte> out;
  uint8_t value = 0;
};

struct CollectiveStep {
  fb::CollectiveKind kind = fb::CollectiveKind::AllGather;
  DType dtype = DType::F32;
  Communicator *communicator = nullptr; ///< null where the group is this rank alone
  RankGroup group;
  std::span<const std::byte> source;
  std::span<std::byte> out;
};

struct SendStep {
  Communicator *communicator = nullptr;
  size_t rank = 0; ///< that receives it
  uint32_t channel = 0;
  std::span<const std::byte> source;
};

struct ReceiveStep {
  Communicator *communicator = nullptr;
  size_t rank = 0; ///< that sends it
  uint32_t channel = 0;
  std::span<std::byte> out;
};

using Step =
    std::variant<LaunchStep, PackStep, CopyStep, FillStep, CollectiveStep, SendStep, ReceiveStep>;

/// A program's steps.
struct Recording {
  std::vector<Step> steps;
  std::vector<void *> slices; ///< of all launches

  /// When a step runs where collectives run beside the others (ProgressThread.h): in a stream,
  /// behind steps of the other one.
  struct Order {
    uint32_t stream = 0;
    std::vector<uint32_t> waits;
  };
  std::vector<Order> order; ///< of the steps; empty where all are in one stream
  size_t lastCollective = 0;

  /// Waits until what the last run sent has been received, so that it can be written again.
  Expected<void> finishSends() const;

  /// Runs step `index`. Fails where ranks cannot reach each other.
  Expected<void> runStep(size_t index, ThreadPool &pool) const;
};

/// What record() needs to turn indices into addresses.
struct Resolver {
  std::function<std::byte *(const fb::Slice &)> address;
  std::span<const KernelFunction> kernels;
  const ThreadPool &pool;
  const fb::Executable &executable;
  Communicator *communicator = nullptr; ///< null: one rank
};

/// Records a verified program.
Recording record(const fb::Program &program, const Resolver &resolver);

} // namespace sinter::runtime
