#include "frontends/Gguf/GgufTensors.h"
#include "frontends/Gguf/GgufValues.h"
#include "runtime/Base/WriteFloats.h"
#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <cstring>

namespace sinter {
namespace {

/// Of rotary positions: config.json says what they do (GgufConfig.h).
bool isOfPositions(std::string_view name) {
  return name == "rope_freqs.weight" || name == "rope_factors_long.weight" ||
         name == "rope_factors_short.weight" || name.ends_with(".attn_rot_embd.weight");
}

/// Whether a change is of the rows that are values of linear attention.
bool tilesRows(GgufChange change) {
  return change == GgufChange::ValuesTiled || change == GgufChange::ValuesBehind ||
         change == GgufChange::TapsOfValues || change == GgufChange::DecaysOfHeads ||
         change == GgufChange::BiasesOfHeads;
}

/// Rows of blocks, and where row `i` of the tensor is among them.
struct Rows {
  const GgufTensor &tensor;
  int64_t count, columns;
  GgufChange change;
  int64_t heads = 1, keyHeads = 1; ///< of GgufChange::PairsTogether and PartsApart, and of values
  int64_t kept = 0;                ///< rows before those of values

  /// Of `count` rows or columns of values, the first of the heads of each key head stand before the
  /// second.
  int64_t sourceOfValue(int64_t at, int64_t size) const {
    int64_t head = at / size, ofEach = heads / keyHeads;
    return (head % ofEach * keyHeads + head / ofEach) * size + at % size;
  }

