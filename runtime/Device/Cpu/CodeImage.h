//===- CodeImage.h - Machine code, ready to call ----------------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include "runtime/Device/KernelFunction.h"
#include <cstddef>
#include <cstdint>
#include <span>

namespace sinter::runtime {

/// Position-independent code in memory that may be executed and no longer written.
class CodeImage {
public:
  CodeImage() = default;
  CodeImage(CodeImage &&other) noexcept;
  CodeImage &operator=(CodeImage &&other) noexcept;
  ~CodeImage();

  /// Copies `code` and makes it executable; fails where the system forbids that.
  static Expected<CodeImage> load(std::span<const std::byte> code);

  /// The function whose entry is at `offset`, which lies in the code.
  KernelFunction entry(uint64_t offset) const;

  /// Bytes of memory that the image occupies.
  uint64_t getBytes() const { return size; }

private:
  std::byte *base = nullptr;
  size_t size = 0;
};

} // namespace sinter::runtime
