//===- TokenStream.h - Several token files as one ---------------*- C++ -*-===//
#pragma once

#include "runtime/Data/TokenFile.h"
#include <memory>

namespace sinter::runtime {

/// The ids of several files, one after the other, or a part of them. Cheap to copy; reading is
/// safe from several threads.
class TokenStream {
public:
  /// @pre there is a file
  explicit TokenStream(std::vector<TokenFile> files);

  /// The number of ids.
  uint64_t size() const { return end - begin; }

  /// Copies the ids from `position` on; behind the last comes the first again. @pre size() > 0
  void read(uint64_t position, std::span<int32_t> out) const;

  /// 32 hexadecimal digits that change with any id of the files, also outside of the part, and with
  /// the part. What is hashed was read when the files were opened.
  std::string getHash() const;

  /// The ids [from, to) as a stream of their own. @pre from < to <= size()
  TokenStream part(uint64_t from, uint64_t to) const;

  /// Fails, with the first file's name, where there are fewer than `needed` ids; `purpose` says
  /// what for, "a step of 2 x 64 tokens", and `remedy` what to do.
  Expected<void> require(uint64_t needed, const std::string &purpose,
                         const std::string &remedy = "give more data") const;

private:
  struct Files {
    std::vector<TokenFile> files;
    std::vector<uint64_t> ends; ///< position behind each file's last id
  };
  void readAt(uint64_t position, std::span<int32_t> out) const;

  std::shared_ptr<const Files> files;
  uint64_t begin = 0, end = 0;
};

} // namespace sinter::runtime
