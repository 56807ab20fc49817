#include "runtime/Base/MappedFile.h"
#include <cassert>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace sinter {

Expected<MappedFile> MappedFile::open(const std::filesystem::path &path) {
  // Without O_NONBLOCK, opening a pipe would wait for somebody to write to it.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0)
    return fail(path.string(), std::strerror(errno), "check the path and its permissions");
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    return fail(path.string(), "it is not a regular file", "give the path of a file");
  }
  size_t size = static_cast<size_t>(status.st_size);
  if (size == 0) {
    ::close(descriptor);
    return MappedFile(nullptr, 0);
  }
  void *data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  int error = errno;
  ::close(descriptor);
  if (data == MAP_FAILED)
    return fail(path.string(), std::string("cannot be mapped: ") + std::strerror(error), "");
  return MappedFile(static_cast<const std::byte *>(data), size);
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : data(std::exchange(other.data, nullptr)), size(std::exchange(other.size, 0)) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  if (this != &other) {
    unmap();
    data = std::exchange(other.data, nullptr);
    size = std::exchange(other.size, 0);
  }
  return *this;
}

MappedFile::~MappedFile() { unmap(); }

void MappedFile::unmap() {
  if (data)
    ::munmap(const_cast<std::byte *>(data), size);
}

void MappedFile::readAhead(std::span<const std::byte> part) {
  uintptr_t page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  uintptr_t begin = reinterpret_cast<uintptr_t>(part.data()) / page * page;
  uintptr_t end = reinterpret_cast<uintptr_t>(part.data() + part.size());
  if (begin < end)
    ::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_WILLNEED);
}

void MappedFile::release(std::span<const std::byte> part) const {
  // Of memory that is no file's there is nothing to read again: it would come back as zeros.
  assert(part.data() >= data && part.data() + part.size() <= data + size &&
         "a part of another memory");
  uintptr_t page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  uintptr_t begin = reinterpret_cast<uintptr_t>(part.data());
  uintptr_t end = begin + part.size();
  // The last page of the mapping belongs to the file alone, so it may go with the last part.
  bool atEnd = part.data() + part.size() == data + size;
  begin = (begin + page - 1) / page * page;
  end = atEnd ? (end + page - 1) / page * page : end / page * page;
  if (begin < end)
    ::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
}

} // namespace sinter