  int64_t source(int64_t row) const {
    if (tilesRows(change))
      return row < kept ? row : kept + sourceOfValue(row - kept, (count - kept) / heads);
    if (change == GgufChange::PairsTogether) {
      int64_t size = count / heads, head = row / size, at = row % size;
      return head * size + at % (size / 2) * 2 + at / (size / 2);
    }
    if (change == GgufChange::PartsApart) {
      int64_t size = count / (heads + 2 * keyHeads), part = row / size;
      int64_t queries = heads / keyHeads, group = part / (queries + 2), at = part % (queries + 2);
      int64_t place =
          at < queries ? group * queries + at : heads + (at - queries) * keyHeads + group;
      return place * size + row % size;
    }
    return row;
  }
};

void widen(const GgufType &type, std::span<const std::byte> bytes, std::span<float> out) {
  if (!type.plain) {
    type.dequantize(bytes, out);
  } else if (*type.plain == DType::F32) {
    std::memcpy(out.data(), bytes.data(), bytes.size());
  } else {
    for (size_t i = 0; i < out.size(); ++i) {
      uint16_t bits;
      std::memcpy(&bits, bytes.data() + 2 * i, sizeof bits);
      out[i] = *type.plain == DType::BF16 ? bf16ToFloat(bits) : f16ToFloat(bits);
    }
  }
}

/// Puts a row's columns, of which an element is of `width`, where the tensor has them.
template <typename T> void placeColumns(const Rows &rows, std::span<T> row, int64_t width) {
  if (rows.change != GgufChange::ValuesColumns)
    return;
  std::vector<T> from(row.begin(), row.end());
  int64_t size = rows.columns / rows.heads / width;
  for (size_t i = 0; i < row.size(); ++i)
    row[i] = from[static_cast<size_t>(rows.sourceOfValue(static_cast<int64_t>(i), size))];
}

/// One row an item.
TensorDecoder decodeRows(const Rows &rows) {
  const GgufType &type = *rows.tensor.type;
  uint64_t rowBytes = rows.tensor.data.size() / static_cast<uint64_t>(rows.count);
  std::span<const std::byte> data = rows.tensor.data;
  return {
      static_cast<uint64_t>(rows.count), [=, &type](uint64_t begin, uint64_t end, std::byte *out) {
        std::vector<float> row(static_cast<size_t>(rows.columns));
        for (uint64_t i = begin; i < end; ++i) {
          auto from = static_cast<uint64_t>(rows.source(static_cast<int64_t>(i)));
          widen(type, data.subspan(from * rowBytes, rowBytes), row);
          if (rows.change == GgufChange::OneAdded)
            for (float &value : row)
              value -= 1;
          if (rows.change == GgufChange::Decays || rows.change == GgufChange::DecaysOfHeads)
            for (float &value : row)
              value = std::log(-value);
          placeColumns<float>(rows, row, 1);
          std::memcpy(out + i * row.size() * sizeof(float), row.data(), row.size() * sizeof(float));
        }
      }};
}

/// The parts of rows of blocks, one row an item.
IntegerMatrix splitRows(const Rows &rows) {
  enum class Part { Integers, Scales, Minima };
  const GgufType &type = *rows.tensor.type;
  uint64_t rowBytes = rows.tensor.data.size() / static_cast<uint64_t>(rows.count);
  std::span<const std::byte> data = rows.tensor.data;
  auto decode = [=, &type](Part part) {
    return TensorDecoder{
        static_cast<uint64_t>(rows.count),
        [=, &type](uint64_t begin, uint64_t end, std::byte *out) {
          auto columns = static_cast<size_t>(rows.columns);
          std::vector<int8_t> unused(part == Part::Integers ? 0 : columns);
          std::vector<float> scales(columns / static_cast<size_t>(type.format.group));
          std::vector<float> minima(scales.size());
          DType scaleType = part == Part::Scales ? type.format.scaleType : DType::F32;
          for (uint64_t i = begin; i < end; ++i) {
            auto from = static_cast<uint64_t>(rows.source(static_cast<int64_t>(i)));
            auto *integers = part == Part::Integers ? reinterpret_cast<int8_t *>(out + i * columns)
                                                    : unused.data();
            type.split(data.subspan(from * rowBytes, rowBytes),
                       {integers, scales.data(), minima.data()});
            if (part == Part::Integers)
              placeColumns<int8_t>(rows, {integers, columns}, 1);
            placeColumns<float>(rows, scales, type.format.group);
            placeColumns<float>(rows, minima, type.format.group);
            if (part != Part::Integers)
              writeFloats(part == Part::Scales ? scales : minima, scaleType,
                          out + i * scales.size() * sizeOf(scaleType));
          }
        }};
  };
  auto copyScales = [=, &type](uint64_t begin, uint64_t end, std::byte *out) {
    uint64_t outBytes = rowBytes / type.blockBytes * sizeof(uint16_t);
    for (uint64_t i = begin; i < end; ++i) {
      auto from = static_cast<uint64_t>(rows.source(static_cast<int64_t>(i)));
      type.copyScales(data.subspan(from * rowBytes, rowBytes), out + i * outBytes);
    }
  };
  IntegerMatrix matrix{type.format, rows.count, rows.columns, decode(Part::Integers),
                       decode(Part::Scales)};
  if (type.beginWithScales() && rows.change != GgufChange::ValuesColumns)
    matrix.scales.decode = copyScales;
  if (type.format.hasMinima)
    matrix.minima = decode(Part::Minima);
  return matrix;
}

/// A block of each row an item, which becomes as many rows.
TensorDecoder decodeTransposed(const Rows &rows) {
  const GgufType &type = *rows.tensor.type;
  uint64_t rowBytes = rows.tensor.data.size() / static_cast<uint64_t>(rows.count);
  std::span<const std::byte> data = rows.tensor.data;
  // Of plain types a cache line's worth.
  uint64_t columns = static_cast<uint64_t>(rows.columns),
           width = type.plain ? 16 : type.blockElements;
  return {(columns + width - 1) / width, [=, &type, count = static_cast<uint64_t>(rows.count)](
                                             uint64_t begin, uint64_t end, std::byte *out) {
            std::vector<float> block(width);
            for (uint64_t item = begin; item < end; ++item) {
              uint64_t first = item * width, here = std::min(width, columns - first);
              uint64_t offset = first / type.blockElements * type.blockBytes;
              uint64_t size = here / type.blockElements * type.blockBytes;
              for (uint64_t row = 0; row < count; ++row) {
                widen(type, data.subspan(row * rowBytes + offset, size),
                      std::span(block).first(here));
                for (uint64_t i = 0; i < here; ++i)
                  std::memcpy(out + ((first + i) * count + row) * sizeof(float), &block[i],
                              sizeof(float));
              }
            }
          }};
}

} // namespace

/// A head an item: rows of its keys, which are columns of the one tensor, and those of its values,
/// which are rows of the other.
static TensorDecoder decodeLatent(const GgufTensor &keys, const GgufTensor &values) {
  int64_t heads = keys.shape[0], latent = keys.shape[1], keySize = keys.shape[2];
  int64_t valueSize = values.shape[1];
  return {static_cast<uint64_t>(heads),
          [=, &keyType = *keys.type, &valueType = *values.type, ofKeys = keys.data,
           ofValues = values.data](uint64_t begin, uint64_t end, std::byte *bytes) {
            auto *out = reinterpret_cast<float *>(bytes);
            std::vector<float> block(static_cast<size_t>(latent * keySize));
            uint64_t keyBytes = ofKeys.size() / static_cast<uint64_t>(heads),
                     valueBytes = ofValues.size() / static_cast<uint64_t>(heads);
            for (uint64_t head = begin; head < end; ++head) {
              float *rows = out + static_cast<int64_t>(head) * (keySize + valueSize) * latent;
              widen(keyType, ofKeys.subspan(head * keyBytes, keyBytes), block);
              for (int64_t i = 0; i < latent; ++i)
                for (int64_t j = 0; j < keySize; ++j)
                  rows[j * latent + i] = block[static_cast<size_t>(i * keySize + j)];
              widen(valueType, ofValues.subspan(head * valueBytes, valueBytes),
                    {rows + keySize * latent, static_cast<size_t>(valueSize * latent)});
            }
          }};
}

/// Splits "blk.3.attn_q.weight" into the layer and what follows it.
static std::optional<std::pair<uint32_t, std::string>> splitLayer(const std::string &name) {
  constexpr std::string_view prefix = "blk.";
  if (!name.starts_with(prefix))
    return std::nullopt;
  uint32_t layer = 0;
  const char *end = name.data() + name.size();
  auto [rest, status] = std::from_chars(name.data() + prefix.size(), end, layer);
  if (status != std::errc() || rest == end || *rest != '.')
    return std::nullopt;
  return std::pair(layer, std::string(rest + 1, end));
}

/// A tensor of linear attention with its values' heads where Hugging Face's model has them.
static Expected<Tensor> placeValues(const GgufTensor &stored, GgufChange change, GgufKeys &keys,
                                    Tensor tensor) {
  bool vector = stored.shape.size() == 1, byColumns = change == GgufChange::ValuesColumns;
  Rows rows{stored, stored.getRows(), stored.getColumns(), change};
  if (vector)
    std::swap(rows.count, rows.columns);
  rows.heads = keys.size("ssm.time_step_rank");
  rows.keyHeads = keys.size("ssm.group_count");
  if (change == GgufChange::ValuesBehind || change == GgufChange::TapsOfValues)
    rows.kept = 2 * rows.keyHeads * keys.size("ssm.state_size");
  SINTER_CHECK(keys.finish());
  int64_t values = byColumns ? rows.columns : rows.count - rows.kept;
  int64_t group = stored.type->plain ? 1 : stored.type->format.group;
  if (rows.heads % rows.keyHeads != 0 || values <= 0 || values % rows.heads != 0 ||
      (byColumns && values / rows.heads % group != 0) || (vector && !stored.type->plain))
    return fail(std::string(keys.getSource()) + ": tensor '" + stored.name + "'",
                "its " + std::to_string(values) + " rows or columns are not those of " +
                    std::to_string(rows.heads) + " heads of values, in whole groups",
                "take a file of a model that is known");
  if (change == GgufChange::TapsOfValues)
    tensor.shape.insert(tensor.shape.begin() + 1, 1);
  tensor.dtype = DType::F32;
  tensor.decoder = decodeRows(rows);
  if (!stored.type->plain && stored.shape.size() >= 2 && change != GgufChange::TapsOfValues)
    tensor.integers = splitRows(rows);
  return tensor;
}

/// Tensors that the file has as an entry of its header.
static Expected<void> addNumbers(const GgufFile &file, std::string_view source,
                                 const GgufArchitecture &architecture,
                                 const GgufLayerNumber &number, std::vector<Tensor> &tensors) {
  auto found = file.metadata.find(number.file);
  if (found == file.metadata.end() || !found->is_array() ||
      !std::ranges::all_of(*found, [](const GgufKeys::Json &one) { return one.is_number(); }))
    return fail(std::string(source), std::string("its ") + number.file + " is no list of numbers",
                "convert the model again");
  for (size_t layer = 0; layer < found->size(); ++layer) {
    auto value = (*found)[layer].get<float>();
    Tensor tensor;
    tensor.name = architecture.layers + std::to_string(layer) + "." + number.name;
    tensor.shape = {1};
    tensor.dtypeName = "F32";
    tensor.dtype = DType::F32;
    tensor.decoder = {
        1, [value](uint64_t, uint64_t, std::byte *out) { std::memcpy(out, &value, sizeof value); }};
    tensors.push_back(std::move(tensor));
  }
  return {};
}

Expected<std::vector<Tensor>> nameGgufTensors(const GgufFile &file, std::string_view source,
                                              size_t fileIndex) {
  SINTER_TRY(const GgufArchitecture *architecture, findGgufArchitecture(file, source));
  GgufKeys keys(file, source, architecture->name);
  // 0 of models without attention.
  const GgufKeys::Json *given = keys.find("attention.head_count");
  int64_t heads = given && *given == 0 ? 1 : keys.size("attention.head_count");
  SINTER_CHECK(keys.finish());
  std::vector<Tensor> tensors;
  for (const GgufTensor &stored : file.tensors) {
    if (isOfPositions(stored.name))
      continue;
    auto unknown = [&](const std::string &why) {
      return fail(std::string(source) + ": tensor '" + stored.name + "'", why,
                  "take a file of a model that is known");
    };
    auto layer = splitLayer(stored.name);
    std::string own = layer ? layer->second : stored.name;
    size_t dot = own.rfind('.');
    std::string ending = dot == std::string::npos ? "" : own.substr(dot);
    if (layer && own == "attn_v_b.weight")
      continue; // comes with the keys
    const std::vector<GgufTensorName> &list = layer ? architecture->ofLayer : architecture->global;
    auto found = std::ranges::find(list, own, &GgufTensorName::file);
    if (found == list.end() && (ending == ".weight" || ending == ".bias"))
      found = std::ranges::find(list, own.substr(0, dot), &GgufTensorName::file);
    if (found == list.end())
      return unknown("models of the architecture " + std::string(architecture->name) +
                     " have none of this name");
    Tensor tensor;
    bool gotEnding =
        found->change == GgufChange::Ending || found->change == GgufChange::RowOfEnding ||
        found->change == GgufChange::DecaysOfHeads || found->change == GgufChange::BiasesOfHeads;
    tensor.name = (layer ? architecture->layers + std::to_string(layer->first) + "." : "") +
                  found->name + (gotEnding ? "" : ending);
    tensor.shape = stored.shape;
    tensor.dtypeName = stored.type->name;
    tensor.file = fileIndex + stored.part;
    tensor.offset = stored.offset;
    tensor.data = stored.data;
    bool vector = stored.shape.size() == 1;
    // A bias is not transposed, and neither are the weights of a norm; of norms' tensors, one is
    // added to weights alone.
    GgufChange change = found->change;
    if (change == GgufChange::Ending || (change == GgufChange::Transposed && vector) ||
        (change == GgufChange::Taps && ending == ".bias") ||
        (change == GgufChange::OneAdded && ending == ".bias"))
      change = GgufChange::None;
    if (change == GgufChange::KeysOfLatent) {
      const GgufTensor *values =
          keys.findTensor("blk." + std::to_string(layer->first) + ".attn_v_b.weight");
      if (stored.shape.size() != 3 || !values || values->shape.size() != 3 ||
          values->shape[0] != stored.shape[0] || values->shape[2] != stored.shape[1])
        return unknown("there is no attn_v_b with its heads");
      tensor.shape = {stored.shape[0] * (stored.shape[2] + values->shape[1]), stored.shape[1]};
      tensor.dtype = DType::F32;
      tensor.decoder = decodeLatent(stored, *values);
      tensors.push_back(std::move(tensor));
      continue;
    }
    if (change == GgufChange::RowAlone || change == GgufChange::RowOfEnding) {
      if (vector)
        tensor.shape.insert(tensor.shape.begin(), 1);
      change = GgufChange::None;
    }
    if (change == GgufChange::Taps) {
      if (stored.shape.size() != 2)
        return unknown("it is no matrix");
      tensor.shape.insert(tensor.shape.begin() + 1, 1);
      change = GgufChange::None;
    }
    if (change == GgufChange::Vector || change == GgufChange::Decays) {
      if (!stored.type->plain)
        return unknown("it is in blocks, which vectors are not");
      tensor.shape = {stored.getRows() * stored.getColumns()};
      change = change == GgufChange::Vector ? GgufChange::None : change;
    }
    if (stored.type->plain && change == GgufChange::None) {
      tensor.dtype = stored.type->plain;
      tensors.push_back(std::move(tensor));
      continue;
    }
    if (tilesRows(change) || change == GgufChange::ValuesColumns) {
      SINTER_TRY(Tensor placed, placeValues(stored, change, keys, std::move(tensor)));
      tensors.push_back(std::move(placed));
      continue;
    }
    bool byRows = change == GgufChange::PairsTogether || change == GgufChange::PartsApart;
    Rows rows{stored, stored.getRows(), stored.getColumns(), change};
    if (byRows && vector)
      std::swap(rows.count, rows.columns);
    int64_t keyHeads = heads;
    if (byRows) {
      keyHeads = gguf::keyHeads(keys).get<int64_t>();
      SINTER_CHECK(keys.finish());
      rows.heads = std::string_view(found->file) == "attn_k" ? keyHeads : heads;
    }
    rows.keyHeads = keyHeads;
    int64_t parts = change == GgufChange::PartsApart ? heads + 2 * keyHeads : 2 * rows.heads;
    if (byRows && (rows.count % parts != 0 || (vector && !stored.type->plain) ||
                   (change == GgufChange::PartsApart && heads % keyHeads != 0)))
      return unknown("its " + std::to_string(rows.count) + " rows are not those of " +
                     std::to_string(rows.heads) + " heads");
    if (change == GgufChange::Transposed && stored.shape.size() != 2)
      return unknown("it is no matrix");
    if (change == GgufChange::Transposed)
      std::swap(tensor.shape[0], tensor.shape[1]);
    tensor.dtype = DType::F32;
    tensor.decoder = change == GgufChange::Transposed ? decodeTransposed(rows) : decodeRows(rows);
    if (!stored.type->plain && stored.shape.size() >= 2 && change != GgufChange::OneAdded)
      tensor.integers = splitRows(rows);
    tensors.push_back(std::move(tensor));
  }
  for (const GgufLayerNumber &number : architecture->numbers)
    SINTER_CHECK(addNumbers(file, source, *architecture, number, tensors));
  return tensors;
}

} // namespace sinter
