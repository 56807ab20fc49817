#include "frontends/Gguf/GgufFile.h"
#include "runtime/Base/Utf8.h"
#include <bit>
#include <cstdio>
#include <cstring>
#include <set>

namespace sinter {
namespace {

constexpr const char *kParts = "split.count"; // of a model, where they are several

using Json = nlohmann::json;
constexpr std::string_view kMagic = "GGUF";
constexpr const char *kRemedy = "download the file again";

// As files number them.
enum class ValueType : uint32_t {
  U8,
  I8,
  U16,
  I16,
  U32,
  I32,
  F32,
  Bool,
  String,
  Array,
  U64,
  I64,
  F64,
};

/// Reads a file from its start; every read is checked against what is left.
class Reader {
public:
  Reader(std::span<const std::byte> bytes, std::string_view source)
      : bytes(bytes), source(source) {}

  Expected<GgufFile> read() {
    GgufFile file;
    position = kMagic.size();
    SINTER_TRY(uint32_t version, number<uint32_t>());
    if (version != 2 && version != 3)
      return bad("its version is " + std::to_string(version) + ", not 2 or 3",
                 std::endian::native == std::endian::little && version >> 16 != 0
                     ? "convert the file to little-endian"
                     : "convert the model again with llama.cpp's current converter");
    SINTER_TRY(uint64_t tensors, count("tensors", 24));
    SINTER_TRY(uint64_t entries, count("entries", 13));
    for (uint64_t i = 0; i < entries; ++i)
      SINTER_CHECK(readEntry(file.metadata));
    std::set<std::string> names;
    std::vector<uint64_t> offsets;
    for (uint64_t i = 0; i < tensors; ++i) {
      SINTER_TRY(GgufTensor tensor, readTensor());
      if (!names.insert(tensor.name).second)
        return bad("it has two tensors '" + tensor.name + "'");
      file.tensors.push_back(std::move(tensor));
    }
    SINTER_TRY(uint64_t begin, dataBegin(file.metadata));
    for (GgufTensor &tensor : file.tensors)
      SINTER_CHECK(place(tensor, begin));
    return file;
  }

private:
  std::span<const std::byte> bytes;
  std::string_view source;
  uint64_t position = 0;

  uint64_t left() const { return bytes.size() - position; }

  tl::unexpected<Error> bad(const std::string &why, const char *remedy = kRemedy) const {
    return fail(std::string(source), why, remedy);
  }
  tl::unexpected<Error> ended() const { return bad("it ends in its header"); }

  template <typename T> Expected<T> number() {
    if (left() < sizeof(T))
      return ended();
    T value;
    std::memcpy(&value, bytes.data() + position, sizeof(T));
    position += sizeof(T);
    return value;
  }

  /// A number of things that have at least so many bytes each.
  Expected<uint64_t> count(const char *what, uint64_t leastBytes) {
    SINTER_TRY(uint64_t count, number<uint64_t>());
    if (count > left() / leastBytes)
      return bad("it has no room for its " + std::to_string(count) + " " + what);
    return count;
  }

  Expected<std::string> text() {
    SINTER_TRY(uint64_t length, number<uint64_t>());
    if (length > left())
      return ended();
    std::string text(reinterpret_cast<const char *>(bytes.data() + position), length);
    position += length;
    if (!isValidUtf8(text))
      return bad("a text in its header is not UTF-8");
    return text;
  }

  template <typename T> Expected<Json> numberValue() {
    SINTER_TRY(T value, number<T>());
    return Json(value);
  }

