#include "runtime/Device/Cuda/CubinCache.h"
#include "runtime/Base/ContentHash.h"
#include "runtime/Base/MappedFile.h"
#include <algorithm>
#include <charconv>
#include <numeric>

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

CubinCache::CubinCache(Cache cache) : cache(std::move(cache)) {}

Expected<CubinCache> CubinCache::standard() {
  SINTER_TRY(Cache cache, Cache::standard());
  return CubinCache(std::move(cache));
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
  return cache.pathOf(CacheKind::Kernels, hash.hex());
}

std::optional<CompiledCuda> CubinCache::read(const fs::path &path) const {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file)
    return std::nullopt;
  std::string_view content(reinterpret_cast<const char *>(file->getBytes().data()),
                           file->getBytes().size());
  if (content.size() < hashDigits ||
      contentHash(file->getBytes().subspan(hashDigits)) != content.substr(0, hashDigits))
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
  std::span<const std::byte> cubin = file->getBytes().subspan(head + 1 + logBytes);
  code.cubin.assign(cubin.begin(), cubin.end());
  code.kernels = parseResources(code.log);
  Cache::touch(path);
  return code;
}

void CubinCache::write(const fs::path &path, const CompiledCuda &code) const {
  std::string head = " " + std::to_string(code.log.size()) + "\n" + code.log;
  ContentHash hash;
  hash.add(head);
  hash.add(code.cubin);
  std::string digits = hash.hex();
  std::span<const std::byte> parts[] = {std::as_bytes(std::span(digits)),
                                        std::as_bytes(std::span(head)), code.cubin};
  cache.write(path, parts);
}

Expected<CompiledCuda> CubinCache::compile(const CudaSource &source,
                                           std::string_view architecture) const {
  if (cache.getFolder().empty())
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
  // The longest first, so that no thread waits long for the last one.
  std::vector<size_t> order(sources.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](size_t i) { return sources[i].source.size(); });
  pool.run(sources.size(), 1, [&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i)
      results[order[i]] = compile(sources[order[i]], architecture);
  });
  std::vector<CompiledCuda> code;
  for (std::optional<Expected<CompiledCuda>> &result : results) {
    SINTER_TRY(CompiledCuda compiled, std::move(*result));
    code.push_back(std::move(compiled));
  }
  return code;
}

} // namespace sinter::runtime::cuda
