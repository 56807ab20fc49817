//===- CompileApart.h - Compiling before a run ------------------*- C++ -*-===//
#pragma once

#include "compiler/Pipelines/Compile.h"

namespace sinter::cli {

/// compile() in a process of its own: what it takes of memory, some 50 to 100 MiB of which a part
/// would stay with this process whatever is freed, is gone before anything runs, and a crash of the
/// compiler is an error. Of the result there are the executable and the report on its memory.
Expected<CompileResult> compileApart(const CompileRequest &request);

} // namespace sinter::cli
