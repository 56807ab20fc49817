#include "runtime/Format/ExecutableFile.h"
#include "runtime/Base/AtomicFile.h"
#include "runtime/Format/Executable_generated.h"
#include <algorithm>
#include <cstring>
#include <xxhash.h>

namespace sinter::runtime {
namespace {

constexpr char magic[8] = {'S', 'I', 'N', 'T', 'E', 'R', '\r', '\n'};
constexpr uint64_t largestFlatbuffer = (uint64_t(1) << 31) - 1;
constexpr size_t hashOffset = 24, hashBytes = 16;

/// Who wrote a flatbuffer of another version, or nothing where that cannot be read: of such a file
/// only the place of `producer` in the root table is known.
std::string readProducer(std::span<const std::byte> flatbuffer) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(flatbuffer.data()),
                                 flatbuffer.size());
  if (!verifier.VerifyOffset(0))
    return {};
  const auto *root = flatbuffers::GetRoot<flatbuffers::Table>(flatbuffer.data());
  constexpr auto field = fb::Executable::VT_PRODUCER;
  if (!root->VerifyTableStart(verifier) || !root->VerifyOffset(verifier, field))
    return {};
  const auto *producer = root->GetPointer<const flatbuffers::String *>(field);
  if (!producer || !verifier.VerifyString(producer) || producer->size() > 64 ||
      !std::all_of(producer->begin(), producer->end(), [](char c) { return c >= ' ' && c <= '~'; }))
    return {};
  return producer->str();
}

} // namespace

std::array<std::byte, executableHeaderBytes>
makeExecutableHeader(std::span<const std::byte> flatbuffer) {
  std::array<std::byte, executableHeaderBytes> header{};
  uint32_t version = executableVersion;
  uint64_t size = flatbuffer.size();
  XXH128_canonical_t hash;
  XXH128_canonicalFromHash(&hash, XXH3_128bits(flatbuffer.data(), flatbuffer.size()));
  std::memcpy(header.data(), magic, sizeof(magic));
  std::memcpy(header.data() + 8, &version, sizeof(version));
  std::memcpy(header.data() + 16, &size, sizeof(size));
  std::memcpy(header.data() + hashOffset, hash.digest, hashBytes);
  return header;
}

Expected<void> writeExecutable(const std::string &path, std::span<const std::byte> flatbuffer) {
  if (flatbuffer.size() > largestFlatbuffer)
    return fail(path, "an executable cannot hold more than 2 GiB",
                "leave the weights in their files instead of embedding them");
  auto header = makeExecutableHeader(flatbuffer);
  std::span<const std::byte> parts[] = {header, flatbuffer};
  return writeFileAtomically(path, parts);
}

Expected<std::span<const std::byte>> openEnvelope(std::span<const std::byte> file,
                                                  std::string_view source) {
  std::string what(source);
  if (file.size() < executableHeaderBytes)
    return fail(what, "is too short for an executable: " + std::to_string(file.size()) + " bytes",
                "compile the model again");
  if (std::memcmp(file.data(), magic, sizeof(magic)) != 0)
    return fail(what, "is not a Sinter executable", "give a file that 'sinter compile' wrote");
  uint32_t version;
  uint64_t size;
  std::memcpy(&version, file.data() + 8, sizeof(version));
  std::memcpy(&size, file.data() + 16, sizeof(size));
  std::span<const std::byte> flatbuffer = file.subspan(executableHeaderBytes);
  if (version != executableVersion) {
    std::string producer = readProducer(flatbuffer);
    return fail(what,
                "has version " + std::to_string(version) + " of the format" +
                    (producer.empty() ? "" : ", written by " + producer) +
                    "; this Sinter reads version " + std::to_string(executableVersion),
                "compile the model again with this Sinter: sinter compile MODEL -o " + what);
  }
  if (size != flatbuffer.size() || size > largestFlatbuffer)
    return fail(what,
                "is damaged: the header speaks of " + std::to_string(size) + " bytes, " +
                    std::to_string(flatbuffer.size()) + " are there",
                "copy or compile it again");
  auto expected = makeExecutableHeader(flatbuffer);
  if (!std::equal(expected.begin(), expected.end(), file.begin()))
    return fail(what, "is damaged: its content does not match its checksum",
                "copy or compile it again");
  return flatbuffer;
}

} // namespace sinter::runtime
