//===- VerifierScope.h - What is verified, and what may lie where -*- C++ -*-===//
//
// What the parts of the verifier (ExecutableVerifier.h) have in common: the place in the executable
// that they are at, which errors name, and what holds of every slice there.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/DType.h"
#include "runtime/Base/Error.h"
#include "runtime/Format/Executable_generated.h"
#include "runtime/Format/PackedRhs.h"
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace sinter::runtime {

/// No space and no extent is larger than this, so that sums of a few never overflow.
constexpr uint64_t largestExtent = uint64_t(1) << 46;

/// No grid has more ranks.
constexpr uint64_t mostRanks = uint64_t(1) << 20;

/// a * b, or nothing beyond `largestExtent`.
std::optional<uint64_t> boundedProduct(std::optional<uint64_t> a, uint64_t b);

/// Bytes of a tensor, or nothing where no memory could have it.
std::optional<uint64_t> tensorBytes(const flatbuffers::Vector<int64_t> *shape, fb::DType dtype);

inline bool isKnown(fb::DType dtype) { return dtype <= fb::DType::MAX; }

/// True if slices have a byte in common.
bool overlap(const fb::Slice &a, const fb::Slice &b);

/// The flatbuffer's own verifier does not look at the alignment of a vector's elements.
template <size_t alignment = 8, typename Vector> bool isAligned(const Vector *vector) {
  return vector->size() == 0 || reinterpret_cast<uintptr_t>(vector->Data()) % alignment == 0;
}

/// The tables of a vector that may be absent.
template <typename T> struct Tables {
  using Vector = flatbuffers::Vector<flatbuffers::Offset<T>>;
  const Vector *vector;
  typename Vector::const_iterator begin() const {
    return vector ? vector->begin() : typename Vector::const_iterator();
  }
  typename Vector::const_iterator end() const {
    return vector ? vector->end() : typename Vector::const_iterator();
  }
};
template <typename T> Tables<T> each(const flatbuffers::Vector<flatbuffers::Offset<T>> *vector) {
  return {vector};
}

/// Where the verifier is.
struct VerifierScope {
  const fb::Executable &executable;
  std::string source; ///< what errors call the executable
  bool cpu = true;    ///< what it was compiled for
  const fb::Program *program = nullptr;
  const fb::Command *command = nullptr;
  size_t commandIndex = 0;

  /// The end of what slices have used so far of each space; of a program's own, in that program.
  std::map<fb::Space, uint64_t> used = {};

  /// The error of what is at this place.
  tl::unexpected<Error> bad(const std::string &why) const;

  bool isPreprocess() const;

  /// What products may be of, and in words.
  bool isComputeType(fb::DType dtype) const {
    return dtype == fb::DType::F32 || dtype == fb::DType::BF16 || (!cpu && dtype == fb::DType::F16);
  }
  const char *getComputeTypes() const { return cpu ? "f32 and bf16" : "f32, bf16 and f16"; }

  /// The ranks of a group along axes, which are those of the grid, each once.
  Expected<uint64_t> countRanks(const flatbuffers::Vector<uint32_t> *axes) const;

  /// A string that is shown to people or looked up: text of one line.
  Expected<void> verifyText(const flatbuffers::String *text, const char *name) const;

  /// The size of the space that a slice lies in, or nothing if it may not lie there.
  std::optional<uint64_t> spaceBytes(const fb::Slice &slice) const;

  /// A slice that is there and lies in its space.
  Expected<void> verifySlice(const fb::Slice *slice, const char *name);
  /// The same of one that is written.
  Expected<void> verifyWritable(const fb::Slice *slice, const char *name);
  /// A slice that holds a row-major matrix, all extents and the stride in elements.
  Expected<void> verifyMatrix(const fb::Slice *slice, const char *name, uint64_t rows,
                              uint64_t columns, uint64_t stride, fb::DType dtype,
                              bool aligned = true);
  /// A slice that is a matrix in panels.
  Expected<void> verifyPackedRhs(const fb::Slice *slice, const char *name, const PackedRhs &layout);

  /// A space is no larger than its slices make it, but for a page.
  Expected<void> verifyUsed(fb::Space space, uint64_t bytes, const char *name);
};

} // namespace sinter::runtime
