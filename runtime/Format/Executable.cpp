#include "runtime/Format/Executable.h"
#include "runtime/Base/MappedFile.h"
#include "runtime/Format/ExecutableFile.h"
#include "runtime/Format/ExecutableVerifier.h"
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace sinter::runtime {

// A mapped file, or a copy at an address that suits the flatbuffer.
struct Executable::Bytes {
  std::optional<MappedFile> file;
  struct Free {
    void operator()(std::byte *memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> copy;

  std::span<const std::byte> take(std::span<const std::byte> source) {
    copy.reset(static_cast<std::byte *>(std::aligned_alloc(64, (source.size() + 64) / 64 * 64)));
    if (!source.empty())
      std::memcpy(copy.get(), source.data(), source.size());
    return {copy.get(), source.size()};
  }
};

Executable::Executable(std::unique_ptr<Bytes> bytes, std::string_view source)
    : bytes(std::move(bytes)), source(source) {}

Executable::~Executable() = default;

Expected<void> Executable::verify(std::span<const std::byte> flatbuffer) {
  content = flatbuffer;
  SINTER_TRY(verified, verifyExecutable(flatbuffer, source));
  return {};
}

Expected<std::shared_ptr<const Executable>> Executable::open(const std::string &path,
                                                             std::string_view source) {
  auto bytes = std::make_unique<Bytes>();
  SINTER_TRY(MappedFile file, MappedFile::open(path));
  bytes->file = std::move(file);
  SINTER_TRY(std::span<const std::byte> flatbuffer, openEnvelope(bytes->file->getBytes(), path));
  std::shared_ptr<Executable> executable(
      new Executable(std::move(bytes), source.empty() ? path : source));
  SINTER_CHECK(executable->verify(flatbuffer));
  return executable;
}

Expected<std::shared_ptr<const Executable>> Executable::fromFile(std::span<const std::byte> file,
                                                                 std::string_view source) {
  SINTER_TRY(std::span<const std::byte> flatbuffer, openEnvelope(file, source));
  return fromFlatbuffer(flatbuffer, source);
}

Expected<std::shared_ptr<const Executable>>
Executable::fromFlatbuffer(std::span<const std::byte> flatbuffer, std::string_view source) {
  auto bytes = std::make_unique<Bytes>();
  std::span<const std::byte> copy = bytes->take(flatbuffer);
  std::shared_ptr<Executable> executable(new Executable(std::move(bytes), source));
  SINTER_CHECK(executable->verify(copy));
  return executable;
}

bool Executable::isForCpu() const {
  const flatbuffers::String *device = getRoot().device();
  return !device || device->size() == 0 || device->string_view() == "cpu";
}

const fb::Program *Executable::program(std::string_view name) const {
  if (getRoot().programs())
    for (const fb::Program *program : *getRoot().programs())
      if (program->name()->string_view() == name)
        return program;
  return nullptr;
}

std::optional<std::string_view> Executable::metadata(std::string_view key) const {
  if (getRoot().metadata())
    for (const fb::Metadata *entry : *getRoot().metadata())
      if (entry->key()->string_view() == key)
        return entry->value()->string_view();
  return std::nullopt;
}

Expected<std::vector<int64_t>> Executable::metadataNumbers(std::string_view key) const {
  std::vector<int64_t> numbers;
  std::string_view text = metadata(key).value_or("");
  while (!text.empty()) {
    size_t comma = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, comma);
    int64_t number;
    auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), number);
    if (error != std::errc() || end != item.data() + item.size())
      return fail(source,
                  "its '" + std::string(key) + "' is '" + std::string(text.substr(0, 80)) +
                      "', which is no list of numbers",
                  "compile the model again");
    numbers.push_back(number);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return numbers;
}

Expected<int64_t> Executable::metadataNumber(std::string_view key) const {
  SINTER_TRY(std::vector<int64_t> numbers, metadataNumbers(key));
  if (numbers.size() != 1)
    return fail(source, "it does not say its '" + std::string(key) + "'",
                "compile the model again");
  if (numbers.front() < 1 || numbers.front() > INT32_MAX)
    return fail(source,
                "its '" + std::string(key) + "' is " + std::to_string(numbers.front()) +
                    ", which is no count",
                "compile the model again");
  return numbers.front();
}

std::optional<std::span<const std::byte>> Executable::attachment(std::string_view name) const {
  if (getRoot().attachments())
    for (const fb::Attachment *entry : *getRoot().attachments())
      if (entry->name()->string_view() == name) {
        if (!entry->content())
          return std::span<const std::byte>();
        return std::as_bytes(std::span(entry->content()->data(), entry->content()->size()));
      }
  return std::nullopt;
}

} // namespace sinter::runtime
