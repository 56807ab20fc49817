//===- Command.cpp - Run a program and read what it prints ----------------===//
#include "test/simt/Command.h"

#include <array>
#include <cstdio>

using namespace sinter::simt;

namespace {

/// The word as a shell reads it back.
std::string quoted(const std::string &word) {
  std::string text = "'";
  for (char c : word)
    text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

} // namespace

CommandResult sinter::simt::runCommand(const std::vector<std::string> &words) {
  std::string line;
  for (const std::string &word : words)
    line += quoted(word) + " ";
  CommandResult result;
  FILE *pipe = popen((line + "2>&1").c_str(), "r");
  if (!pipe)
    return result;
  std::array<char, 4096> buffer;
  while (size_t count = fread(buffer.data(), 1, buffer.size(), pipe))
    result.output.append(buffer.data(), count);
  result.status = pclose(pipe);
  return result;
}
