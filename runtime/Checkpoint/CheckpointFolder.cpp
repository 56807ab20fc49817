#include "runtime/Checkpoint/CheckpointFolder.h"
#include "runtime/Base/AtomicFile.h"
#include "runtime/Base/ContentHash.h"
#include "runtime/Base/MappedFile.h"
#include <algorithm>
#include <charconv>

namespace sinter::runtime {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view prefix = "step-";
constexpr std::string_view writing = ".writing-", removing = ".removing-";
constexpr const char *manifestName = "manifest.json";

std::string nameOfStep(uint64_t step) { return std::string(prefix) + std::to_string(step); }

std::optional<uint64_t> stepOf(const std::string &name) {
  if (!name.starts_with(prefix))
    return std::nullopt;
  uint64_t step = 0;
  auto [end, error] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), step);
  // One name a step: no leading zeros.
  if (error != std::errc() || nameOfStep(step) != name)
    return std::nullopt;
  return step;
}

tl::unexpected<Error> folderFailure(const fs::path &path, const std::error_code &error) {
  return fail(path.string(), error.message(), "choose a place that is writable and has room");
}

Expected<void> removeAll(const fs::path &path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error)
    return folderFailure(path, error);
  return {};
}

// Takes a checkpoint away: at once for whoever looks, then file by file.
Expected<void> removeCheckpoint(const fs::path &folder, const std::string &name) {
  fs::path aside = folder / (std::string(removing) + name);
  SINTER_CHECK(removeAll(aside));
  std::error_code error;
  fs::rename(folder / name, aside, error);
  if (error)
    return folderFailure(folder / name, error);
  SINTER_CHECK(syncFolder(folder.string()));
  return removeAll(aside);
}

Expected<void> verifyFile(const fs::path &path, const Manifest::File &expected) {
  constexpr const char *remedy = "use another checkpoint";
  SINTER_TRY(MappedFile file, MappedFile::open(path));
  if (file.getBytes().size() != expected.bytes)
    return fail(path.string(),
                "it has " + std::to_string(file.getBytes().size()) + " bytes, its manifest says " +
                    std::to_string(expected.bytes),
                remedy);
  constexpr size_t step = size_t(16) << 20;
  ContentHash hash;
  for (std::span<const std::byte> rest = file.getBytes(); !rest.empty();) {
    std::span<const std::byte> part = rest.first(std::min(step, rest.size()));
    hash.add(part);
    file.release(part);
    rest = rest.subspan(part.size());
  }
  if (hash.hex() != expected.hash)
    return fail(path.string(), "its content is not what the manifest's hash says", remedy);
  return {};
}

} // namespace

Expected<Manifest> readManifest(const fs::path &checkpoint) {
  fs::path path = checkpoint / manifestName;
  SINTER_TRY(MappedFile file, MappedFile::open(path));
  const char *text = reinterpret_cast<const char *>(file.getBytes().data());
  return Manifest::parse({text, file.getBytes().size()}, path.string());
}

Expected<void> verifyCheckpoint(const fs::path &checkpoint) {
  SINTER_TRY(Manifest manifest, readManifest(checkpoint));
  for (const auto &[name, expected] : manifest.files)
    SINTER_CHECK(verifyFile(checkpoint / name, expected));
  return {};
}

Expected<FolderLock> CheckpointFolder::open() const {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    return folderFailure(path, error);
  SINTER_TRY(std::optional<FolderLock> lock, FolderLock::take(path));
  if (!lock)
    return fail(path.string(), "another run is writing to it",
                "choose another `out`, or wait until that run has ended");
  std::vector<fs::path> left;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    for (std::string_view begin : {writing, removing})
      if (name.starts_with(begin) && stepOf(name.substr(begin.size())))
        left.push_back(entry->path());
  }
  if (error)
    return folderFailure(path, error);
  for (const fs::path &entry : left)
    SINTER_CHECK(removeAll(entry));
  return *std::move(lock);
}

fs::path CheckpointFolder::at(uint64_t step) const { return path / nameOfStep(step); }

fs::path CheckpointFolder::aside(uint64_t step) const {
  return path / (std::string(writing) + nameOfStep(step));
}

Expected<void> CheckpointFolder::begin(uint64_t step) const {
  SINTER_CHECK(removeAll(aside(step)));
  std::error_code error;
  fs::create_directory(aside(step), error);
  if (error)
    return folderFailure(aside(step), error);
  return {};
}

Expected<Manifest> CheckpointFolder::writeFiles(uint64_t step,
                                                std::span<const CheckpointFile> files) const {
  Manifest manifest;
  for (const CheckpointFile &file : files) {
    SINTER_CHECK(writeFileSynced((aside(step) / file.name).string(), file.parts));
    ContentHash hash;
    Manifest::File &entry = manifest.files[file.name];
    for (std::span<const std::byte> part : file.parts) {
      hash.add(part);
      entry.bytes += part.size();
    }
    entry.hash = hash.hex();
  }
  return manifest;
}

Expected<void> CheckpointFolder::finish(uint64_t step, const Manifest &manifest) const {
  std::string text = manifest.toJson();
  std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  SINTER_CHECK(writeFileSynced((aside(step) / manifestName).string(), std::span(&bytes, 1)));
  SINTER_CHECK(syncFolder(aside(step).string()));
  std::error_code error;
  if (fs::exists(at(step), error))
    SINTER_CHECK(removeCheckpoint(path, nameOfStep(step)));
  fs::rename(aside(step), at(step), error);
  if (error)
    return folderFailure(at(step), error);
  return syncFolder(path.string());
}

void CheckpointFolder::abandon(uint64_t step) const {
  std::error_code ignored; // the first error is the one to tell
  fs::remove_all(aside(step), ignored);
}

Expected<void> CheckpointFolder::write(uint64_t step, std::span<const CheckpointFile> files) const {
  SINTER_CHECK(begin(step));
  Expected<Manifest> written = writeFiles(step, files);
  Expected<void> done =
      written ? finish(step, *written) : Expected<void>(tl::unexpected(std::move(written).error()));
  if (!done)
    abandon(step);
  return done;
}

Expected<void> CheckpointFolder::removeOld(uint64_t step, uint64_t keep) const {
  uint64_t kept = 0;
  for (const CheckpointEntry &entry : list())
    if (entry.step <= step && ++kept > keep && keep != 0)
      SINTER_CHECK(removeCheckpoint(path, nameOfStep(entry.step)));
  return {};
}

std::vector<CheckpointEntry> CheckpointFolder::list() const {
  std::vector<CheckpointEntry> entries;
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error))
    if (std::optional<uint64_t> step = stepOf(entry->path().filename().string()))
      entries.push_back({entry->path(), *step});
  std::sort(entries.begin(), entries.end(),
            [](const CheckpointEntry &a, const CheckpointEntry &b) { return a.step > b.step; });
  return entries;
}

std::optional<CheckpointEntry>
CheckpointFolder::findNewestWhole(const std::function<void(const Error &)> &onDamaged) const {
  for (const CheckpointEntry &entry : list()) {
    Expected<void> verified = verifyCheckpoint(entry.path);
    if (verified)
      return entry;
    if (onDamaged) {
      Error error = std::move(verified).error();
      error.remedy = "checkpoint " + entry.path.filename().string() + " is passed over";
      onDamaged(error);
    }
  }
  return std::nullopt;
}

} // namespace sinter::runtime
