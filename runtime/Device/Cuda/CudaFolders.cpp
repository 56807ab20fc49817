#include "runtime/Device/Cuda/CudaFolders.h"
#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>

namespace sinter::runtime::cuda {
namespace {

namespace fs = std::filesystem;

// Sorted, since a folder's order is the file system's.
std::vector<fs::path> entriesOf(const fs::path &folder) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    entries.push_back(it->path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

// "cuda-12.9" is older than "cuda-12.10".
std::pair<int, int> versionOf(const fs::path &toolkit) {
  std::string name = toolkit.filename().string();
  char *end = nullptr;
  int major = int(std::strtol(name.c_str() + std::min<size_t>(name.size(), 5), &end, 10));
  return {major, *end == '.' ? int(std::strtol(end + 1, nullptr, 10)) : 0};
}

std::vector<fs::path> toolkits() {
  std::vector<fs::path> found;
  for (const char *variable : {"SINTER_CUDA_HOME", "CUDA_HOME"})
    if (const char *home = std::getenv(variable))
      found.emplace_back(home);
  found.emplace_back("/usr/local/cuda");
  std::vector<fs::path> versions;
  for (const fs::path &entry : entriesOf("/usr/local"))
    if (entry.filename().string().starts_with("cuda-"))
      versions.push_back(entry);
  std::sort(versions.begin(), versions.end(),
            [](const fs::path &a, const fs::path &b) { return versionOf(a) > versionOf(b); });
  found.insert(found.end(), versions.begin(), versions.end());
  return found;
}

// The folders nvidia/* of Python environments.
std::vector<fs::path> wheels() {
  std::vector<fs::path> sites;
  if (const char *site = std::getenv("SINTER_CUDA_WHEELS"))
    sites.emplace_back(site);
  if (const char *environment = std::getenv("VIRTUAL_ENV"))
    for (const fs::path &python : entriesOf(fs::path(environment) / "lib"))
      sites.push_back(python / "site-packages");
  std::vector<fs::path> found;
  for (const fs::path &site : sites)
    for (const fs::path &wheel : entriesOf(site / "nvidia"))
      found.push_back(wheel);
  return found;
}

void addIfThere(std::vector<fs::path> &folders, const fs::path &folder) {
  std::error_code ignored;
  if (fs::is_directory(folder, ignored) &&
      std::find(folders.begin(), folders.end(), folder) == folders.end())
    folders.push_back(folder);
}

} // namespace

std::vector<fs::path> libraryFolders() {
  std::vector<fs::path> folders;
  for (const fs::path &toolkit : toolkits())
    for (const char *below : {"lib64", "lib", "targets/x86_64-linux/lib"})
      addIfThere(folders, toolkit / below);
  addIfThere(folders, "/usr/local/nvidia/lib64");
  for (const fs::path &wheel : wheels())
    addIfThere(folders, wheel / "lib");
  return folders;
}

std::vector<fs::path> headerFolders() {
  std::vector<fs::path> folders;
  for (const fs::path &toolkit : toolkits())
    for (const char *below : {"include", "targets/x86_64-linux/include"})
      addIfThere(folders, toolkit / below);
  for (const fs::path &wheel : wheels())
    addIfThere(folders, wheel / "include");
  return folders;
}

Expected<void *> openLibrary(std::span<const char *const> names, const std::string &remedy) {
  // An own toolkit goes before the system's libraries, these before what merely lies about.
  std::vector<std::string> before, after;
  for (const fs::path &folder : libraryFolders()) {
    const char *home = std::getenv("SINTER_CUDA_HOME");
    bool own = home && folder.string().starts_with(home);
    (own ? before : after).push_back(folder.string() + "/");
  }
  std::vector<std::string> places = before;
  places.emplace_back(); // the system's search
  places.insert(places.end(), after.begin(), after.end());
  for (const char *name : names)
    for (const std::string &place : places)
      if (void *library = ::dlopen((place + name).c_str(), RTLD_NOW | RTLD_LOCAL))
        return library;
  std::string all, where = "the system's library path";
  for (const char *name : names)
    all += (all.empty() ? "" : " or ") + std::string(name);
  for (const std::string &place : places)
    if (!place.empty())
      where += ", " + place.substr(0, place.size() - 1);
  return fail(all, "is not in " + where, remedy);
}

} // namespace sinter::runtime::cuda
