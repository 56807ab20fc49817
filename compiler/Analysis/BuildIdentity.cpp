#include "compiler/Analysis/BuildIdentity.h"
#include <dlfcn.h>
#include <sys/stat.h>

std::string sinter::identifyBuild() {
  Dl_info info;
  struct stat status;
  std::string text;
  if (!dladdr(reinterpret_cast<void *>(&identifyBuild), &info) ||
      stat(info.dli_fname, &status) != 0)
    return text;
  for (auto number : {status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec})
    text += std::to_string(number) + " ";
  return text;
}
