//===- Arguments.h - Call a function with as many pointers as it takes -*- C++ -*-===//
#pragma once

#include "test/simt/Launch.h"

#include <array>
#include <span>
#include <utility>

namespace sinter::simt {

namespace detail {

template <size_t> using PointerAt = void *;

template <size_t... Is>
void call(Kernel::Function function, void *const *pointers, std::index_sequence<Is...>) {
  reinterpret_cast<void (*)(PointerAt<Is>...)>(function)(pointers[Is]...);
}

template <size_t Count> void callWithCount(Kernel::Function function, void *const *pointers) {
  call(function, pointers, std::make_index_sequence<Count>());
}

template <size_t... Counts> constexpr auto callers(std::index_sequence<Counts...>) {
  using Caller = void (*)(Kernel::Function, void *const *);
  return std::array<Caller, sizeof...(Counts)>{callWithCount<Counts>...};
}

} // namespace detail

/// Calls `function`, which takes as many pointers as there are, with them.
inline void callWith(Kernel::Function function, std::span<void *const> pointers) {
  static constexpr auto callers = detail::callers(std::make_index_sequence<mostArguments + 1>());
  callers[pointers.size()](function, pointers.data());
}

} // namespace sinter::simt
