//===- KernelCode.h - The machine code in an executable ---------*- C++ -*-===//
#pragma once

#include "runtime/Format/Executable_generated.h"
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string_view>

namespace sinter::runtime::cuda {

/// Host memory that copies to and from the device go through.
constexpr uint64_t stagingBytes = uint64_t(32) << 20;

/// The machine code that a program of kernels carries for an architecture, if it does.
std::optional<std::span<const std::byte>> findCubin(const fb::KernelProgram &program,
                                                    std::string_view architecture);

/// The kernels that a program launches, as indices into the executable's.
void addLaunchedKernels(const fb::Program &program, std::set<uint32_t> &kernels);

} // namespace sinter::runtime::cuda
