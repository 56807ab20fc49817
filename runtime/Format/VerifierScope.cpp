#include "runtime/Format/VerifierScope.h"
#include "runtime/Base/Utf8.h"
#include "runtime/Format/PipelineStages.h"
#include <algorithm>
#include <set>

namespace sinter::runtime {
namespace {

constexpr size_t longestString = 1 << 16;

// What a space may have beyond its last slice.
constexpr uint64_t slack = 4096;

// Bytes that a row-major [rows, columns] matrix spans.
std::optional<uint64_t> matrixBytes(uint64_t rows, uint64_t columns, uint64_t stride,
                                    fb::DType dtype) {
  if (rows == 0 || columns == 0 || stride < columns || stride > largestExtent ||
      columns > largestExtent)
    return std::nullopt;
  std::optional<uint64_t> before = boundedProduct(rows - 1, stride);
  if (!before)
    return std::nullopt;
  return boundedProduct(*before + columns, sizeOf(static_cast<DType>(dtype)));
}

bool isLine(std::string_view text) {
  return isValidUtf8(text) && std::ranges::none_of(text, [](char c) {
           return static_cast<unsigned char>(c) < ' ' || c == 0x7f;
         });
}

// For errors, which stay on their line.
std::string quote(const flatbuffers::String &text) {
  return isLine(text.string_view()) ? text.str().substr(0, 80) : "?";
}

} // namespace

std::optional<uint64_t> boundedProduct(std::optional<uint64_t> a, uint64_t b) {
  uint64_t result;
  if (!a || __builtin_mul_overflow(*a, b, &result) || result > largestExtent)
    return std::nullopt;
  return result;
}

std::optional<uint64_t> tensorBytes(const flatbuffers::Vector<int64_t> *shape, fb::DType dtype) {
  std::optional<uint64_t> bytes = sizeOf(static_cast<DType>(dtype));
  if (shape && !isAligned(shape))
    return std::nullopt;
  if (shape)
    for (int64_t extent : *shape) {
      if (extent < 0)
        return std::nullopt;
      bytes = boundedProduct(bytes, static_cast<uint64_t>(extent));
    }
  return bytes;
}

bool overlap(const fb::Slice &a, const fb::Slice &b) {
  return a.space() == b.space() && a.index() == b.index() && a.bytes() != 0 && b.bytes() != 0 &&
         a.offset() < b.offset() + b.bytes() && b.offset() < a.offset() + a.bytes();
}

tl::unexpected<Error> VerifierScope::bad(const std::string &why) const {
  std::string what = source;
  if (program)
    what += ": program '" + quote(*program->name()) + "'";
  if (command) {
    what += ", command " + std::to_string(commandIndex);
    if (command->label() && command->label()->size() != 0)
      what += " (" + quote(*command->label()) + ")";
  }
  return fail(std::move(what), why, "compile the model again");
}

Expected<void> VerifierScope::verifyText(const flatbuffers::String *text, const char *name) const {
  if (!text)
    return {};
  std::string_view characters = text->string_view();
  if (characters.size() > longestString)
    return bad(std::string("has ") + name + " of " + std::to_string(characters.size()) +
               " characters");
  if (!isLine(characters))
    return bad(std::string("has ") + name + " that is no text of one line");
  return {};
}

bool VerifierScope::isPreprocess() const {
  return program && runtime::isPreprocess(program->name()->string_view());
}

std::optional<uint64_t> VerifierScope::spaceBytes(const fb::Slice &slice) const {
  switch (slice.space()) {
  case fb::Space::Checkpoint:
    if (!isPreprocess() || !executable.checkpoint() ||
        slice.index() >= executable.checkpoint()->size())
      return std::nullopt;
    {
      const fb::CheckpointTensor *tensor = executable.checkpoint()->Get(slice.index());
      return tensorBytes(tensor->shape(), tensor->dtype());
    }
  case fb::Space::Parameter:
    return executable.parameter_bytes();
  case fb::Space::State:
    if (program && program->stage() < countStages(executable)) {
      const fb::PipelineStage &stage = *executable.stages()->Get(program->stage());
      return stage.slot_begin() + stage.slot_bytes();
    }
    return executable.state_bytes();
  case fb::Space::Constant:
    return executable.constants() ? executable.constants()->size() : 0;
  // Nobody sets inputs of `preprocess`, or reads outputs.
  case fb::Space::Input:
    return program && !isPreprocess() ? program->input_bytes() : 0;
  case fb::Space::Output:
    return program && !isPreprocess() ? program->output_bytes() : 0;
  case fb::Space::Arena:
    return program ? program->arena_bytes() : 0;
  }
  return std::nullopt;
}

Expected<void> VerifierScope::verifySlice(const fb::Slice *slice, const char *name) {
  if (!slice)
    return bad(std::string(name) + " has no slice");
  if (slice->space() != fb::Space::Checkpoint && slice->index() != 0)
    return bad(std::string(name) + " is of tensor " + std::to_string(slice->index()) +
               " of a space that has none");
  std::optional<uint64_t> size = spaceBytes(*slice);
  if (!size)
    return bad(std::string(name) + " lies in a space that does not exist here");
  if (slice->bytes() > *size || slice->offset() > *size - slice->bytes())
    return bad(std::string(name) + " [" + std::to_string(slice->offset()) + ", +" +
               std::to_string(slice->bytes()) + ") leaves its space of " + std::to_string(*size) +
               " bytes");
  uint64_t &end = used[slice->space()];
  end = std::max(end, slice->offset() + slice->bytes());
  return {};
}

Expected<uint64_t> VerifierScope::countRanks(const flatbuffers::Vector<uint32_t> *axes) const {
  if (!axes || axes->size() == 0 || !isAligned<sizeof(uint32_t)>(axes))
    return bad("is split along no axis");
  uint64_t ranks = 1;
  std::set<uint32_t> known;
  for (uint32_t axis : *axes) {
    if (!executable.grid() || axis >= executable.grid()->size() || !known.insert(axis).second)
      return bad("is split along axis " + std::to_string(axis) + ", which is not there or twice");
    ranks *= executable.grid()->Get(axis)->size();
  }
  return ranks;
}

Expected<void> VerifierScope::verifyWritable(const fb::Slice *slice, const char *name) {
  SINTER_CHECK(verifySlice(slice, name));
  bool writable = slice->space() == fb::Space::State || slice->space() == fb::Space::Output ||
                  slice->space() == fb::Space::Arena ||
                  (slice->space() == fb::Space::Parameter && isPreprocess());
  if (!writable)
    return bad(std::string(name) + " lies in a space that is only read here");
  return {};
}

Expected<void> VerifierScope::verifyMatrix(const fb::Slice *slice, const char *name, uint64_t rows,
                                           uint64_t columns, uint64_t stride, fb::DType dtype,
                                           bool aligned) {
  SINTER_CHECK(verifySlice(slice, name));
  std::optional<uint64_t> bytes = matrixBytes(rows, columns, stride, dtype);
  if (!bytes || *bytes > slice->bytes())
    return bad(std::string(name) + " is too small for [" + std::to_string(rows) + ", " +
               std::to_string(columns) + "] with row stride " + std::to_string(stride));
  if (aligned && slice->offset() % sizeOf(static_cast<DType>(dtype)) != 0)
    return bad(std::string(name) + " is not aligned to its elements");
  return {};
}

Expected<void> VerifierScope::verifyPackedRhs(const fb::Slice *slice, const char *name,
                                              const PackedRhs &layout) {
  SINTER_CHECK(verifySlice(slice, name));
  uint64_t k = layout.k, n = layout.n;
  bool bounded = k != 0 && n != 0 && k <= largestExtent && n <= largestExtent;
  if (!bounded ||
      !boundedProduct(boundedProduct(layout.count(), layout.getPaddedK()), layout.width * 4) ||
      slice->bytes() != layout.getBytes())
    return bad(std::string(name) + " has not the size of panels of [" + std::to_string(k) + ", " +
               std::to_string(n) + "]");
  if (slice->offset() % 64 != 0)
    return bad(std::string(name) + " is not aligned to 64 bytes");
  return {};
}

Expected<void> VerifierScope::verifyUsed(fb::Space space, uint64_t bytes, const char *name) {
  uint64_t end = used[space];
  if (bytes > largestExtent || bytes > end + slack)
    return bad("asks for " + std::to_string(bytes) + " bytes of " + name + ", of which it uses " +
               std::to_string(end));
  return {};
}

} // namespace sinter::runtime
