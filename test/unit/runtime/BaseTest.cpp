#include "runtime/Base/AtomicFile.h"
#include "runtime/Base/CacheFolder.h"
#include "runtime/Base/ChildProcess.h"
#include "runtime/Base/CpuFeatures.h"
#include "runtime/Base/HalfFloat.h"
#include "runtime/Base/MappedFile.h"
#include "runtime/Base/ReadFile.h"
#include "runtime/Device/Cpu/CodeImage.h"
#include "test/support/Environment.h"
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace sinter;
using namespace sinter::runtime;

namespace {

std::span<const std::byte> bytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

class AtomicFileTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "sinter-XXXXXX";
    folder = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string read(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  std::ptrdiff_t entries() {
    return std::distance(std::filesystem::directory_iterator(folder), {});
  }
  std::string folder;
};

TEST_F(AtomicFileTest, WritesAndReplaces) {
  std::string path = folder + "/file";
  ASSERT_TRUE(writeFileAtomically(path, bytesOf("one")));
  EXPECT_EQ(read(path), "one");
  std::span<const std::byte> parts[] = {bytesOf("tw"), bytesOf("o!")};
  ASSERT_TRUE(writeFileAtomically(path, parts));
  EXPECT_EQ(read(path), "two!");
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFileTest, LinksStayLinks) {
  std::string path = folder + "/file", link = folder + "/link";
  ASSERT_TRUE(writeFileAtomically(path, bytesOf("one")));
  std::filesystem::create_symlink("file", link);
  ASSERT_TRUE(writeFileAtomically(link, bytesOf("two")));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(read(path), "two");
  EXPECT_EQ(entries(), 2);
}

// `command > file` with /dev/stdout as the output: what the link leads to is open, not to replace.
TEST_F(AtomicFileTest, OwnDescriptorsAreWrittenTo) {
  std::string path = folder + "/file", link = folder + "/link";
  std::FILE *file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::string name = "/proc/self/fd/" + std::to_string(fileno(file));
  std::filesystem::create_symlink(name, link);
  ASSERT_TRUE(writeFileAtomically(link, bytesOf("one ")));
  std::fputs("two ", file);
  std::fflush(file);
  ASSERT_TRUE(writeFileAtomically(name, bytesOf("three")));
  std::fclose(file);
  EXPECT_EQ(read(path), "one two three");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
}

TEST_F(AtomicFileTest, UnwritableFolderIsAnError) {
  auto result = writeFileAtomically(folder + "/absent/file", bytesOf("one"));
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message().find("absent/file: cannot be written: No such file"),
            std::string::npos)
      << result.error().message();
}

TEST_F(AtomicFileTest, FolderInTheWayIsAnError) {
  std::filesystem::create_directories(folder + "/target/inside");
  ASSERT_FALSE(writeFileAtomically(folder + "/target", bytesOf("one")));
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFileTest, ReadsFilesAndPipes) {
  std::string path = folder + "/file", text(200'000, 'x');
  ASSERT_TRUE(writeFileAtomically(path, bytesOf(text)));
  EXPECT_EQ(readFile(path).value(), text);
  ASSERT_TRUE(writeFileAtomically(path, bytesOf("")));
  EXPECT_EQ(readFile(path).value(), "");
  std::string pipe = folder + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << text; });
  EXPECT_EQ(readFile(pipe).value(), text);
  writer.join();
}

TEST_F(AtomicFileTest, WhatCannotBeReadIsAnError) {
  auto message = [](const Expected<std::string> &read) {
    return read ? "it was read" : read.error().message();
  };
  EXPECT_EQ(message(readFile(folder + "/absent")),
            folder + "/absent: No such file or directory; check that it exists and may be read");
  EXPECT_EQ(message(readFile(folder)),
            folder + ": cannot be read: Is a directory; give a file that can be read");
  // Reading a process's memory from its beginning is refused by the system, not by open().
  EXPECT_EQ(message(readFile("/proc/self/mem")),
            "/proc/self/mem: cannot be read: Input/output error; give a file that can be read");
  EXPECT_EQ(message(readFile("/dev/zero", 1000)),
            "/dev/zero: is larger than 1000 bytes; check that it is the file that you mean");
  ASSERT_TRUE(writeFileAtomically(folder + "/file", bytesOf("four")));
  EXPECT_EQ(message(readFile(folder + "/file", 3)),
            folder + "/file: is larger than 3 bytes; check that it is the file that you mean");
  EXPECT_EQ(readFile(folder + "/file", 4).value(), "four");
}

/// Pages of a mapped file that are in memory.
size_t countPages(const MappedFile &file) {
  std::vector<unsigned char> pages(file.getBytes().size() / 4096);
  ::mincore(const_cast<std::byte *>(file.getBytes().data()), file.getBytes().size(), pages.data());
  return static_cast<size_t>(std::ranges::count_if(pages, [](auto page) { return page & 1; }));
}

