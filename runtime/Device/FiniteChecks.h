//===- FiniteChecks.h - Where numbers stop being finite ---------*- C++ -*-===//
#pragma once

#include "runtime/Base/ThreadPool.h"
#include "runtime/Format/Executable_generated.h"
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

namespace sinter::runtime {

/// What is wrong with numbers, the worst first: masks make negative infinities on purpose.
enum class NonFiniteKind { NaN, Infinity, NegativeInfinity };

/// "nan", "inf" or "-inf".
std::string_view nameOf(NonFiniteKind kind);

/// The worst among `bytes` as numbers of `dtype`, if any is not finite; integers always are.
std::optional<NonFiniteKind> findNonFinite(std::span<const std::byte> bytes, fb::DType dtype);

/// The same on all threads of a pool.
std::optional<NonFiniteKind> findNonFinite(ThreadPool &pool, std::span<const std::byte> bytes,
                                           fb::DType dtype);

/// The worst of all that a verified command has written. Of a launch only those slices are known
/// whose types it lists.
std::optional<NonFiniteKind>
findNonFinite(const fb::Command &command,
              const std::function<std::span<const std::byte>(const fb::Slice &)> &bytes);

} // namespace sinter::runtime
