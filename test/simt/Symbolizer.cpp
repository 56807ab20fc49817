//===- Symbolizer.cpp - From an instruction to a line of a kernel ---------===//
#include "test/simt/Symbolizer.h"

#include "test/simt/Command.h"

#include <cstdint>
#include <dlfcn.h>
#include <filesystem>
#include <map>
#include <sstream>

using namespace sinter::simt;

namespace {

/// Whether a frame is the emulator's: test/simt/Kernel*.h.
bool isPrelude(const std::string &file) {
  return file.find("test/simt/Kernel") != std::string::npos;
}

/// "void norm<4>(float*)" without the types around the name.
std::string shortName(std::string function) {
  function.erase(std::min(function.size(), function.find('(')));
  unsigned depth = 0;
  for (size_t at = function.size(); at-- > 0;) {
    depth += function[at] == '>';
    depth -= function[at] == '<';
    if (function[at] == ' ' && depth == 0)
      return function.substr(at + 1);
  }
  return function;
}

/// llvm-symbolizer's answer is a function and a "file:line:column" for each frame, the innermost
/// first.
std::string readFrames(const std::string &answer) {
  std::istringstream lines(answer);
  std::string function, place, text;
  while (std::getline(lines, function) && !function.empty() && std::getline(lines, place)) {
    if (isPrelude(place) || place.starts_with("??"))
      continue;
    place.erase(place.rfind(':'));
    std::string file = std::filesystem::path(place).filename().string();
    text += (text.empty() ? "" : ", called from ") + file + " (" + shortName(function) + ")";
  }
  return text;
}

std::string hexadecimal(uintptr_t value) {
  std::ostringstream text;
  text << "0x" << std::hex << value;
  return text.str();
}

std::string resolve(const void *returnAddress) {
  Dl_info info;
  if (!dladdr(returnAddress, &info) || !info.dli_fname)
    return "an unknown place";
  // The call itself is before the address to which it returns.
  uintptr_t offset = uintptr_t(returnAddress) - uintptr_t(info.dli_fbase) - 1;
  std::string module = std::filesystem::exists(info.dli_fname)
                           ? std::string(info.dli_fname)
                           : std::filesystem::read_symlink("/proc/self/exe").string();
  std::string symbolizer = SINTER_SIMT_SYMBOLIZER;
  if (!symbolizer.empty()) {
    auto answer = runCommand({symbolizer, "--obj=" + module, "--functions=linkage",
                              "--inlining=true", hexadecimal(offset)});
    if (answer.status == 0)
      if (std::string frames = readFrames(answer.output); !frames.empty())
        return frames;
  }
  return std::filesystem::path(module).filename().string() + "+" + hexadecimal(offset);
}

} // namespace

std::string sinter::simt::sourcePlace(const void *returnAddress) {
  static std::map<const void *, std::string> known;
  auto [found, isNew] = known.try_emplace(returnAddress);
  if (isNew)
    found->second = resolve(returnAddress);
  return found->second;
}
