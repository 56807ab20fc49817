#include "runtime/Device/Cuda/CubinCache.h"
#include "runtime/Base/CacheFolder.h"
#include "test/unit/cuda/EchoNvrtc.h"
#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::cuda;
using sinter::runtime::cuda::testing::EchoNvrtc;
namespace fs = std::filesystem;

namespace {

class CubinCacheTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "sinter-cubins-XXXXXX";
    folder = mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder); }

  static CudaSource source(const std::string &text) { return {"echo.cu", text, {"-O3"}, {}}; }
  static std::string textOf(const CompiledCuda &code) {
    return {reinterpret_cast<const char *>(code.cubin.data()), code.cubin.size()};
  }
  std::ptrdiff_t files() const {
    return std::ranges::count_if(fs::recursive_directory_iterator(folder),
                                 [](const auto &entry) { return entry.is_regular_file(); });
  }

  EchoNvrtc nvrtc;
  fs::path folder;
};

TEST_F(CubinCacheTest, TheSecondTimeItIsThere) {
  CubinCache cache{Cache(folder / "made" / "when needed")};
  for (int i = 0; i < 2; ++i) {
    auto code = cache.compile(source("kernel one"), "sm_90a");
    ASSERT_TRUE(code) << code.error().message();
    EXPECT_EQ(textOf(*code), "kernel one");
    ASSERT_EQ(code->kernels.size(), 1u);
    EXPECT_EQ(code->kernels[0], (KernelResources{"echo", 7, 0, 0, 0, 48}));
  }
  EXPECT_EQ(nvrtc.compilations(), 1);
}

TEST_F(CubinCacheTest, AllThatMattersIsInTheName) {
  CubinCache cache{Cache(folder)};
  std::vector<CudaSource> different = {source("a"),
                                       source("b"),
                                       {"echo.cu", "a", {}, {}},
                                       {"echo.cu", "a", {"-O", "3"}, {}},
                                       {"echo.cu", "a", {"-O3"}, {{"h.h", ""}}},
                                       {"echo.cu", "a", {"-O3"}, {{"h.h", "x"}}}};
  std::set<fs::path> paths;
  for (const CudaSource &each : different)
    paths.insert(*cache.pathOf(each, "sm_90a"));
  paths.insert(*cache.pathOf(source("a"), "sm_80"));
  nvrtc.version() = 1;
  paths.insert(*cache.pathOf(source("a"), "sm_90a"));
  nvrtc.version() = 0;
  EXPECT_EQ(paths.size(), different.size() + 2);
  // What it is called makes no difference.
  CudaSource renamed = source("a");
  renamed.name = "other.cu";
  EXPECT_EQ(*cache.pathOf(renamed, "sm_90a"), *cache.pathOf(source("a"), "sm_90a"));
}

TEST_F(CubinCacheTest, ADamagedFileIsMadeAgain) {
  CubinCache cache{Cache(folder)};
  fs::path path = *cache.pathOf(source("kernel"), "sm_90a");
  ASSERT_TRUE(cache.compile(source("kernel"), "sm_90a"));
  std::string whole;
  {
    std::ifstream file(path, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(file), {});
  }
  int compiled = 1;
  auto expectRepaired = [&](const std::string &damaged) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << damaged;
    auto code = cache.compile(source("kernel"), "sm_90a");
    ASSERT_TRUE(code);
    EXPECT_EQ(textOf(*code), "kernel");
    EXPECT_EQ(nvrtc.compilations(), ++compiled);
    ASSERT_TRUE(cache.compile(source("kernel"), "sm_90a"));
    EXPECT_EQ(nvrtc.compilations(), compiled);
  };
  for (size_t at : {size_t(0), size_t(33), whole.size() - 1}) {
    std::string flipped = whole;
    flipped[at] ^= 1;
    expectRepaired(flipped);
  }
  expectRepaired(whole.substr(0, whole.size() - 1));
  expectRepaired(whole.substr(0, 10));
  expectRepaired("");
}

