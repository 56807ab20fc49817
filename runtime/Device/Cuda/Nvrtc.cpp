#include "runtime/Device/Cuda/Nvrtc.h"
#include "runtime/Device/Cuda/CudaFolders.h"
#include "runtime/Device/Cuda/NvrtcApi.h"
#include <memory>

namespace sinter::runtime::cuda {
namespace {

Expected<std::string> findHeaders() {
  std::string where;
  for (const std::filesystem::path &folder : headerFolders()) {
    std::error_code ignored;
    if (std::filesystem::exists(folder / "cuda_bf16.h", ignored))
      return folder.string();
    where += (where.empty() ? "" : ", ") + folder.string();
  }
  return fail("cuda_bf16.h", "is in none of CUDA's folders (" + where + ")",
              "install the CUDA toolkit, or name its folder in SINTER_CUDA_HOME");
}

// The line of a log that says what is wrong.
std::string firstError(const std::string &log) {
  size_t at = log.find("error");
  if (at == std::string::npos)
    return "";
  size_t begin = log.rfind('\n', at);
  begin = begin == std::string::npos ? 0 : begin + 1;
  return log.substr(begin, log.find('\n', at) - begin);
}

struct Program {
  const NvrtcApi &api;
  nvrtcProgram handle = nullptr;
  explicit Program(const NvrtcApi &api) : api(api) {}
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;
  ~Program() {
    if (handle)
      api.nvrtcDestroyProgram(&handle);
  }
};

} // namespace

Expected<std::string> nvrtcVersion() {
  SINTER_TRY(const NvrtcApi *api, nvrtcApi());
  int major = 0, minor = 0;
  if (api->nvrtcVersion(&major, &minor) != NVRTC_SUCCESS)
    return fail("NVRTC", "does not tell its version", "install the CUDA toolkit again");
  return std::to_string(major) + "." + std::to_string(minor);
}

Expected<CompiledCuda> compileCuda(const CudaSource &source, std::string_view architecture) {
  SINTER_TRY(const NvrtcApi *api, nvrtcApi());
  SINTER_TRY(std::string headers, findHeaders());
  std::vector<std::string> options = {"--gpu-architecture=" + std::string(architecture),
                                      "--std=c++20", "--ptxas-options=-v", "-I" + headers};
  options.insert(options.end(), source.options.begin(), source.options.end());
  std::vector<const char *> arguments, names, contents;
  for (const std::string &option : options)
    arguments.push_back(option.c_str());
  for (const auto &[name, content] : source.headers) {
    names.push_back(name.c_str());
    contents.push_back(content.c_str());
  }
  auto failed = [&](nvrtcResult result, const std::string &log) {
    std::string why = firstError(log);
    Error error{source.name + " for " + std::string(architecture),
                why.empty() ? api->nvrtcGetErrorString(result) : why, "report this"};
    error.defect = true;
    return tl::unexpected(std::move(error));
  };
  Program program(*api);
  nvrtcResult result =
      api->nvrtcCreateProgram(&program.handle, source.source.c_str(), source.name.c_str(),
                              static_cast<int>(names.size()), contents.data(), names.data());
  if (result != NVRTC_SUCCESS)
    return failed(result, "");
  nvrtcResult compiled = api->nvrtcCompileProgram(
      program.handle, static_cast<int>(arguments.size()), arguments.data());
  CompiledCuda code;
  size_t bytes = 0;
  if (api->nvrtcGetProgramLogSize(program.handle, &bytes) == NVRTC_SUCCESS && bytes > 1) {
    code.log.resize(bytes);
    api->nvrtcGetProgramLog(program.handle, code.log.data());
    code.log.resize(bytes - 1); // the zero at its end
  }
  if (compiled != NVRTC_SUCCESS)
    return failed(compiled, code.log);
  result = api->nvrtcGetCUBINSize(program.handle, &bytes);
  if (result == NVRTC_SUCCESS) {
    code.cubin.resize(bytes);
    result = api->nvrtcGetCUBIN(program.handle, reinterpret_cast<char *>(code.cubin.data()));
  }
  if (result != NVRTC_SUCCESS)
    return failed(result, "");
  code.kernels = parseResources(code.log);
  return code;
}

} // namespace sinter::runtime::cuda