  /// Arrays hold no arrays: no writer makes them, and depth would be the file's to choose.
  Expected<Json> value(ValueType type, bool inArray) {
    switch (type) {
    case ValueType::U8:
      return numberValue<uint8_t>();
    case ValueType::I8:
      return numberValue<int8_t>();
    case ValueType::U16:
      return numberValue<uint16_t>();
    case ValueType::I16:
      return numberValue<int16_t>();
    case ValueType::U32:
      return numberValue<uint32_t>();
    case ValueType::I32:
      return numberValue<int32_t>();
    case ValueType::U64:
      return numberValue<uint64_t>();
    case ValueType::I64:
      return numberValue<int64_t>();
    case ValueType::F32:
      return numberValue<float>();
    case ValueType::F64:
      return numberValue<double>();
    case ValueType::Bool: {
      SINTER_TRY(uint8_t value, number<uint8_t>());
      return Json(value != 0);
    }
    case ValueType::String: {
      SINTER_TRY(std::string value, text());
      return Json(std::move(value));
    }
    case ValueType::Array:
      if (!inArray)
        return array();
      break;
    }
    return bad("a value in its header is of type " + std::to_string(uint32_t(type)) +
               ", which is not known");
  }

  Expected<Json> array() {
    SINTER_TRY(uint32_t type, number<uint32_t>());
    SINTER_TRY(uint64_t length, count("entries of an array", 1));
    Json list = Json::array();
    for (uint64_t i = 0; i < length; ++i) {
      SINTER_TRY(Json item, value(ValueType(type), /*inArray=*/true));
      list.push_back(std::move(item));
    }
    return list;
  }

  Expected<void> readEntry(Json &metadata) {
    SINTER_TRY(std::string key, text());
    SINTER_TRY(uint32_t type, number<uint32_t>());
    SINTER_TRY(Json entry, value(ValueType(type), /*inArray=*/false));
    if (!metadata.emplace(key, std::move(entry)).second)
      return bad("it has two entries '" + key + "'");
    return {};
  }

  Expected<GgufTensor> readTensor() {
    GgufTensor tensor;
    SINTER_TRY(tensor.name, text());
    SINTER_TRY(uint32_t dimensions, number<uint32_t>());
    constexpr uint32_t most = 4;
    if (dimensions > most)
      return bad("tensor '" + tensor.name + "' has " + std::to_string(dimensions) + " dimensions");
    constexpr uint64_t mostElements = uint64_t(1) << 48;
    uint64_t elements = 1;
    for (uint32_t i = 0; i < dimensions; ++i) {
      SINTER_TRY(uint64_t extent, number<uint64_t>());
      if (extent == 0 || extent > mostElements / elements)
        return bad("tensor '" + tensor.name + "' has an impossible shape");
      elements *= extent;
      tensor.shape.insert(tensor.shape.begin(), static_cast<int64_t>(extent));
    }
    SINTER_TRY(uint32_t type, number<uint32_t>());
    tensor.type = findGgufType(type);
    if (!tensor.type)
      return bad("tensor '" + tensor.name + "' is " + std::string(nameOfGgufType(type)) + " (" +
                     std::to_string(type) + "), which cannot be read",
                 "take a file of another quantization, such as Q4_K_M or Q8_0");
    if (tensor.getColumns() % tensor.type->blockElements != 0)
      return bad("tensor '" + tensor.name + "' has rows of " + std::to_string(tensor.getColumns()) +
                 " elements, which blocks of " + std::to_string(tensor.type->blockElements) +
                 " do not fill");
    SINTER_TRY(tensor.offset, number<uint64_t>());
    return tensor;
  }

  Expected<uint64_t> dataBegin(const Json &metadata) const {
    uint64_t alignment = 32;
    if (auto given = metadata.find("general.alignment"); given != metadata.end()) {
      if (!given->is_number_unsigned() || !std::has_single_bit(given->get<uint64_t>()) ||
          given->get<uint64_t>() > (1 << 20))
        return bad("its general.alignment is " + given->dump() + ", not a power of two");
      alignment = given->get<uint64_t>();
    }
    return (position + alignment - 1) / alignment * alignment;
  }

