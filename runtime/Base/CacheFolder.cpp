#include "runtime/Base/CacheFolder.h"
#include "runtime/Base/AtomicFile.h"
#include "runtime/Base/ByteSize.h"
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>

namespace sinter {
namespace {

namespace fs = std::filesystem;

// Where the files of a kind are and how their names end.
struct Place {
  CacheKind kind;
  std::string_view folder, ending;
};
constexpr Place places[] = {{CacheKind::Executable, "", ".sinter"},
                            {CacheKind::Code, "code", ".o"},
                            {CacheKind::Kernels, "cubins", ".cubin"},
                            {CacheKind::Tuning, "tuning", ""}};

const Place &placeOf(CacheKind kind) { return places[static_cast<size_t>(kind)]; }

// Whether a new file, whose name is hexadecimal digits by chance, is one that has others removed.
// What is written between two of them is a 64th of the limit on average.
bool isTurnToTrim(const fs::path &file, uint64_t bytes, uint64_t limit) {
  constexpr size_t digits = 8;
  const std::string name = file.filename().string().substr(0, digits);
  uint64_t chance = 0;
  std::from_chars(name.data(), name.data() + name.size(), chance, 16);
  return std::ldexp(double(chance), -4 * int(digits)) * double(limit) < 64.0 * double(bytes);
}

// A name is hexadecimal digits and its kind's ending. Files that are written aside have six
// characters more (replaceFile): those of a process that was killed stay.
bool belongs(std::string_view file, std::string_view ending) {
  constexpr size_t digits = 32, aside = 7;
  std::string_view name = file.substr(0, file.find('.'));
  std::string_view rest = file.substr(name.size());
  bool named =
      name.size() == digits && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (!named || !rest.starts_with(ending))
    return false;
  rest.remove_prefix(ending.size());
  return rest.empty() || (rest.size() == aside && rest.front() == '.');
}

} // namespace

fs::path cacheFolder() {
  if (const char *folder = std::getenv("SINTER_CACHE_DIR"))
    return folder;
  if (const char *folder = std::getenv("XDG_CACHE_HOME"))
    return fs::path(folder) / "sinter";
  if (const char *home = std::getenv("HOME"))
    return fs::path(home) / ".cache" / "sinter";
  return {};
}

std::string_view nameOf(CacheKind kind) {
  switch (kind) {
  case CacheKind::Executable:
    return "executable";
  case CacheKind::Code:
    return "code";
  case CacheKind::Kernels:
    return "kernels";
  case CacheKind::Tuning:
    return "tuning";
  }
  return "";
}

Cache::Cache(fs::path folder, uint64_t limit) : root(std::move(folder)), most(limit) {}

Expected<Cache> Cache::standard() {
  const char *variable = std::getenv("SINTER_CACHE_LIMIT");
  if (!variable || std::string_view(variable).empty())
    return Cache(cacheFolder());
  if (std::string_view(variable) == "0")
    return Cache(fs::path(), 0);
  SINTER_TRY(uint64_t limit, parseByteSize(variable, "SINTER_CACHE_LIMIT"));
  return Cache(cacheFolder(), limit);
}

fs::path Cache::pathOf(CacheKind kind, std::string_view name) const {
  if (root.empty())
    return {};
  const Place &place = placeOf(kind);
  return root / place.folder / (std::string(name) += place.ending);
}

void Cache::touch(const fs::path &path) {
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
}

void Cache::write(const fs::path &path, std::span<const std::span<const std::byte>> parts) const {
  uint64_t bytes = 0;
  for (std::span<const std::byte> part : parts)
    bytes += part.size();
  if (path.empty() || bytes > most)
    return;
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  if (replaceFile(path.string(), parts) && isTurnToTrim(path, bytes, most))
    trim(most);
}

std::vector<CacheFile> Cache::list() const {
  std::vector<CacheFile> files;
  for (const Place &place : places) {
    std::error_code error;
    fs::directory_iterator it(root / place.folder, error);
    for (fs::directory_iterator end; !error && it != end; it.increment(error)) {
      std::error_code failed;
      if (!belongs(it->path().filename().string(), place.ending) || !it->is_regular_file(failed))
        continue;
      CacheFile file{place.kind, it->path(), it->file_size(failed), it->last_write_time(failed)};
      if (!failed)
        files.push_back(std::move(file));
    }
  }
  std::ranges::sort(files, {},
                    [](const CacheFile &file) { return std::pair(file.used, file.path); });
  return files;
}

std::vector<CacheFile> Cache::trim(uint64_t bytes) const {
  std::vector<CacheFile> removed;
  if (root.empty())
    return removed;
  std::vector<CacheFile> files = list();
  uint64_t total = 0;
  for (const CacheFile &file : files)
    total += file.bytes;
  for (CacheFile &file : files) {
    if (total <= bytes)
      break;
    total -= file.bytes;
    std::error_code error;
    if (fs::remove(file.path, error))
      removed.push_back(std::move(file));
  }
  return removed;
}

} // namespace sinter
