//===- FakeCubin.h - What the fake calls machine code -----------*- C++ -*-===//
//
// A shared object for the emulator behind a line that says for which architecture it was asked, and
// how long it is: "sinter-fake-cubin sm_90a 61440\n".
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sinter::fake {

struct FakeCubin {
  std::string architecture; ///< "sm_90a"
  std::vector<std::byte> object;
};

/// The cubin's bytes.
std::vector<std::byte> writeCubin(const FakeCubin &cubin);

/// The cubin at an address; none if it is something else.
std::optional<FakeCubin> readCubin(const void *code);

/// Whether a device of this compute capability takes code for the architecture: the same major
/// version and no earlier minor one; exactly the same where the architecture ends in "a".
bool runsOn(const std::string &architecture, int major, int minor);

} // namespace sinter::fake
