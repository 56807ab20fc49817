#include "frontends/Gguf/GgufTensors.h"
#include "runtime/Base/WriteFloats.h"
#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstring>

namespace sinter {
namespace {

/// What the converter did to a tensor.
enum class Change {
  None,
  PairsTogether, ///< rows of a head: (i, i + size / 2) became (2 i, 2 i + 1)
  PartsApart,    ///< rows: heads of (q, k, v) became all q, all k, all v
  Transposed,    ///< [in, out] became [out, in]
  OneAdded,      ///< 1 + weight
};

struct NamedTensor {
  const char *file; ///< "attn_q" in the file ...
  const char *name; ///< ... and "self_attn.q_proj" in Hugging Face's model
  Change change = Change::None;
};

/// The names of an architecture's tensors, without ".weight" and ".bias".
struct Names {
  const char *architecture, *modelType, *layers;
  std::vector<NamedTensor> global, ofLayer;
};

std::vector<NamedTensor> operator+(std::vector<NamedTensor> a, const std::vector<NamedTensor> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const std::vector<Names> &allNames() {
  static const std::vector<NamedTensor> global = {
      {"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}};
  static const std::vector<NamedTensor> gated = {
      {"attn_norm", "input_layernorm"},    {"attn_v", "self_attn.v_proj"},
      {"attn_output", "self_attn.o_proj"}, {"ffn_norm", "post_attention_layernorm"},
      {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
      {"ffn_down", "mlp.down_proj"}};
  static const std::vector<NamedTensor> queries = {{"attn_q", "self_attn.q_proj"},
                                                   {"attn_k", "self_attn.k_proj"}};
  static const std::vector<NamedTensor> paired = {
      {"attn_q", "self_attn.q_proj", Change::PairsTogether},
      {"attn_k", "self_attn.k_proj", Change::PairsTogether}};
  constexpr Change one = Change::OneAdded, transposed = Change::Transposed;
  static const std::vector<NamedTensor> products = {{"attn_v", "self_attn.v_proj"},
                                                    {"attn_output", "self_attn.o_proj"},
                                                    {"ffn_gate", "mlp.gate_proj"},
                                                    {"ffn_up", "mlp.up_proj"},
                                                    {"ffn_down", "mlp.down_proj"}};
  static const std::vector<NamedTensor> headNorms = {{"attn_q_norm", "self_attn.q_norm"},
                                                     {"attn_k_norm", "self_attn.k_norm"}};
  static const std::vector<NamedTensor> globalOfOne = {{"token_embd", "model.embed_tokens"},
                                                       {"output_norm", "model.norm", one},
                                                       {"output", "lm_head"}};
  static const std::vector<NamedTensor> normsOfOne = {
      {"attn_norm", "input_layernorm", one}, {"ffn_norm", "post_attention_layernorm", one}};
  static const std::vector<NamedTensor> gemma2Norms = {
      {"attn_norm", "input_layernorm", one},
      {"post_attention_norm", "post_attention_layernorm", one},
      {"ffn_norm", "pre_feedforward_layernorm", one},
      {"post_ffw_norm", "post_feedforward_layernorm", one}};
  static const std::vector<Names> all = {
      {"llama", "llama", "model.layers.", global, gated + paired},
      {"qwen2", "qwen2", "model.layers.", global, gated + queries},
      {"qwen3", "qwen3", "model.layers.", global, gated + queries + headNorms},
      {"granite", "granite", "model.layers.", global, gated + paired},
      {"smollm3", "smollm3", "model.layers.", global, gated + paired},
      {"command-r", "cohere", "model.layers.", global, gated + queries},
      {"stablelm", "stablelm", "model.layers.", global, gated + queries},
      {"nemotron", "nemotron", "model.layers.", globalOfOne, products + queries + normsOfOne},
      {"gemma", "gemma", "model.layers.", globalOfOne, products + queries + normsOfOne},
      {"gemma2", "gemma2", "model.layers.", globalOfOne, products + queries + gemma2Norms},
      {"gemma3", "gemma3_text", "model.layers.", globalOfOne,
       products + queries + gemma2Norms +
           std::vector<NamedTensor>{{"attn_q_norm", "self_attn.q_norm", one},
                                    {"attn_k_norm", "self_attn.k_norm", one}}},
      {"olmo2", "olmo2", "model.layers.", global,
       products + queries + headNorms +
           std::vector<NamedTensor>{{"post_attention_norm", "post_attention_layernorm"},
                                    {"post_ffw_norm", "post_feedforward_layernorm"}}},
      {"starcoder2", "starcoder2", "model.layers.", global,
       queries + std::vector<NamedTensor>{{"attn_norm", "input_layernorm"},
                                          {"attn_v", "self_attn.v_proj"},
                                          {"attn_output", "self_attn.o_proj"},
                                          {"ffn_norm", "post_attention_layernorm"},
                                          {"ffn_up", "mlp.c_fc"},
                                          {"ffn_down", "mlp.c_proj"}}},
      {"phi2",
       "phi",
       "model.layers.",
       {{"token_embd", "model.embed_tokens"},
        {"output_norm", "model.final_layernorm"},
        {"output", "lm_head"}},
       queries + std::vector<NamedTensor>{{"attn_norm", "input_layernorm"},
                                          {"attn_v", "self_attn.v_proj"},
                                          {"attn_output", "self_attn.dense"},
                                          {"ffn_up", "mlp.fc1"},
                                          {"ffn_down", "mlp.fc2"}}},
      {"phi3",
       "phi3",
       "model.layers.",
       global,
       {{"attn_norm", "input_layernorm"},
        {"attn_qkv", "self_attn.qkv_proj"},
        {"attn_output", "self_attn.o_proj"},
        {"ffn_norm", "post_attention_layernorm"},
        {"ffn_up", "mlp.gate_up_proj"},
        {"ffn_down", "mlp.down_proj"}}},
      {"gpt2",
       "gpt2",
       "transformer.h.",
       {{"token_embd", "transformer.wte"},
        {"position_embd", "transformer.wpe"},
        {"output_norm", "transformer.ln_f"},
        {"output", "lm_head"}},
       {{"attn_norm", "ln_1"},
        {"attn_qkv", "attn.c_attn", transposed},
        {"attn_output", "attn.c_proj", transposed},
        {"ffn_norm", "ln_2"},
        {"ffn_up", "mlp.c_fc", transposed},
        {"ffn_down", "mlp.c_proj", transposed}}},
      {"gptneox",
       "gpt_neox",
       "gpt_neox.layers.",
       {{"token_embd", "gpt_neox.embed_in"},
        {"output_norm", "gpt_neox.final_layer_norm"},
        {"output", "embed_out"}},
       {{"attn_norm", "input_layernorm"},
        {"attn_qkv", "attention.query_key_value", Change::PartsApart},
        {"attn_output", "attention.dense"},
        {"ffn_norm", "post_attention_layernorm"},
        {"ffn_up", "mlp.dense_h_to_4h"},
        {"ffn_down", "mlp.dense_4h_to_h"}}}};
  return all;
}

/// Of rotary positions: config.json says what they do (GgufConfig.h).
bool isOfPositions(std::string_view name) {
  return name == "rope_freqs.weight" || name == "rope_factors_long.weight" ||
         name == "rope_factors_short.weight" || name.ends_with(".attn_rot_embd.weight");
}

const Names *findNames(const GgufFile &file) {
  auto given = file.metadata.find("general.architecture");
  if (given == file.metadata.end() || !given->is_string())
    return nullptr;
  auto found = std::ranges::find(allNames(), given->get<std::string>(), &Names::architecture);
  return found == allNames().end() ? nullptr : &*found;
}

/// Rows of blocks, and where row `i` of the tensor is among them.
struct Rows {
  const GgufTensor &tensor;
  int64_t count, columns;
  Change change;
  int64_t heads = 1; ///< of Change::PairsTogether and PartsApart

  int64_t source(int64_t row) const {
    int64_t size = count / heads, head = row / size, at = row % size;
    if (change == Change::PairsTogether)
      return head * size + at % (size / 2) * 2 + at / (size / 2);
    if (change == Change::PartsApart) {
      int64_t part = size / 3; // of a head: q, k or v
      return at / part * (heads * part) + head * part + at % part;
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
          if (rows.change == Change::OneAdded)
            for (float &value : row)
              value -= 1;
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
          std::vector<int8_t> integers(columns);
          std::vector<float> scales(columns / static_cast<size_t>(type.format.group));
          std::vector<float> minima(scales.size());
          DType scaleType = part == Part::Scales ? type.format.scaleType : DType::F32;
          for (uint64_t i = begin; i < end; ++i) {
            auto from = static_cast<uint64_t>(rows.source(static_cast<int64_t>(i)));
            type.split(data.subspan(from * rowBytes, rowBytes),
                       {integers.data(), scales.data(), minima.data()});
            if (part == Part::Integers)
              std::ranges::copy(std::as_bytes(std::span(integers)), out + i * columns);
            else
              writeFloats(part == Part::Scales ? scales : minima, scaleType,
                          out + i * scales.size() * sizeOf(scaleType));
          }
        }};
  };
  IntegerMatrix matrix{type.format, rows.count, rows.columns, decode(Part::Integers),
                       decode(Part::Scales)};
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

Expected<GgufArchitecture> findGgufArchitecture(const GgufFile &file, std::string_view source) {
  if (auto parts = file.metadata.find("split.count");
      parts != file.metadata.end() && parts->is_number_unsigned() && parts->get<uint64_t>() > 1)
    return fail(std::string(source), "it is one of " + parts->dump() + " parts of a model",
                "join them with llama.cpp's llama-gguf-split --merge");
  if (const Names *names = findNames(file))
    return GgufArchitecture{names->architecture, names->modelType};
  std::string known;
  for (const Names &names : allNames())
    known += std::string(known.empty() ? "" : ", ") + names.architecture;
  auto given = file.metadata.find("general.architecture");
  if (given == file.metadata.end())
    return fail(std::string(source), "it has no general.architecture", "download the file again");
  return fail(std::string(source), "its general.architecture is " + given->dump(),
              "these are known: " + known);
}

Expected<int64_t> readGgufSize(const GgufFile &file, std::string_view source,
                               const std::string &key) {
  std::string whole = file.metadata.value("general.architecture", "") + "." + key;
  auto value = file.metadata.find(whole);
  if (value == file.metadata.end())
    return fail(std::string(source), "it has no " + whole, "convert the model again");
  if (!value->is_number_unsigned() || value->get<uint64_t>() == 0 ||
      value->get<uint64_t>() > INT32_MAX)
    return fail(std::string(source), "its " + whole + " is no whole number from 1 to 2^31 - 1",
                "convert the model again");
  return static_cast<int64_t>(value->get<uint64_t>());
}

/// Splits "blk.3.attn_q" into the layer and what follows it.
static std::optional<std::pair<uint32_t, std::string>> splitLayer(const std::string &stem) {
  constexpr std::string_view prefix = "blk.";
  if (!stem.starts_with(prefix))
    return std::nullopt;
  uint32_t layer = 0;
  const char *end = stem.data() + stem.size();
  auto [rest, status] = std::from_chars(stem.data() + prefix.size(), end, layer);
  if (status != std::errc() || rest == end || *rest != '.')
    return std::nullopt;
  return std::pair(layer, std::string(rest + 1, end));
}

Expected<std::vector<Tensor>> nameGgufTensors(const GgufFile &file, std::string_view source,
                                              size_t fileIndex) {
  SINTER_CHECK(findGgufArchitecture(file, source));
  const Names &names = *findNames(file);
  SINTER_TRY(int64_t heads, readGgufSize(file, source, "attention.head_count"));
  int64_t keyHeads = heads;
  if (file.metadata.contains(std::string(names.architecture) + ".attention.head_count_kv")) {
    SINTER_TRY(keyHeads, readGgufSize(file, source, "attention.head_count_kv"));
  }
  std::vector<Tensor> tensors;
  for (const GgufTensor &stored : file.tensors) {
    if (isOfPositions(stored.name))
      continue;
    auto unknown = [&](const std::string &why) {
      return fail(std::string(source) + ": tensor '" + stored.name + "'", why,
                  "take a file of a model that is known");
    };
    size_t dot = stored.name.rfind('.');
    std::string ending = dot == std::string::npos ? "" : stored.name.substr(dot);
    std::string stem = stored.name.substr(0, dot);
    auto layer = splitLayer(stem);
    const std::vector<NamedTensor> &list = layer ? names.ofLayer : names.global;
    auto found = std::ranges::find(list, layer ? layer->second : stem, &NamedTensor::file);
    if (found == list.end() || (ending != ".weight" && ending != ".bias"))
      return unknown("models of the architecture " + std::string(names.architecture) +
                     " have none of this name");
    Tensor tensor;
    tensor.name =
        (layer ? names.layers + std::to_string(layer->first) + "." : "") + found->name + ending;
    tensor.shape = stored.shape;
    tensor.dtypeName = stored.type->name;
    tensor.file = fileIndex;
    tensor.offset = stored.offset;
    tensor.data = stored.data;
    bool vector = stored.shape.size() == 1;
    // A bias is not transposed, and neither are the weights of a norm; of norms' tensors, one is
    // added to weights alone.
    Change change = found->change;
    if ((change == Change::Transposed && vector) ||
        (change == Change::OneAdded && ending == ".bias"))
      change = Change::None;
    if (stored.type->plain && change == Change::None) {
      tensor.dtype = stored.type->plain;
      tensors.push_back(std::move(tensor));
      continue;
    }
    bool byRows = change == Change::PairsTogether || change == Change::PartsApart;
    Rows rows{stored, stored.getRows(), stored.getColumns(), change};
    if (byRows && vector)
      std::swap(rows.count, rows.columns);
    if (byRows)
      rows.heads = std::string_view(found->file) == "attn_k" ? keyHeads : heads;
    if (byRows && (rows.count % (rows.heads * (change == Change::PartsApart ? 3 : 2)) != 0 ||
                   (vector && !stored.type->plain)))
      return unknown("its " + std::to_string(rows.count) + " rows are not those of " +
                     std::to_string(rows.heads) + " heads");
    if (change == Change::Transposed && stored.shape.size() != 2)
      return unknown("it is no matrix");
    if (change == Change::Transposed)
      std::swap(tensor.shape[0], tensor.shape[1]);
    tensor.dtype = DType::F32;
    tensor.decoder = change == Change::Transposed ? decodeTransposed(rows) : decodeRows(rows);
    if (!stored.type->plain && stored.shape.size() == 2 && change != Change::OneAdded)
      tensor.integers = splitRows(rows);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

} // namespace sinter
