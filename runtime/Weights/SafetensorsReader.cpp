#include "runtime/Base/Json.h"
#include "runtime/Weights/Safetensors.h"
#include <algorithm>

namespace sinter {
namespace {

constexpr uint64_t maxHeaderBytes = 100'000'000; // the format's own limit
constexpr const char *remedy = "download or convert the file again";

struct FileDType {
  std::string_view name;
  uint64_t bytes;
  std::optional<DType> dtype;
};

constexpr FileDType fileDTypes[] = {
    {"F32", 4, DType::F32},   {"BF16", 2, DType::BF16},     {"F16", 2, DType::F16},
    {"I32", 4, DType::I32},   {"I64", 8, DType::I64},       {"F64", 8, DType::F64},
    {"U8", 1, DType::U8},     {"BOOL", 1, std::nullopt},    {"I8", 1, std::nullopt},
    {"I16", 2, std::nullopt}, {"U16", 2, std::nullopt},     {"U32", 4, std::nullopt},
    {"U64", 8, std::nullopt}, {"F8_E4M3", 1, std::nullopt}, {"F8_E5M2", 1, std::nullopt},
    {"C64", 8, std::nullopt}, {"F8_E8M0", 1, std::nullopt},
};

using Json = nlohmann::json;

/// A JSON number that is an integer in [0, 2^63).
std::optional<uint64_t> asSize(const Json &value) {
  if (!value.is_number_integer())
    return std::nullopt;
  if (value.is_number_unsigned()) {
    uint64_t number = value.get<uint64_t>();
    return number <= INT64_MAX ? std::optional(number) : std::nullopt;
  }
  int64_t number = value.get<int64_t>();
  return number >= 0 ? std::optional<uint64_t>(number) : std::nullopt;
}

/// Reads one entry of the header; the tensor's offset is still relative to `data`.
Expected<Tensor> readEntry(std::string_view source, const std::string &name, const Json &entry,
                           std::span<const std::byte> data) {
  std::string what = std::string(source) + ": tensor '" + name + "'";
  if (!entry.is_object())
    return fail(what, "its header entry is not an object", remedy);
  auto dtype = entry.find("dtype"), shape = entry.find("shape"),
       offsets = entry.find("data_offsets");
  if (dtype == entry.end() || !dtype->is_string())
    return fail(what, "its header entry has no 'dtype'", remedy);
  if (shape == entry.end() || !shape->is_array())
    return fail(what, "its header entry has no 'shape'", remedy);
  if (offsets == entry.end() || !offsets->is_array() || offsets->size() != 2)
    return fail(what, "its header entry has no 'data_offsets'", remedy);

  Tensor tensor;
  tensor.name = name;
  tensor.dtypeName = dtype->get_ref<const std::string &>();
  const auto *known = std::find_if(std::begin(fileDTypes), std::end(fileDTypes),
                                   [&](const FileDType &t) { return t.name == tensor.dtypeName; });
  if (known == std::end(fileDTypes))
    return fail(what, "unknown dtype '" + tensor.dtypeName + "'", "store it as F32, F16 or BF16");
  tensor.dtype = known->dtype;

  uint64_t bytes = known->bytes;
  for (const Json &dimension : *shape) {
    std::optional<uint64_t> size = asSize(dimension);
    if (!size || __builtin_mul_overflow(bytes, *size, &bytes))
      return fail(what,
                  "its shape " + shape->dump(-1, ' ', true, Json::error_handler_t::replace) +
                      " is negative, not whole, or too large",
                  remedy);
    tensor.shape.push_back(static_cast<int64_t>(*size));
  }
  std::optional<uint64_t> begin = asSize((*offsets)[0]), end = asSize((*offsets)[1]);
  if (!begin || !end || *begin > *end || *end > data.size())
    return fail(what,
                "its data_offsets " + offsets->dump(-1, ' ', true, Json::error_handler_t::replace) +
                    " are not a range in the file's " + std::to_string(data.size()) +
                    " bytes of data",
                remedy);
  if (*end - *begin != bytes)
    return fail(what,
                "its shape and dtype need " + std::to_string(bytes) +
                    " bytes, its data_offsets hold " + std::to_string(*end - *begin),
                remedy);
  tensor.offset = *begin;
  tensor.data = data.subspan(*begin, bytes);
  return tensor;
}

/// The format's rule: sorted by offset, tensors follow each other and fill the data.
Expected<void> checkLayout(std::string_view source, const std::vector<Tensor> &tensors,
                           uint64_t dataBytes) {
  uint64_t position = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].offset < position)
      return fail(std::string(source) + ": tensor '" + tensors[i].name + "'",
                  "its data overlap those of '" + tensors[i - 1].name + "'", remedy);
    if (tensors[i].offset > position)
      return fail(std::string(source) + ": tensor '" + tensors[i].name + "'",
                  "a hole of " + std::to_string(tensors[i].offset - position) +
                      " bytes lies before its data",
                  remedy);
    position += tensors[i].data.size();
  }
  if (position != dataBytes)
    return fail(std::string(source),
                "the last " + std::to_string(dataBytes - position) +
                    " bytes of the file belong to no tensor",
                remedy);
  return {};
}

