//===- TestFiles.h - Weight files made by tests -----------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <unistd.h>

namespace sinter::test {

/// The bytes of a safetensors file with this header and data.
inline std::string safetensors(const std::string &header, const std::string &data = "") {
  std::string file;
  for (int i = 0; i < 8; ++i)
    file += static_cast<char>(uint64_t(header.size()) >> (8 * i));
  return file + header + data;
}

inline std::span<const std::byte> bytesOf(const std::string &text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// A directory of the test's own, removed at its end.
class TemporaryDirectory {
public:
  TemporaryDirectory() {
    const auto *info = ::testing::UnitTest::GetInstance()->current_test_info();
    path = std::filesystem::path(::testing::TempDir()) /
           (std::string("sinter-") + info->test_suite_name() + "-" + info->name() + "-" +
            std::to_string(::getpid()));
    std::filesystem::create_directories(path);
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path); }

  std::filesystem::path write(const std::string &name, const std::string &content) const {
    std::ofstream(path / name, std::ios::binary) << content;
    return path / name;
  }

  std::filesystem::path path;
};

} // namespace sinter::test