  Expected<void> place(GgufTensor &tensor, uint64_t begin) const {
    uint64_t elements = 1;
    for (int64_t extent : tensor.shape)
      elements *= static_cast<uint64_t>(extent);
    // No product overflows: there are at most 2^48 elements.
    uint64_t size = elements / tensor.type->blockElements * tensor.type->blockBytes;
    if (begin > bytes.size() || tensor.offset > bytes.size() - begin ||
        size > bytes.size() - begin - tensor.offset)
      return bad("tensor '" + tensor.name + "' goes beyond the end of the file");
    tensor.offset += begin;
    tensor.data = bytes.subspan(tensor.offset, size);
    return {};
  }
};

} // namespace

int64_t GgufTensor::getRows() const {
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i)
    rows *= shape[i];
  return rows;
}

bool GgufFile::isGguf(std::span<const std::byte> bytes) {
  return bytes.size() >= kMagic.size() &&
         std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

/// A whole number of a file's metadata; 0 where there is none.
static uint64_t countOf(const GgufFile &file, const char *key) {
  auto entry = file.metadata.find(key);
  return entry != file.metadata.end() && entry->is_number_unsigned() ? entry->get<uint64_t>() : 0;
}

/// The ending of part `number` from 1 on, as llama.cpp names them.
static std::string endingOf(uint64_t number, uint64_t count) {
  char text[64];
  std::snprintf(text, sizeof text, "-%05llu-of-%05llu.gguf",
                static_cast<unsigned long long>(number), static_cast<unsigned long long>(count));
  return text;
}

static Expected<GgufFile> openPart(const std::filesystem::path &path) {
  SINTER_TRY(MappedFile mapping, MappedFile::open(path));
  SINTER_TRY(GgufFile file, GgufFile::read(mapping.getBytes(), path.string()));
  file.mappings.push_back(std::move(mapping));
  file.paths.push_back(path);
  return file;
}

Expected<GgufFile> GgufFile::open(const std::filesystem::path &path) {
  SINTER_TRY(GgufFile file, openPart(path));
  uint64_t count = countOf(file, kParts), number = countOf(file, "split.no") + 1;
  if (count < 2)
    return file;
  std::string name = path.filename().string(), ending = endingOf(number, count);
  if (!name.ends_with(ending))
    return fail(path.string(),
                "it is part " + std::to_string(number) + " of " + std::to_string(count) +
                    " and its name does not end in " + ending,
                "give the parts the names that they were published with");
  std::string stem = name.substr(0, name.size() - ending.size());
  if (number != 1)
    return fail(path.string(),
                "it is part " + std::to_string(number) + " of " + std::to_string(count),
                "give the first part, " + stem + endingOf(1, count));
  std::set<std::string> names;
  for (const GgufTensor &tensor : file.tensors)
    names.insert(tensor.name);
  for (uint64_t i = 2; i <= count; ++i) {
    SINTER_TRY(GgufFile part, openPart(path.parent_path() / (stem + endingOf(i, count))));
    const std::filesystem::path &from = part.paths.front();
    if (countOf(part, kParts) != count || countOf(part, "split.no") + 1 != i)
      return fail(from.string(),
                  "it is not part " + std::to_string(i) + " of " + std::to_string(count),
                  "download it again");
    for (GgufTensor &tensor : part.tensors) {
      if (!names.insert(tensor.name).second)
        return fail(from.string(), "its tensor '" + tensor.name + "' is in another part, too",
                    "download the parts of one model");
      tensor.part = file.paths.size();
      file.tensors.push_back(std::move(tensor));
    }
    file.mappings.push_back(std::move(part.mappings.front()));
    file.paths.push_back(from);
  }
  file.metadata.erase(kParts);
  return file;
}

Expected<GgufFile> GgufFile::read(std::span<const std::byte> bytes, std::string_view source) {
  if (!isGguf(bytes))
    return fail(std::string(source), "it does not begin with 'GGUF'", kRemedy);
  return Reader(bytes, source).read();
}

} // namespace sinter
