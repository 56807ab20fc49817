#include "compiler/Analysis/FormatNs.h"
#include "llvm/Support/FormatVariadic.h"

std::string sinter::formatNs(double ns) {
  if (ns < 1e3)
    return llvm::formatv("{0:F0} ns", ns).str();
  if (ns < 1e6)
    return llvm::formatv("{0:F2} us", ns / 1e3).str();
  return llvm::formatv("{0:F2} ms", ns / 1e6).str();
}
