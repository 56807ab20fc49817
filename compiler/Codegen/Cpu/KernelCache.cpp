#include "compiler/Codegen/Cpu/KernelCache.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "runtime/Base/ContentHash.h"
#include "runtime/Base/MappedFile.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace sinter;
namespace fs = std::filesystem;

// A file is 32 hexadecimal digits, the hash of all that follows them, and the object.
static constexpr size_t kHashDigits = 32;

/// Adds a text with its length, so that no two lists of texts hash alike.
static void addText(ContentHash &hash, std::string_view text) {
  hash.add(std::to_string(text.size()) + ":");
  hash.add(text);
}

template <typename T> static std::string print(T what) {
  std::string text;
  llvm::raw_string_ostream(text) << what;
  return text;
}

namespace {
/// Adds a kernel to a hash without its name, which others of the same loops do not share. Types,
/// attributes and names of ops are printed once and are numbers from then on, as values are:
/// printing a kernel whole takes many times as long.
class KernelHasher {
public:
  explicit KernelHasher(ContentHash &hash) : hash(hash) {}

  void add(func::FuncOp kernel) {
    NamedAttrList attributes(kernel->getAttrDictionary());
    attributes.erase(SymbolTable::getSymbolAttrName());
    addText(attributes.getDictionary(kernel.getContext()));
    add(kernel.getBody());
    hash.add(std::as_bytes(std::span(words)));
  }

private:
  /// The text of a type or an attribute, or its number if it was there before.
  template <typename T> void addText(T what) {
    auto [at, isNew] = texts.try_emplace(what.getAsOpaquePointer(), texts.size());
    if (isNew)
      ::addText(hash, print(what));
    words.push_back(at->second);
  }
  void add(TypeRange types) {
    words.push_back(types.size());
    for (Type type : types)
      addText(type);
  }
  void add(Value value) { words.push_back(values.try_emplace(value, values.size()).first->second); }

  void add(Operation &op) {
    addText(op.getName());
    addText(op.getDiscardableAttrDictionary());
    addText(op.getPropertiesAsAttribute()); // those, too, that no attribute stores
    words.push_back(op.getNumOperands());
    for (Value operand : op.getOperands())
      add(operand);
    add(op.getResultTypes());
    for (Value result : op.getResults())
      add(result);
    words.push_back(op.getNumRegions());
    for (Region &region : op.getRegions())
      add(region);
  }

  /// @pre loops: no op has a successor
  void add(Region &region) {
    words.push_back(region.getBlocks().size());
    for (Block &block : region) {
      add(block.getArgumentTypes());
      for (Value argument : block.getArguments())
        add(argument);
      words.push_back(block.getOperations().size());
      for (Operation &op : block)
        add(op);
    }
  }

  ContentHash &hash;
  llvm::DenseMap<const void *, uint32_t> texts;
  llvm::DenseMap<Value, uint32_t> values;
  std::vector<uint32_t> words;
};
} // namespace

static void removeLoops(func::FuncOp kernel) {
  Block &body = kernel.getBody().front();
  while (!body.empty())
    body.back().erase();
  OpBuilder builder = OpBuilder::atBlockEnd(&body);
  func::ReturnOp::create(builder, kernel.getLoc());
}

std::optional<KernelObject> KernelCache::read(const fs::path &path) const {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file || file->getBytes().size() < kHashDigits)
    return std::nullopt;
  std::span<const std::byte> object = file->getBytes().subspan(kHashDigits);
  const char *begin = reinterpret_cast<const char *>(file->getBytes().data());
  if (contentHash(object) != std::string_view(begin, kHashDigits))
    return std::nullopt;
  Cache::touch(path);
  return KernelObject(begin + kHashDigits, begin + file->getBytes().size());
}

void KernelCache::take(ModuleOp code, const TargetAttr &target, ArrayRef<std::string> passes) {
  for (auto kernel : code.getOps<func::FuncOp>()) {
    // One that refers to more than it holds is not all that its code depends on.
    auto uses = SymbolTable::getSymbolUses(kernel.getOperation());
    if (kernel.isExternal() || !kernel.getBody().hasOneBlock() || !uses || !uses->empty())
      continue;
    ContentHash hash;
    addText(hash, build);
    addText(hash, print(target));
    for (const std::string &pass : passes)
      addText(hash, pass);
    KernelHasher(hash).add(kernel);
    fs::path path = cache.pathOf(CacheKind::Code, hash.hex());
    if (std::optional<KernelObject> object = read(path)) {
      known[kernel.getName()] = std::move(*object);
      removeLoops(kernel);
    } else {
      unknown[kernel.getName()] = std::move(path);
    }
  }
}

const KernelObject *KernelCache::find(llvm::StringRef kernel) const {
  auto found = known.find(kernel);
  return found == known.end() ? nullptr : &found->second;
}

void KernelCache::keep(ArrayRef<std::pair<llvm::StringRef, const KernelObject *>> made) const {
  for (const auto &[kernel, object] : made) {
    auto found = unknown.find(kernel);
    if (found == unknown.end())
      continue;
    auto bytes = std::as_bytes(std::span(object->data(), object->size()));
    const std::string digits = contentHash(bytes);
    const std::span<const std::byte> parts[] = {std::as_bytes(std::span(digits)), bytes};
    cache.write(found->second, parts);
  }
}