/// The header of a file of `bytes`; `headerBytes` is set to its length.
Expected<Json> readHeader(std::span<const std::byte> bytes, const std::string &name,
                          uint64_t &headerBytes) {
  if (bytes.size() < 8)
    return fail(name,
                "a safetensors file begins with 8 bytes of header length, this one has " +
                    std::to_string(bytes.size()) + " bytes",
                remedy);
  headerBytes = 0;
  for (int i = 7; i >= 0; --i)
    headerBytes = headerBytes << 8 | std::to_integer<uint64_t>(bytes[i]);
  if (headerBytes > bytes.size() - 8)
    return fail(name,
                "the header says " + std::to_string(headerBytes) + " bytes, the file has " +
                    std::to_string(bytes.size() - 8) + " after its length",
                remedy);
  if (headerBytes > maxHeaderBytes)
    return fail(name, "the header of " + std::to_string(headerBytes) + " bytes is too large",
                remedy);
  const char *text = reinterpret_cast<const char *>(bytes.data()) + 8;
  Json header = parseJson({text, headerBytes});
  if (!header.is_object())
    return fail(name, "the header is not a JSON object", remedy);
  return header;
}

} // namespace

Expected<std::vector<Tensor>> readSafetensors(std::span<const std::byte> bytes,
                                              std::string_view source, size_t file) {
  uint64_t headerBytes = 0;
  SINTER_TRY(Json header, readHeader(bytes, std::string(source), headerBytes));
  std::span<const std::byte> data = bytes.subspan(8 + headerBytes);
  std::vector<Tensor> tensors;
  tensors.reserve(header.size());
  for (auto entry = header.begin(); entry != header.end(); ++entry) {
    if (entry.key() == "__metadata__")
      continue;
    SINTER_TRY(Tensor tensor, readEntry(source, entry.key(), entry.value(), data));
    tensor.file = file;
    tensors.push_back(std::move(tensor));
  }
  std::sort(tensors.begin(), tensors.end(), [](const Tensor &a, const Tensor &b) {
    // An empty tensor comes before the one that begins where it stands.
    return std::pair(a.offset, a.data.size()) < std::pair(b.offset, b.data.size());
  });
  SINTER_CHECK(checkLayout(source, tensors, data.size()));
  for (Tensor &tensor : tensors)
    tensor.offset += 8 + headerBytes;
  return tensors;
}

Expected<std::map<std::string, std::string>>
readSafetensorsMetadata(std::span<const std::byte> bytes, std::string_view source) {
  uint64_t headerBytes = 0;
  SINTER_TRY(Json header, readHeader(bytes, std::string(source), headerBytes));
  std::map<std::string, std::string> metadata;
  if (auto found = header.find("__metadata__"); found != header.end() && found->is_object())
    for (const auto &[key, value] : found->items())
      if (value.is_string())
        metadata[key] = value.get<std::string>();
  return metadata;
}

} // namespace sinter
