//===- GgufConfig.h - The config.json of a GGUF file ------------*- C++ -*-===//
#pragma once

#include "frontends/Gguf/GgufFile.h"
#include <string>

namespace sinter {

/// The config.json that the file's metadata and tensors stand for, as parseModelSpec() reads it.
/// Fails where the architecture is not known, a number is missing or impossible, or the metadata
/// ask for something that config.json has no key for (a rotary scaling of another kind, sizes that
/// differ between layers).
Expected<std::string> makeGgufConfig(const GgufFile &file, std::string_view source);

} // namespace sinter
