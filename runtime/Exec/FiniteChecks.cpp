#include "runtime/Exec/FiniteChecks.h"
#include <algorithm>
#include <cstdint>
#include <cstring>

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

Found worse(Found a, Found b) { return a && b ? std::min(*a, *b) : (a ? a : b); }

} // namespace

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
  switch (dtype) {
  case fb::DType::F32:
    return scan<uint32_t>(bytes, 0x7f800000, 0x80000000);
  case fb::DType::BF16:
    return scan<uint16_t>(bytes, 0x7f80, 0x8000);
  case fb::DType::F16:
    return scan<uint16_t>(bytes, 0x7c00, 0x8000);
  case fb::DType::F64:
    return scan<uint64_t>(bytes, uint64_t(0x7ff) << 52, uint64_t(1) << 63);
  default:
    return std::nullopt;
  }
}

Found findNonFinite(const fb::Command &command,
                    const std::function<std::span<const std::byte>(const fb::Slice &)> &bytes) {
  switch (command.action_type()) {
  case fb::Action::Launch: {
    const fb::Launch &launch = *command.action_as_Launch();
    if (!launch.outputs())
      return std::nullopt;
    flatbuffers::uoffset_t count = launch.outputs()->size();
    Found found;
    for (flatbuffers::uoffset_t i = 0; i < count; ++i) {
      const fb::Slice &slice = *launch.slices()->Get(launch.slices()->size() - count + i);
      found = worse(found, findNonFinite(bytes(slice), launch.outputs()->Get(i)));
    }
    return found;
  }
  case fb::Action::Gemm: {
    const fb::Gemm &gemm = *command.action_as_Gemm();
    return findNonFinite(bytes(*gemm.out()), gemm.out_dtype());
  }
  case fb::Action::Attention: {
    const fb::Attention &attention = *command.action_as_Attention();
    return findNonFinite(bytes(*attention.out()), attention.out_dtype());
  }
  case fb::Action::Pack: {
    const fb::Pack &pack = *command.action_as_Pack();
    return findNonFinite(bytes(*pack.out()), pack.dtype());
  }
  default: // a copy makes nothing of its own
    return std::nullopt;
  }
}

} // namespace sinter::runtime
