// A compiler that needs no toolkit: the machine code is the source, the log tells of one kernel.
#pragma once

#include "runtime/Device/Cuda/NvrtcApi.h"
#include <atomic>
#include <cstring>
#include <string>

namespace sinter::runtime::cuda::testing {

/// Installed while it lives. A source with the word "wrong" in it does not compile.
class EchoNvrtc {
public:
  EchoNvrtc() {
    compilations() = 0;
    table().nvrtcVersion = [](int *major, int *minor) {
      *major = 13, *minor = version();
      return NVRTC_SUCCESS;
    };
    table().nvrtcGetErrorString = [](nvrtcResult) { return "an error"; };
    table().nvrtcCreateProgram = [](nvrtcProgram *program, const char *source, const char *, int,
                                    const char *const *, const char *const *) {
      *program = reinterpret_cast<nvrtcProgram>(new std::string(source));
      return NVRTC_SUCCESS;
    };
    table().nvrtcDestroyProgram = [](nvrtcProgram *program) {
      delete reinterpret_cast<std::string *>(*program);
      return NVRTC_SUCCESS;
    };
    table().nvrtcCompileProgram = [](nvrtcProgram program, int, const char *const *) {
      ++compilations();
      return text(program).find("wrong") == std::string::npos ? NVRTC_SUCCESS
                                                              : NVRTC_ERROR_COMPILATION;
    };
    table().nvrtcGetCUBINSize = [](nvrtcProgram program, size_t *bytes) {
      *bytes = text(program).size();
      return NVRTC_SUCCESS;
    };
    table().nvrtcGetCUBIN = [](nvrtcProgram program, char *out) {
      std::memcpy(out, text(program).data(), text(program).size());
      return NVRTC_SUCCESS;
    };
    table().nvrtcGetProgramLogSize = [](nvrtcProgram program, size_t *bytes) {
      *bytes = logOf(program).size() + 1;
      return NVRTC_SUCCESS;
    };
    table().nvrtcGetProgramLog = [](nvrtcProgram program, char *out) {
      std::string log = logOf(program);
      std::memcpy(out, log.c_str(), log.size() + 1);
      return NVRTC_SUCCESS;
    };
    installNvrtcApi(&table());
  }
  ~EchoNvrtc() { installNvrtcApi(nullptr); }
  EchoNvrtc(const EchoNvrtc &) = delete;
  EchoNvrtc &operator=(const EchoNvrtc &) = delete;

  /// How many programs were compiled since it was made.
  static std::atomic<int> &compilations() {
    static std::atomic<int> count;
    return count;
  }
  /// The minor version that it tells.
  static int &version() {
    static int minor = 0;
    return minor;
  }

private:
  static NvrtcApi &table() {
    static NvrtcApi instance;
    return instance;
  }
  static std::string &text(nvrtcProgram program) {
    return *reinterpret_cast<std::string *>(program);
  }
  static std::string logOf(nvrtcProgram program) {
    if (text(program).find("wrong") != std::string::npos)
      return "echo.cu(3): error: wrong\n1 error detected\n";
    return "ptxas info    : Compiling entry function 'echo' for 'sm_90a'\n"
           "ptxas info    : Used 7 registers, used 0 barriers, 48 bytes smem\n";
  }
};

} // namespace sinter::runtime::cuda::testing
