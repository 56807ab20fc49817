#include "tools/sinter/CompileApart.h"
#include "runtime/Base/ChildProcess.h"
#include <algorithm>
#include <cstring>
#include <span>

using namespace sinter;
using namespace sinter::cli;

Expected<CompileResult> sinter::cli::compileApart(const CompileRequest &request) {
  // The size of the executable, the executable, the report.
  SINTER_TRY(std::vector<std::byte> bytes, runInChild("compiling", [&]() -> ChildResult {
               SINTER_TRY(CompileResult result, compile(request));
               uint64_t size = result.executable.size();
               std::vector<std::byte> packed(sizeof size + size + result.memoryReport.size());
               std::memcpy(packed.data(), &size, sizeof size);
               std::ranges::copy(result.executable, packed.begin() + sizeof size);
               std::ranges::copy(std::as_bytes(std::span(result.memoryReport)),
                                 packed.end() - result.memoryReport.size());
               return packed;
             }));
  CompileResult result;
  uint64_t size;
  std::memcpy(&size, bytes.data(), sizeof size);
  const auto *report = reinterpret_cast<const char *>(bytes.data()) + sizeof size + size;
  result.memoryReport.assign(report, bytes.size() - sizeof size - size);
  bytes.resize(sizeof size + size);
  bytes.erase(bytes.begin(), bytes.begin() + sizeof size);
  result.executable = std::move(bytes);
  return result;
}