TEST_F(CubinCacheTest, ErrorsAreNotKept) {
  CubinCache cache{Cache(folder)};
  for (int i = 1; i <= 2; ++i) {
    auto code = cache.compile(source("wrong"), "sm_90a");
    ASSERT_FALSE(code);
    EXPECT_EQ(code.error().message(), "echo.cu for sm_90a: echo.cu(3): error: wrong; report this");
    EXPECT_EQ(nvrtc.compilations(), i);
  }
  EXPECT_EQ(files(), 0);
}

TEST_F(CubinCacheTest, TheOldestGoBeyondTheCap) {
  std::string text(1000, 'x');
  CubinCache cache{Cache(folder, 3000)};
  auto compile = [&](char last) { ASSERT_TRUE(cache.compile(source(text + last), "sm_90a")); };
  auto age = [&](char last, int hours) {
    fs::last_write_time(*cache.pathOf(source(text + last), "sm_90a"),
                        fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  for (char last : {'a', 'b'})
    compile(last);
  age('a', 3), age('b', 2);
  compile('a'); // used again, so that b is the oldest
  EXPECT_EQ(nvrtc.compilations(), 2);
  compile('c'); // fits no more
  EXPECT_EQ(files(), 2);
  EXPECT_FALSE(fs::exists(*cache.pathOf(source(text + 'b'), "sm_90a")));
  compile('a'), compile('c');
  EXPECT_EQ(nvrtc.compilations(), 3);
}

TEST_F(CubinCacheTest, AFolderThatCannotBeWrittenCostsOnlyTime) {
  std::ofstream(folder / "file") << "no folder";
  CubinCache cache{Cache(folder / "file")};
  for (int i = 1; i <= 2; ++i) {
    ASSERT_TRUE(cache.compile(source("kernel"), "sm_90a"));
    EXPECT_EQ(nvrtc.compilations(), i);
  }
  CubinCache none{Cache("")};
  ASSERT_TRUE(none.compile(source("kernel"), "sm_90a"));
  EXPECT_EQ(files(), 1);
}

TEST_F(CubinCacheTest, SeveralProgramsAtOnce) {
  CubinCache cache{Cache(folder)};
  std::vector<CudaSource> sources;
  for (int i = 0; i < 20; ++i)
    sources.push_back(source("kernel " + std::to_string(i)));
  ThreadPool pool(4);
  auto code = cache.compile(sources, "sm_90a", pool);
  ASSERT_TRUE(code);
  ASSERT_EQ(code->size(), 20u);
  for (size_t i = 0; i < 20; ++i)
    EXPECT_EQ(textOf((*code)[i]), sources[i].source);
  EXPECT_EQ(nvrtc.compilations(), 20);
  ASSERT_TRUE(cache.compile(sources, "sm_90a", pool));
  EXPECT_EQ(nvrtc.compilations(), 20);
  sources[3].source = "wrong";
  EXPECT_FALSE(cache.compile(sources, "sm_90a", pool));
}

// Processes that write, read and evict the same files meet no half of one.
TEST_F(CubinCacheTest, ProcessesShareIt) {
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    pid_t pid = ::fork();
    if (pid == 0) {
      CubinCache cache{Cache(folder, 3000)};
      bool ok = true;
      for (int round = 0; round < 10; ++round)
        for (int i = 0; i < 6; ++i) {
          std::string text(900 + size_t(i), 'x');
          auto code = cache.compile(source(text), "sm_90a");
          ok = ok && code && textOf(*code) == text;
        }
      ::_exit(ok ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  CubinCache cache{Cache(folder, 3000)};
  ASSERT_TRUE(cache.compile(source("last"), "sm_90a"));
  uint64_t total = 0;
  for (const auto &entry : fs::directory_iterator(folder / "cubins"))
    total += entry.file_size();
  EXPECT_LE(total, 3000u);
}

TEST_F(CubinCacheTest, StandsInTheCacheFolder) {
  ::setenv("SINTER_CACHE_DIR", folder.c_str(), 1);
  EXPECT_EQ(cacheFolder(), folder);
  CubinCache cache = *CubinCache::standard();
  EXPECT_EQ(cache.pathOf(source("kernel"), "sm_90a")->parent_path(), folder / "cubins");
  ::unsetenv("SINTER_CACHE_DIR");
}

} // namespace
