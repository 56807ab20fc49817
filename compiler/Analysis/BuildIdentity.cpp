#include "compiler/Analysis/BuildIdentity.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm-c/Core.h"
#include <dlfcn.h>
#include <sys/stat.h>

/// Adds what is known of the file that holds a function.
static void addFile(std::string &text, const void *function) {
  Dl_info info;
  struct stat status;
  if (!dladdr(function, &info) || stat(info.dli_fname, &status) != 0)
    return;
  for (auto number : {status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec})
    text += std::to_string(number) + " ";
}

std::string sinter::identifyBuild() {
  std::string text;
  addFile(text, reinterpret_cast<void *>(&identifyBuild));
  addFile(text, reinterpret_cast<void *>(&mlir::registerMLIRContextCLOptions));
  addFile(text, reinterpret_cast<void *>(&LLVMGetVersion));
  return text;
}
