#include "runtime/Device/Cpu/CodeImage.h"
#include <cassert>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace sinter::runtime {

CodeImage::CodeImage(CodeImage &&other) noexcept
    : base(std::exchange(other.base, nullptr)), size(std::exchange(other.size, 0)) {}

CodeImage &CodeImage::operator=(CodeImage &&other) noexcept {
  std::swap(base, other.base);
  std::swap(size, other.size);
  return *this;
}

CodeImage::~CodeImage() {
  if (base)
    ::munmap(base, size);
}

Expected<CodeImage> CodeImage::load(std::span<const std::byte> code) {
  CodeImage image;
  if (code.empty())
    return image;
  size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  size_t size = (code.size() + page - 1) / page * page;
  void *memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return fail("machine code", std::string("no memory for it: ") + std::strerror(errno),
                "free some memory");
  image.base = static_cast<std::byte *>(memory);
  image.size = size;
  std::memcpy(memory, code.data(), code.size());
  if (::mprotect(memory, size, PROT_READ | PROT_EXEC) != 0)
    return fail("machine code",
                std::string("the system does not let it be executed: ") + std::strerror(errno),
                "allow this program executable memory");
  __builtin___clear_cache(reinterpret_cast<char *>(image.base),
                          reinterpret_cast<char *>(image.base + size));
  return image;
}

KernelFunction CodeImage::entry(uint64_t offset) const {
  assert(offset < size && "a kernel's entry lies outside of the code");
  return reinterpret_cast<KernelFunction>(base + offset);
}

} // namespace sinter::runtime
