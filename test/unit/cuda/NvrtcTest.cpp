#include "runtime/Device/Cuda/Nvrtc.h"
#include "runtime/Device/Cuda/CudaApi.h"
#include "runtime/Device/Cuda/LtApi.h"
#include "runtime/Device/Cuda/NvrtcApi.h"
#include "runtime/Format/CudaArchitecture.h"
#include "test/support/Environment.h"
#include <gtest/gtest.h>

using namespace sinter::runtime::cuda;
using sinter::test::Variable;

namespace {

constexpr const char *reversal = R"(
#include <cuda_bf16.h>
#include "length.h"
extern "C" __global__ void __launch_bounds__(length) reverse(__nv_bfloat16 *a) {
  __shared__ __nv_bfloat16 all[length];
  all[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  a[threadIdx.x] = all[length - 1 - threadIdx.x];
}
)";

TEST(ArchitectureTest, OfCapabilities) {
  EXPECT_EQ(*architectureFor({8, 0}), "sm_80");
  EXPECT_EQ(*architectureFor({8, 9}), "sm_80");
  EXPECT_EQ(*architectureFor({9, 0}), "sm_90a");
  EXPECT_EQ(*architectureFor({10, 3}), "sm_100");
  EXPECT_EQ(*architectureFor({12, 0}), "sm_120");
  EXPECT_EQ(architectureFor({7, 5}).error().message(),
            "a GPU of compute capability 7.5: is not supported; use one of capability 8.x, 9.0, "
            "10.x or 12.x, or `target` cpu");
  EXPECT_FALSE(architectureFor({11, 0}));
}

TEST(ArchitectureTest, OfDevices) {
  EXPECT_EQ(*capabilityOf("cuda:sm_90", "m"), (Capability{9, 0}));
  EXPECT_EQ(*capabilityOf("cuda:sm_120", "m"), (Capability{12, 0}));
  for (const char *bad : {"", "cuda", "cuda:sm_", "cuda:sm_9x", "cuda:sm_-90", "cuda:sm_75",
                          "rocm:sm_90", "cuda:sm_99999999999"})
    EXPECT_FALSE(capabilityOf(bad, "m")) << bad;
  EXPECT_EQ(capabilityOf("tpu", "m.sinter").error().message(),
            "m.sinter: is for the device 'tpu'; compile the model for cpu, or for cuda:sm_80, "
            "sm_90, sm_100 or sm_120");
}

TEST(PtxasLogTest, ReadsEveryKernel) {
  std::vector<KernelResources> kernels = parseResources(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'k2' for 'sm_90a'\n"
      "ptxas info    : Function properties for helper\n"
      "ptxas         .     16 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads\n"
      "ptxas info    : Function properties for k2\n"
      "ptxas         .     256 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads\n"
      "ptxas info    : Used 37 registers, used 0 barriers, 256 bytes cumulative stack size\n"
      "ptxas info    : Compile time = 77.655 ms\n"
      "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
      "ptxas info    : Function properties for k\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 10 registers, used 1 barriers, 1024 bytes smem\n");
  EXPECT_EQ(kernels,
            (std::vector<KernelResources>{{"k2", 37, 256, 12, 20, 0}, {"k", 10, 0, 0, 0, 1024}}));
  EXPECT_TRUE(parseResources("").empty());
  EXPECT_TRUE(parseResources("ptxas info    : Used 10 registers").empty());
}

TEST(NvrtcTest, CompilesForEveryArchitecture) {
  if (auto version = nvrtcVersion(); !version)
    GTEST_SKIP() << version.error().message();
  for (const char *architecture : {"sm_80", "sm_90a", "sm_100", "sm_120"}) {
    auto code = compileCuda(
        {"reverse.cu", reversal, {}, {{"length.h", "constexpr int length = 128;"}}}, architecture);
    ASSERT_TRUE(code) << code.error().message();
    EXPECT_EQ(std::memcmp(code->cubin.data(),
                          "\x7f"
                          "ELF",
                          4),
              0);
    const KernelResources *kernel = code->find("reverse");
    ASSERT_TRUE(kernel) << code->log;
    EXPECT_GT(kernel->registers, 0u);
    EXPECT_EQ(kernel->spillStoreBytes + kernel->spillLoadBytes, 0u);
    EXPECT_GE(kernel->sharedBytes, 256u);
    EXPECT_EQ(code->find("other"), nullptr);
  }
}

TEST(NvrtcTest, TheFirstErrorIsTold) {
  if (auto version = nvrtcVersion(); !version)
    GTEST_SKIP() << version.error().message();
  auto code = compileCuda(
      {"bad.cu", "__device__ int f() { return x; }\nint g() { return y; }", {}, {}}, "sm_90a");
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().message(),
            "bad.cu for sm_90a: bad.cu(1): error: identifier \"x\" is undefined; report this");
  EXPECT_TRUE(code.error().defect);
  auto unknown = compileCuda({"any.cu", "", {}, {}}, "sm_1");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message().find("sm_1"), std::string::npos);
}

