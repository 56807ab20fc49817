#include "compiler/Codegen/Cpu/ObjectLinker.h"
#include "runtime/Format/KernelMarks.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"
#include <optional>

using namespace llvm;
using namespace llvm::object;

namespace {
class Linker {
public:
  explicit Linker(std::vector<std::byte> &image) : image(image) {}

  Expected<uint64_t> link(const ELF64LEObjectFile &object) {
    if (Error error = placeSections(object))
      return error;
    for (const SectionRef &section : object.sections())
      if (Error error = relocate(section))
        return error;
    return findFunction(object);
  }

private:
  /// Copies what is loaded into the image.
  Error placeSections(const ELF64LEObjectFile &object) {
    for (const ELFSectionRef section : object.sections()) {
      uint64_t flags = section.getFlags();
      // Unwind tables are of no use: nothing throws through a kernel.
      if (!(flags & ELF::SHF_ALLOC) || section.getSize() == 0 ||
          section.getType() == ELF::SHT_X86_64_UNWIND)
        continue;
      auto name = section.getName();
      if (!name)
        return name.takeError();
      if (*name == ".eh_frame")
        continue;
      if (flags & ELF::SHF_WRITE)
        return createStringError("section " + *name + " is writable");
      auto content = section.getContents();
      if (!content)
        return content.takeError();
      // A kernel begins its section; the mark before it needs room.
      uint64_t marks = flags & ELF::SHF_EXECINSTR ? sinter::runtime::kernelMarkBytes : 0;
      uint64_t offset =
          alignTo(image.size() + marks, std::max<uint64_t>(section.getAlignment().value(), 64));
      image.resize(offset);
      auto *bytes = reinterpret_cast<const std::byte *>(content->data());
      image.insert(image.end(), bytes, bytes + content->size());
      places[section.getIndex()] = offset;
    }
    return Error::success();
  }

  /// Where a symbol lies in the image.
  Expected<uint64_t> locate(const SymbolRef &symbol, const ObjectFile &object) {
    auto name = symbol.getName();
    if (!name)
      return name.takeError();
    auto section = symbol.getSection();
    if (!section)
      return section.takeError();
    if (*section == object.section_end())
      return createStringError("the kernels call " + *name + ", which is not part of them");
    auto place = places.find((*section)->getIndex());
    if (place == places.end())
      return createStringError("symbol " + *name + " lies in a section that is not loaded");
    auto value = symbol.getValue();
    if (!value)
      return value.takeError();
    return place->second + *value;
  }

  /// Resolves the relocations of one relocation section.
  Error relocate(const SectionRef &section) {
    auto relocated = section.getRelocatedSection();
    if (!relocated)
      return relocated.takeError();
    if (*relocated == section.getObject()->section_end())
      return Error::success();
    auto place = places.find((*relocated)->getIndex());
    if (place == places.end())
      return Error::success();
    for (const ELFRelocationRef relocation : section.relocations()) {
      auto target = locate(*relocation.getSymbol(), *section.getObject());
      if (!target)
        return target.takeError();
      auto addend = relocation.getAddend();
      if (!addend)
        return addend.takeError();
      uint64_t at = place->second + relocation.getOffset();
      int64_t value = static_cast<int64_t>(*target) + *addend - static_cast<int64_t>(at);
      switch (relocation.getType()) {
      case ELF::R_X86_64_PC32:
      case ELF::R_X86_64_PLT32:
        if (!isInt<32>(value))
          return createStringError("the kernels are too large");
        support::endian::write32le(&image[at], static_cast<uint32_t>(value));
        break;
      case ELF::R_X86_64_PC64:
        support::endian::write64le(&image[at], static_cast<uint64_t>(value));
        break;
      default:
        return createStringError("relocation " + Twine(relocation.getType()) +
                                 " is not relative to its place");
      }
    }
    return Error::success();
  }

  Expected<uint64_t> findFunction(const ELF64LEObjectFile &object) {
    std::optional<uint64_t> entry;
    for (const ELFSymbolRef symbol : object.symbols()) {
      if (symbol.getELFType() != ELF::STT_FUNC)
        continue;
      auto offset = locate(symbol, object);
      if (!offset)
        return offset.takeError();
      auto value = symbol.getValue();
      if (!value)
        return value.takeError();
      if (entry || *value != 0)
        return createStringError("a kernel is not one function that begins its section");
      entry = *offset;
    }
    if (!entry)
      return createStringError("the object has no function");
    return *entry;
  }

  std::vector<std::byte> &image;
  DenseMap<uint64_t, uint64_t> places; ///< section index to its offset in the image
};
} // namespace

Expected<uint64_t> sinter::linkObject(StringRef bytes, std::vector<std::byte> &image) {
  auto object = ObjectFile::createELFObjectFile(MemoryBufferRef(bytes, "kernels"));
  if (!object)
    return object.takeError();
  auto *elf = dyn_cast<ELF64LEObjectFile>(object->get());
  if (!elf)
    return createStringError("the object is not 64-bit little-endian ELF");
  return Linker(image).link(*elf);
}
