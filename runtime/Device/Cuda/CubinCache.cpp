#include "runtime/Device/Cuda/CubinCache.h"
#include "runtime/Base/AtomicFile.h"
#include "runtime/Base/CacheFolder.h"
#include "runtime/Base/ContentHash.h"
#include "runtime/Base/MappedFile.h"
#include <algorithm>
#include <charconv>

namespace sinter::runtime::cuda {
namespace {

namespace fs = std::filesystem;

// A file is "<32 hexadecimal digits> <bytes of the log>\n", the log and the machine code; the
// digits are the hash of all that follows them.
constexpr size_t hashDigits = 32;

// Parts with their lengths, so that no two lists of parts hash alike.
void addPart(ContentHash &hash, std::string_view part) {
  hash.add(std::to_string(part.size()) + ":");
  hash.add(part);
}

} // namespace

CubinCache::CubinCache(fs::path folder, uint64_t capBytes)
    : folder(std::move(folder)), cap(capBytes) {}

CubinCache CubinCache::standard() {
  fs::path folder = cacheFolder();
  return CubinCache(folder.empty() ? folder : folder / "cubins");
}

Expected<fs::path> CubinCache::pathOf(const CudaSource &source,
                                      std::string_view architecture) const {
  SINTER_TRY(std::string version, nvrtcVersion());
  ContentHash hash;
  for (std::string_view part : {std::string_view(SINTER_VERSION), std::string_view(version),
                                architecture, std::string_view(source.source)})
    addPart(hash, part);
  for (const std::string &option : source.options)
    addPart(hash, option);
  for (const auto &[name, content] : source.headers) {
    addPart(hash, name);
    addPart(hash, content);
  }
  return folder / (hash.hex() + ".cubin");
}

std::optional<CompiledCuda> CubinCache::read(const fs::path &path) const {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file)
    return std::nullopt;
  std::string_view content(reinterpret_cast<const char *>(file->bytes().data()),
                           file->bytes().size());
  if (content.size() < hashDigits ||
      contentHash(file->bytes().subspan(hashDigits)) != content.substr(0, hashDigits))
    return std::nullopt;
  size_t head = content.find('\n');
  uint64_t logBytes = 0;
  const char *number = content.data() + hashDigits + 1;
  if (head == std::string_view::npos ||
      std::from_chars(number, content.data() + head, logBytes).ec != std::errc() ||
      logBytes > content.size() - head - 1)
    return std::nullopt;
  CompiledCuda code;
  code.log = content.substr(head + 1, logBytes);
  std::span<const std::byte> cubin = file->bytes().subspan(head + 1 + logBytes);
  code.cubin.assign(cubin.begin(), cubin.end());
  code.kernels = parseResources(code.log);
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  return code;
}

void CubinCache::write(const fs::path &path, const CompiledCuda &code) const {
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  std::string head = " " + std::to_string(code.log.size()) + "\n" + code.log;
  ContentHash hash;
  hash.add(head);
  hash.add(code.cubin);
  std::string digits = hash.hex();
  std::span<const std::byte> parts[] = {std::as_bytes(std::span(digits)),
                                        std::as_bytes(std::span(head)), code.cubin};
  if (writeFileAtomically(path.string(), parts))
    removeOldest();
}

// Other processes may remove and add files meanwhile; what cannot be looked at is passed over.
void CubinCache::removeOldest() const {
  struct File {
    fs::file_time_type time;
    uint64_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  uint64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code failed;
    File file{it->last_write_time(failed), it->file_size(failed), it->path()};
    if (failed)
      continue;
    total += file.bytes;
    files.push_back(std::move(file));
  }
  std::sort(files.begin(), files.end(),
            [](const File &a, const File &b) { return a.time < b.time; });
  for (const File &file : files) {
    if (total <= cap)
      return;
    fs::remove(file.path, error);
    total -= file.bytes;
  }
}

Expected<CompiledCuda> CubinCache::compile(const CudaSource &source,
                                           std::string_view architecture) const {
  if (folder.empty())
    return compileCuda(source, architecture);
  SINTER_TRY(fs::path path, pathOf(source, architecture));
  if (std::optional<CompiledCuda> cached = read(path))
    return std::move(*cached);
  Expected<CompiledCuda> code = compileCuda(source, architecture);
  if (code)
    write(path, *code);
  return code;
}

Expected<std::vector<CompiledCuda>> CubinCache::compile(std::span<const CudaSource> sources,
                                                        std::string_view architecture,
                                                        ThreadPool &pool) const {
  std::vector<std::optional<Expected<CompiledCuda>>> results(sources.size());
  pool.run(sources.size(), 1, [&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i)
      results[i] = compile(sources[i], architecture);
  });
  std::vector<CompiledCuda> code;
  for (std::optional<Expected<CompiledCuda>> &result : results) {
    SINTER_TRY(CompiledCuda compiled, std::move(*result));
    code.push_back(std::move(compiled));
  }
  return code;
}

} // namespace sinter::runtime::cuda
