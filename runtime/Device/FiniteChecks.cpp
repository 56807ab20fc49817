#include "runtime/Device/FiniteChecks.h"
#include "runtime/Base/VectorClones.h"
#include "runtime/Format/Actions.h"
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>

namespace sinter::runtime {
namespace {

using Found = std::optional<NonFiniteKind>;

// Of a binary floating-point format: the exponent's bits and the sign's.
template <typename Bits> Found scan(std::span<const std::byte> bytes, Bits infinity, Bits sign) {
  bool nan = false, positive = false, negative = false;
  for (size_t i = 0; i + sizeof(Bits) <= bytes.size(); i += sizeof(Bits)) {
    Bits value;
    std::memcpy(&value, bytes.data() + i, sizeof(Bits));
    Bits magnitude = value & static_cast<Bits>(~sign);
    nan |= magnitude > infinity;
    positive |= value == infinity;
    negative |= value == static_cast<Bits>(infinity | sign);
  }
  if (nan)
    return NonFiniteKind::NaN;
  if (positive)
    return NonFiniteKind::Infinity;
  return negative ? Found(NonFiniteKind::NegativeInfinity) : std::nullopt;
}

// Whether any of `count` numbers has all bits of the exponent, as infinities and NaNs do and no
// others: one pass without branches over what nearly always holds none.
template <typename Bits>
SINTER_INLINE bool hasFullExponent(const std::byte *bytes, size_t count, Bits exponent) {
  Bits any = 0;
  for (size_t i = 0; i < count; ++i) {
    Bits value;
    std::memcpy(&value, bytes + i * sizeof(Bits), sizeof(Bits));
    any |= static_cast<Bits>((value & exponent) == exponent);
  }
  return any != 0;
}

SINTER_VECTOR_CLONES bool hasFullExponent16(const std::byte *bytes, size_t count,
                                            uint16_t exponent) {
  return hasFullExponent(bytes, count, exponent);
}

SINTER_VECTOR_CLONES bool hasFullExponent32(const std::byte *bytes, size_t count,
                                            uint32_t exponent) {
  return hasFullExponent(bytes, count, exponent);
}

Found worse(Found a, Found b) { return a && b ? std::min(*a, *b) : (a ? a : b); }

} // namespace

Found findNonFinite(ThreadPool &pool, std::span<const std::byte> bytes, fb::DType dtype) {
  constexpr uint64_t bytesPerPiece = uint64_t(1) << 20; // whole numbers of any type
  std::mutex mutex;
  Found found;
  pool.run(bytes.size(), bytesPerPiece, [&](uint64_t begin, uint64_t end) {
    if (Found here = findNonFinite(bytes.subspan(begin, end - begin), dtype)) {
      std::lock_guard lock(mutex);
      found = worse(found, here);
    }
  });
  return found;
}

std::string_view nameOf(NonFiniteKind kind) {
  switch (kind) {
  case NonFiniteKind::NaN:
    return "nan";
  case NonFiniteKind::Infinity:
    return "inf";
  case NonFiniteKind::NegativeInfinity:
    return "-inf";
  }
  return "";
}

Found findNonFinite(std::span<const std::byte> bytes, fb::DType dtype) {
  auto scan16 = [&](uint16_t infinity) {
    return hasFullExponent16(bytes.data(), bytes.size() / 2, infinity)
               ? scan<uint16_t>(bytes, infinity, 0x8000)
               : std::nullopt;
  };
  switch (dtype) {
  case fb::DType::F32:
    return hasFullExponent32(bytes.data(), bytes.size() / 4, 0x7f800000)
               ? scan<uint32_t>(bytes, 0x7f800000, 0x80000000)
               : std::nullopt;
  case fb::DType::BF16:
    return scan16(0x7f80);
  case fb::DType::F16:
    return scan16(0x7c00);
  case fb::DType::F64:
    return scan<uint64_t>(bytes, uint64_t(0x7ff) << 52, uint64_t(1) << 63);
  default:
    return std::nullopt;
  }
}

Found findNonFinite(const fb::Command &command,
                    const std::function<std::span<const std::byte>(const fb::Slice &)> &bytes) {
  Found found;
  visitAction(command, [&](const auto &action) {
    forEachOperand(action, [&](const Operand &operand) {
      if (operand.computed)
        found = worse(found, findNonFinite(bytes(operand.slice), *operand.computed));
    });
  });
  return found;
}

} // namespace sinter::runtime
