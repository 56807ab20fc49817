//===- CudaFolders.h - Where CUDA's files may lie ---------------*- C++ -*-===//
//
// Nothing of CUDA is linked: its libraries are opened when they are first needed, so one program
// runs with and without them. They are looked for in this order:
//
//   $SINTER_CUDA_HOME, $CUDA_HOME   a toolkit's folder
//   the system's own search         LD_LIBRARY_PATH, ld.so.conf
//   /usr/local/cuda, then /usr/local/cuda-* with the highest version first
//   /usr/local/nvidia/lib64         where containers find the host's driver
//   Python wheels                   nvidia/*/lib under $SINTER_CUDA_WHEELS, which names a
//                                   site-packages folder, and under that of $VIRTUAL_ENV
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace sinter::runtime::cuda {

/// The folders that exist and may hold libraries, without the system's own.
std::vector<std::filesystem::path> libraryFolders();

/// The folders that exist and may hold headers.
std::vector<std::filesystem::path> headerFolders();

/// Opens the first of `names` ("libnvrtc.so.13") that is found, for the rest of the process. The
/// error says what was looked for and where, and `remedy`.
Expected<void *> openLibrary(std::span<const char *const> names, const std::string &remedy);

} // namespace sinter::runtime::cuda
