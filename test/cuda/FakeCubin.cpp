//===- FakeCubin.cpp - What the fake calls machine code -------------------===//
#include "test/cuda/FakeCubin.h"

#include <cstdlib>
#include <cstring>
#include <sstream>

using namespace sinter::fake;

namespace {

constexpr char cubinMagic[] = "sinter-fake-cubin ";

} // namespace

std::vector<std::byte> sinter::fake::writeCubin(const FakeCubin &cubin) {
  std::string head =
      cubinMagic + cubin.architecture + " " + std::to_string(cubin.object.size()) + "\n";
  auto *bytes = reinterpret_cast<const std::byte *>(head.data());
  std::vector<std::byte> result(bytes, bytes + head.size());
  result.insert(result.end(), cubin.object.begin(), cubin.object.end());
  return result;
}

std::optional<FakeCubin> sinter::fake::readCubin(const void *code) {
  auto *text = static_cast<const char *>(code);
  if (strncmp(text, cubinMagic, strlen(cubinMagic)) != 0)
    return std::nullopt;
  const char *end = strchr(text, '\n');
  std::istringstream head(std::string(text + strlen(cubinMagic), end));
  FakeCubin cubin;
  size_t size = 0;
  head >> cubin.architecture >> size;
  auto *object = reinterpret_cast<const std::byte *>(end + 1);
  cubin.object.assign(object, object + size);
  return cubin;
}

bool sinter::fake::runsOn(const std::string &architecture, int major, int minor) {
  if (!architecture.starts_with("sm_"))
    return false;
  bool exact = architecture.ends_with('a');
  int number = atoi(architecture.c_str() + strlen("sm_"));
  return number / 10 == major && (exact ? number % 10 == minor : number % 10 <= minor);
}
