//===- LibraryTable.h - A library's functions as data -----------*- C++ -*-===//
//
// A library that may be absent is a struct of function pointers, made from a list of names:
//
//   #define SINTER_NVRTC_FUNCTIONS(F) F(nvrtcVersion) F(nvrtcCompileProgram)
//   struct NvrtcApi { SINTER_NVRTC_FUNCTIONS(SINTER_TABLE_ENTRY) };
//
// and filled when somebody first asks for it. Since the table is data, a test installs one of its
// own, and everything above runs as if the library and its device were there.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"
#include "runtime/Device/Cuda/CudaFolders.h"
#include <dlfcn.h>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

// CUDA's headers rename functions by macros (cuMemGetInfo is cuMemGetInfo_v2). Arguments are
// expanded before these see them, so the table's entries bear the names that the library exports,
// and code that names an entry is renamed alike.
#define SINTER_TABLE_ENTRY(name) decltype(&::name) name = nullptr;
#define SINTER_TABLE_LOAD(name) SINTER_TABLE_LOAD_NAMED(name)
#define SINTER_TABLE_LOAD_NAMED(name)                                                              \
  if (!(table.name = reinterpret_cast<decltype(table.name)>(findFunction(library, #name))))        \
    return #name;

namespace sinter::runtime::cuda {

/// A function of an open library, or null.
inline void *findFunction(void *library, std::string_view name) {
  if (void *function = ::dlsym(library, std::string(name).c_str()))
    return function;
  // Of functions with a version in their names something changed; of this one only the name, with
  // CUDA 12.8.
  return name == "cuEventElapsedTime_v2" ? ::dlsym(library, "cuEventElapsedTime") : nullptr;
}

/// The table of one library.
template <typename Api> class LibraryTable {
public:
  /// The process's table of this library.
  static LibraryTable &instance() {
    static LibraryTable table;
    return table;
  }

  /// Fills a table from an open library; returns the name that the library lacks, or null.
  using Load = const char *(*)(Api & table, void *library);

  /// The installed table, else the library's, one of `names()`, which is opened by the first call
  /// that finds it.
  template <typename Names>
  Expected<const Api *> get(Names names, const std::string &remedy, Load load) {
    std::lock_guard lock(mutex);
    if (installed)
      return installed;
    if (loaded)
      return &table;
    std::vector<const char *> candidates = names();
    SINTER_TRY(void *library, openLibrary(candidates, remedy));
    if (const char *missing = load(table, library))
      return fail(candidates.front(), std::string("it is too old: it has no ") + missing, remedy);
    loaded = true;
    return &table;
  }

  /// Uses `api` from now on; null for the library's own.
  void install(const Api *api) {
    std::lock_guard lock(mutex);
    installed = api;
  }

private:
  std::mutex mutex;
  Api table;
  bool loaded = false;
  const Api *installed = nullptr;
};

} // namespace sinter::runtime::cuda
