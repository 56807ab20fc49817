//===- FakeNvrtc.cpp - A compiler for the emulator behind NVRTC's table ----===//
#include "test/cuda/FakeCubin.h"
#include "test/cuda/FakeDevice.h"

#include "runtime/Base/ContentHash.h"

#include <cstring>
#include <fstream>
#include <nvrtc.h>

using namespace sinter;
using namespace sinter::fake;
namespace fs = std::filesystem;

namespace {

struct FakeProgram {
  std::string name, source;
  std::map<std::string, std::string> headers;
  std::string log;
  std::vector<std::byte> cubin;
};

FakeDevice &device() { return FakeDevice::instance(); }

#define SINTER_CALL(name)                                                                          \
  if (int error = enter(#name))                                                                    \
  return static_cast<nvrtcResult>(error)

int enter(const char *name) {
  std::lock_guard lock(device().mutex);
  return device().enter(name);
}

FakeProgram &programOf(nvrtcProgram handle) { return *reinterpret_cast<FakeProgram *>(handle); }

/// The value of an option that is written "--name=value", "-Xvalue" or "-X value".
std::optional<std::string> valueOf(const std::vector<std::string> &words, size_t &at,
                                   const std::string &name, const std::string &shortName) {
  const std::string &word = words[at];
  if (word.starts_with(name + "="))
    return word.substr(name.size() + 1);
  if (shortName.empty() || !word.starts_with(shortName))
    return std::nullopt;
  if (word.size() > shortName.size())
    return word.substr(shortName.size());
  return at + 1 < words.size() ? std::optional(words[++at]) : std::nullopt;
}

/// Headers that come in memory, as files. CUDA's own are left out: the emulator has them.
fs::path writeHeaders(const std::map<std::string, std::string> &headers, const fs::path &cache) {
  std::string all;
  for (const auto &[name, text] : headers)
    all += name + '\0' + text + '\0';
  fs::path folder = cache / ("headers-" + contentHash(std::as_bytes(std::span(all))));
  for (const auto &[name, text] : headers) {
    if (name.starts_with("cuda_"))
      continue;
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::binary) << text;
  }
  return folder;
}

} // namespace

namespace sinter::fake::nvrtc {

// The version stands for the emulator's headers as well, which have a part in every object: what
// NVRTC's users keep on a disk, they keep by its version.
nvrtcResult nvrtcVersion(int *major, int *minor) {
  SINTER_CALL(nvrtcVersion);
  *major = 13;
  std::string toolchain = simt::Program::toolchain() + (device().options.checked ? "c" : "f");
  *minor =
      int(std::stoul(contentHash(std::as_bytes(std::span(toolchain))).substr(0, 7), nullptr, 16));
  return NVRTC_SUCCESS;
}
const char *nvrtcGetErrorString(nvrtcResult result) {
  switch (result) {
  case NVRTC_SUCCESS:
    return "NVRTC_SUCCESS";
  case NVRTC_ERROR_OUT_OF_MEMORY:
    return "NVRTC_ERROR_OUT_OF_MEMORY";
  case NVRTC_ERROR_INVALID_OPTION:
    return "NVRTC_ERROR_INVALID_OPTION";
  case NVRTC_ERROR_COMPILATION:
    return "NVRTC_ERROR_COMPILATION";
  default:
    return "NVRTC_ERROR unknown";
  }
}
nvrtcResult nvrtcCreateProgram(nvrtcProgram *handle, const char *source, const char *name,
                               int headerCount, const char *const *headers,
                               const char *const *names) {
  SINTER_CALL(nvrtcCreateProgram);
  auto *program = new FakeProgram{name ? name : "default_program", source, {}, {}, {}};
  for (int i = 0; i < headerCount; ++i)
    program->headers[names[i]] = headers[i];
  *handle = reinterpret_cast<nvrtcProgram>(program);
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram *handle) {
  SINTER_CALL(nvrtcDestroyProgram);
  delete &programOf(*handle);
  *handle = nullptr;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram handle, int count, const char *const *given) {
  SINTER_CALL(nvrtcCompileProgram);
  FakeProgram &program = programOf(handle);
  std::vector<std::string> words(given, given + count);
  simt::CompileOptions options;
  options.checked = device().options.checked;
  options.name = program.name;
  options.cache = device().options.cache;
  if (!program.headers.empty())
    options.includes.push_back(writeHeaders(program.headers, options.cache));
  std::string architecture;
  for (size_t at = 0; at < words.size(); ++at) {
    if (auto value = valueOf(words, at, "--gpu-architecture", "-arch="))
      architecture = *value;
    else if (auto define = valueOf(words, at, "--define-macro", "-D"))
      options.defines.push_back(*define);
    else if (auto folder = valueOf(words, at, "--include-path", "-I"))
      // The toolkit's own headers are the emulator's concern.
      if (!fs::exists(fs::path(*folder) / "cuda_bf16.h"))
        options.includes.push_back(*folder);
  }
  if (!architecture.starts_with("sm_")) {
    program.log = "error: --gpu-architecture must be a real one";
    return NVRTC_ERROR_INVALID_OPTION;
  }
  auto object = simt::Program::build(program.source, options);
  if (!object) {
    program.log = object.error().why;
    return NVRTC_ERROR_COMPILATION;
  }
  std::ifstream file(*object, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  auto *start = reinterpret_cast<const std::byte *>(bytes.data());
  program.cubin = writeCubin({architecture, {start, start + bytes.size()}});
  std::lock_guard lock(device().mutex);
  ++device().counts.compiled;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram handle, size_t *bytes) {
  SINTER_CALL(nvrtcGetCUBINSize);
  *bytes = programOf(handle).cubin.size();
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram handle, char *bytes) {
  SINTER_CALL(nvrtcGetCUBIN);
  memcpy(bytes, programOf(handle).cubin.data(), programOf(handle).cubin.size());
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram handle, size_t *bytes) {
  SINTER_CALL(nvrtcGetProgramLogSize);
  *bytes = programOf(handle).log.size() + 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram handle, char *text) {
  SINTER_CALL(nvrtcGetProgramLog);
  memcpy(text, programOf(handle).log.c_str(), programOf(handle).log.size() + 1);
  return NVRTC_SUCCESS;
}

} // namespace sinter::fake::nvrtc

const std::vector<NamedFunction> &sinter::fake::nvrtcFunctions() {
#define SINTER_FAKE_NVRTC(name)                                                                    \
  namedFunction<decltype(::name)>(SINTER_FAKE_NAME(name), &nvrtc::name)
  static const std::vector<NamedFunction> functions = {
      SINTER_FAKE_NVRTC(nvrtcVersion),        SINTER_FAKE_NVRTC(nvrtcGetErrorString),
      SINTER_FAKE_NVRTC(nvrtcCreateProgram),  SINTER_FAKE_NVRTC(nvrtcDestroyProgram),
      SINTER_FAKE_NVRTC(nvrtcCompileProgram), SINTER_FAKE_NVRTC(nvrtcGetCUBINSize),
      SINTER_FAKE_NVRTC(nvrtcGetCUBIN),       SINTER_FAKE_NVRTC(nvrtcGetProgramLogSize),
      SINTER_FAKE_NVRTC(nvrtcGetProgramLog),
  };
  return functions;
}