TEST_F(AtomicFileTest, PagesAreReadAhead) {
  constexpr size_t pages = 4096;
  std::string path = folder + "/pages";
  int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  std::string content(pages * 4096, 'x');
  ASSERT_EQ(::write(file, content.data(), content.size()), ssize_t(content.size()));
  ::fsync(file);
  ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  ::close(file);
  Expected<MappedFile> mapped = MappedFile::open(path);
  ASSERT_TRUE(mapped);
  if (countPages(*mapped) != 0)
    GTEST_SKIP() << "the file system keeps files in memory";
  // The second half, from within a page.
  MappedFile::readAhead(mapped->getBytes().subspan(pages / 2 * 4096 + 5));
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (countPages(*mapped) < pages / 2 && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
  EXPECT_GE(countPages(*mapped), pages / 2);
  EXPECT_LT(countPages(*mapped), pages);
  MappedFile::readAhead({});
  MappedFile::readAhead(std::as_bytes(std::span(content)));
  EXPECT_EQ(content, std::string(content.size(), 'x'));
}

TEST_F(AtomicFileTest, CachesKeepManyFilesAndRemoveOld) {
  Cache cache(folder + "/cache", /*limit=*/1000);
  auto pathOf = [&](char first) {
    return cache.pathOf(CacheKind::Code, std::string(2, first) + std::string(30, '7'));
  };
  auto write = [](const Cache &to, const std::filesystem::path &path, const std::string &content) {
    std::span<const std::byte> parts[] = {std::as_bytes(std::span(content))};
    to.write(path, parts);
  };
  write(cache, pathOf('a'), "four");
  write(cache, pathOf('b'), std::string(1001, 'x'));
  EXPECT_EQ(read(pathOf('a').string()), "four");
  ASSERT_EQ(cache.list().size(), 1u);
  EXPECT_EQ(nameOf(cache.list().front().kind), "code");
  write(cache, pathOf('1'), std::string(990, 'x'));
  auto age = [&](char first, int hours) {
    std::filesystem::last_write_time(pathOf(first), std::filesystem::file_time_type::clock::now() -
                                                        std::chrono::hours(hours));
  };
  age('a', 2), age('1', 1);
  // Beyond the limit, until there is a small one whose name is one of few, or a large one.
  write(cache, pathOf('d'), "a small one");
  EXPECT_EQ(cache.list().size(), 3u);
  write(cache, pathOf('0'), "two");
  EXPECT_EQ(cache.list().size(), 2u);
  EXPECT_TRUE(std::filesystem::exists(pathOf('d')) && std::filesystem::exists(pathOf('0')));
  write(cache, pathOf('f'), std::string(999, 'x'));
  EXPECT_EQ(cache.list().size(), 1u);
  // What cannot be written is not there, and that is all.
  write(Cache("/dev/null/none"), "/dev/null/none/x", "y");
}

TEST(HalfFloatTest, Bf16RoundsToNearestEven) {
  EXPECT_EQ(floatToBf16(1.0f), 0x3f80);
  EXPECT_EQ(floatToBf16(std::bit_cast<float>(0x3f808000u)), 0x3f80); // a tie, to even
  EXPECT_EQ(floatToBf16(std::bit_cast<float>(0x3f818000u)), 0x3f82);
  EXPECT_EQ(floatToBf16(std::bit_cast<float>(0x3f808001u)), 0x3f81);
  EXPECT_EQ(floatToBf16(std::numeric_limits<float>::infinity()), 0x7f80);
  EXPECT_TRUE(std::isnan(bf16ToFloat(floatToBf16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isnan(bf16ToFloat(floatToBf16(std::bit_cast<float>(0x7f800001u)))));
}

TEST(HalfFloatTest, EveryHalfSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = f16ToFloat(static_cast<uint16_t>(bits));
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(f16ToFloat(floatToF16(value))));
    else
      ASSERT_EQ(floatToF16(value), bits);
  }
}

TEST(HalfFloatTest, HalfRoundsToNearestEven) {
  EXPECT_EQ(floatToF16(65504.0f), 0x7bff);
  EXPECT_EQ(floatToF16(65519.9f), 0x7bff);
  EXPECT_EQ(floatToF16(65520.0f), 0x7c00);
  EXPECT_EQ(floatToF16(0x1p-24f), 1);
  EXPECT_EQ(floatToF16(0x1p-25f), 0);
  EXPECT_EQ(floatToF16(0x1.8p-24f), 2);
  EXPECT_EQ(floatToF16(1.0f + 0x1p-11f), 0x3c00);
  EXPECT_EQ(floatToF16(1.0f + 0x1.8p-10f), 0x3c02);
}

TEST(FeaturesTest, KnowsThisProcessor) {
#if defined(__x86_64__)
  test::Variable none("SINTER_CPU", "");
  EXPECT_TRUE(hasCpuFeature("sse2"));
  EXPECT_EQ(hasCpuFeature("avx512f"), __builtin_cpu_supports("avx512f") != 0);
  EXPECT_EQ(hasCpuFeature("avx2"), __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(hasCpuFeature("avx512bf16"), __builtin_cpu_supports("avx512bf16") != 0);
#endif
  EXPECT_TRUE(missingCpuFeatures(cpuFeatures()).empty());
}

// Code for a processor that has them is not for one that lacks them, newer ones than this included.
TEST(FeaturesTest, KnowsWhatCodeOfOtherProcessorsUses) {
  for (const char *name : {"egpr", "ndd", "zu", "avx10.1", "avx10.2", "avxneconvert", "cmpccxadd",
                           "xop", "fma4", "tbm"})
    EXPECT_TRUE(isKnownCpuFeature(name)) << name;
}

TEST(FeaturesTest, NamesWhatIsMissing) {
  EXPECT_FALSE(hasCpuFeature("no-such-feature"));
  EXPECT_EQ(missingCpuFeatures({"no-such-feature"}), std::vector<std::string>{"no-such-feature"});
}

TEST(FeaturesTest, HasNoMoreThanTheAssumedProcessor) {
#if defined(__x86_64__)
  test::Variable v3("SINTER_CPU", "x86-64-v3");
  ASSERT_TRUE(assumedCpu()) << assumedCpu().error().message();
  EXPECT_EQ(*assumedCpu(), "x86-64-v3");
  EXPECT_TRUE(hasCpuFeature("avx2"));
  for (const char *name : {"avx512f", "avx512bf16", "amx-tile", "vaes"})
    EXPECT_FALSE(hasCpuFeature(name)) << name;
  EXPECT_EQ(missingCpuFeatures({"fma", "avx512vl"}), std::vector<std::string>{"avx512vl"});
#endif
}

TEST(FeaturesTest, RefusesToAssumeOtherProcessors) {
  test::Variable other("SINTER_CPU", "x86-64-v9");
  ASSERT_FALSE(assumedCpu());
  EXPECT_EQ(assumedCpu().error().message(),
            "SINTER_CPU=x86-64-v9: is no processor that tests know; "
            "give x86-64-v3, x86-64-v4 or cooperlake, or leave it out");
}

TEST(FeaturesTest, RefusesToAssumeWhatThisProcessorLacks) {
  bool has;
  {
    test::Variable none("SINTER_CPU", "");
    has = hasCpuFeature("avx512bf16");
  }
  test::Variable named("SINTER_CPU", "cooperlake");
  EXPECT_EQ(bool(assumedCpu()), has);
}

TEST(CodeImageTest, RunsCode) {
#if defined(__x86_64__)
  // nop; mov rax, [rdi]; mov [rax], rdx; ret
  const unsigned char code[] = {0x90, 0x48, 0x8b, 0x07, 0x48, 0x89, 0x10, 0xc3};
  auto image = CodeImage::load(std::as_bytes(std::span(code)));
  ASSERT_TRUE(image);
  int64_t result = 0;
  void *slices[] = {&result};
  image->entry(1)(slices, 3, 17);
  EXPECT_EQ(result, 17);
#endif
}

// A large result, so that it does not fit what a pipe holds.
TEST(ChildProcess, GivesBytesBack) {
  std::vector<std::byte> bytes(size_t(3) << 20, std::byte{7});
  int before = 1;
  auto result = runInChild("work", [&]() -> ChildResult {
    before = 2;
    return bytes;
  });
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(*result, bytes);
  EXPECT_EQ(before, 1); // the child's memory is its own
}

TEST(ChildProcess, GivesErrorsBack) {
  auto mistake = runInChild("work", []() -> ChildResult { return fail("a", "b", "c"); });
  ASSERT_FALSE(mistake);
  EXPECT_EQ(mistake.error().message(), "a: b; c");
  EXPECT_FALSE(mistake.error().defect);
  auto defect = runInChild("work", []() -> ChildResult {
    auto error = fail("a", "", "c");
    error.value().defect = true;
    return error;
  });
  ASSERT_FALSE(defect);
  EXPECT_EQ(defect.error().message(), "a; c");
  EXPECT_TRUE(defect.error().defect);
}

TEST(ChildProcess, ACrashIsAnError) {
  auto crash = runInChild("work", []() -> ChildResult {
    ::raise(SIGABRT);
    return std::vector<std::byte>();
  });
  ASSERT_FALSE(crash);
  EXPECT_TRUE(crash.error().defect);
  EXPECT_TRUE(crash.error().message().starts_with("work: its process ended by a signal: Aborted"))
      << crash.error().message();
  auto killed = runInChild("work", []() -> ChildResult {
    ::raise(SIGKILL);
    return std::vector<std::byte>();
  });
  ASSERT_FALSE(killed);
  EXPECT_FALSE(killed.error().defect);
  EXPECT_TRUE(killed.error().message().starts_with("work: its process was killed"));
  auto left = runInChild("work", []() -> ChildResult { ::_exit(0); });
  ASSERT_FALSE(left);
  EXPECT_TRUE(left.error().message().starts_with("work: its process gave no result"));
}

} // namespace
