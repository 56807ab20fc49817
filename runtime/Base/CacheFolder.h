//===- CacheFolder.h - Where Sinter keeps what it can make again -*- C++ -*-===//
#pragma once

#include <filesystem>

namespace sinter {

/// $SINTER_CACHE_DIR, else $XDG_CACHE_HOME/sinter, else ~/.cache/sinter; empty where none of these
/// is known.
std::filesystem::path cacheFolder();

} // namespace sinter