TEST(LibraryTableTest, AnAbsentLibraryIsAnError) {
  const char *names[] = {"libsinter-absent.so.2", "libsinter-absent.so.1"};
  Variable wheels("SINTER_CUDA_WHEELS", "/nowhere");
  auto library = openLibrary(names, "install it");
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().what, "libsinter-absent.so.2 or libsinter-absent.so.1");
  EXPECT_EQ(library.error().why.find("is not in the system's library path"), 0u);
  EXPECT_EQ(library.error().remedy, "install it");
}

TEST(LibraryTableTest, FoldersComeInOrder) {
  std::string pattern = ::testing::TempDir() + "sinter-cuda-XXXXXX";
  std::filesystem::path root = mkdtemp(pattern.data());
  std::filesystem::create_directories(root / "home/lib64");
  std::filesystem::create_directories(root / "site/nvidia/cublas/lib");
  std::filesystem::create_directories(root / "site/nvidia/cuda_runtime/include");
  {
    Variable home("SINTER_CUDA_HOME", (root / "home").string());
    Variable wheels("SINTER_CUDA_WHEELS", (root / "site").string());
    std::vector<std::filesystem::path> folders = libraryFolders();
    ASSERT_GE(folders.size(), 2u);
    EXPECT_EQ(folders.front(), root / "home/lib64");
    EXPECT_TRUE(std::find(folders.begin(), folders.end(), root / "site/nvidia/cublas/lib") !=
                folders.end());
    std::vector<std::filesystem::path> headers = headerFolders();
    EXPECT_TRUE(std::find(headers.begin(), headers.end(),
                          root / "site/nvidia/cuda_runtime/include") != headers.end());
    const char *names[] = {"libsinter-absent.so.1"};
    auto library = openLibrary(names, "");
    ASSERT_FALSE(library);
    EXPECT_NE(library.error().why.find((root / "home/lib64").string()), std::string::npos);
  }
  std::filesystem::remove_all(root);
}

TEST(LibraryTableTest, AnInstalledTableIsUsed) {
  CudaApi driver;
  installCudaApi(&driver);
  EXPECT_EQ(*cudaApi(), &driver);
  installCudaApi(nullptr);
  LtApi library;
  installLtApi(&library);
  EXPECT_EQ(*ltApi(), &library);
  installLtApi(nullptr);
}

const char *loadStrange(CudaApi &, void *) { return "cuFromTomorrow"; }

TEST(LibraryTableTest, ALibraryWithoutAFunctionIsTooOld) {
  LibraryTable<CudaApi> table;
  auto names = [] { return std::vector{"libc.so.6"}; };
  auto api = table.get(names, "install a newer one", loadStrange);
  ASSERT_FALSE(api);
  EXPECT_EQ(api.error().message(),
            "libc.so.6: it is too old: it has no cuFromTomorrow; install a newer one");
}

TEST(LibraryTableTest, LibrariesFollowTheDriver) {
  CudaApi driver;
  driver.cuDriverGetVersion = [](int *version) {
    *version = 12040;
    return CUDA_SUCCESS;
  };
  installCudaApi(&driver);
  EXPECT_TRUE(driverIsForCuda12());
  driver.cuDriverGetVersion = [](int *version) {
    *version = 13000;
    return CUDA_SUCCESS;
  };
  EXPECT_FALSE(driverIsForCuda12());
  installCudaApi(nullptr);
}

// The toolkit has a library that exports what the driver does, for those who link it.
TEST(LibraryTableTest, TheDriverHasEveryFunction) {
  void *stub = nullptr;
  for (const std::filesystem::path &folder : libraryFolders())
    if (!stub)
      stub = ::dlopen((folder / "stubs/libcuda.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!stub)
    GTEST_SKIP() << "no toolkit with the driver's stub";
#define SINTER_EXPECT(name) SINTER_EXPECT_NAMED(name)
#define SINTER_EXPECT_NAMED(name) EXPECT_NE(::dlsym(stub, #name), nullptr) << #name;
  SINTER_CUDA_FUNCTIONS(SINTER_EXPECT)
  ::dlclose(stub);
}

TEST(LibraryTableTest, AFunctionMayHaveItsFirstName) {
  void *own = ::dlopen(nullptr, RTLD_NOW);
  EXPECT_NE(findFunction(own, "malloc"), nullptr);
  EXPECT_EQ(findFunction(own, "malloc_v2"), nullptr);
}

} // namespace
