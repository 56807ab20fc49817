//===- DType.h - Element types ----------------------------------*- C++ -*-===//
//
// The element types that readers, the executable format and the runtime speak of. Values are those
// of `DType` in runtime/Format/Executable.fbs, so a cast converts between them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sinter {

enum class DType : uint8_t { F32, BF16, F16, I32, I64, F64, U8, I8, I4, E4M3, E5M2 };

/// Bytes of one element that stands alone.
constexpr size_t sizeOf(DType type) {
  switch (type) {
  case DType::F32:
  case DType::I32:
    return 4;
  case DType::BF16:
  case DType::F16:
    return 2;
  case DType::I64:
  case DType::F64:
    return 8;
  case DType::U8:
  case DType::I8:
  case DType::I4:
  case DType::E4M3:
  case DType::E5M2:
    return 1;
  }
  return 0;
}

/// Bytes of many elements of a packed matrix: two of four bits share one.
constexpr uint64_t bytesOf(DType type, uint64_t count) {
  return type == DType::I4 ? count / 2 + count % 2 : count * sizeOf(type);
}

/// The name as safetensors and Sinter's messages write it: "F32", "BF16", ...
constexpr std::string_view nameOf(DType type) {
  switch (type) {
  case DType::F32:
    return "F32";
  case DType::BF16:
    return "BF16";
  case DType::F16:
    return "F16";
  case DType::I32:
    return "I32";
  case DType::I64:
    return "I64";
  case DType::F64:
    return "F64";
  case DType::U8:
    return "U8";
  case DType::I8:
    return "I8";
  case DType::I4:
    return "I4";
  case DType::E4M3:
    return "F8_E4M3";
  case DType::E5M2:
    return "F8_E5M2";
  }
  return "";
}

} // namespace sinter
