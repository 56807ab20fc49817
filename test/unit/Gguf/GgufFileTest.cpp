// Headers, sound and damaged; whole models are compared by test/cli/gguf.py.

#include "frontends/Gguf/GgufConfig.h"
#include "frontends/Gguf/GgufTensors.h"
#include "runtime/Base/HalfFloat.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace sinter;

namespace {

/// Writes a file field by field.
class Writer {
public:
  template <typename T> Writer &number(T value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
    return *this;
  }
  Writer &text(std::string_view text) {
    number<uint64_t>(text.size());
    bytes += text;
    return *this;
  }
  Writer &entry(std::string_view key, uint32_t value) {
    return text(key).number<uint32_t>(4).number(value);
  }
  Writer &entry(std::string_view key, std::string_view value) {
    return text(key).number<uint32_t>(8).text(value);
  }
  /// A list of whole numbers with signs.
  Writer &entry(std::string_view key, const std::vector<int32_t> &values) {
    text(key).number<uint32_t>(9).number<uint32_t>(5).number<uint64_t>(values.size());
    for (int32_t value : values)
      number(value);
    return *this;
  }
  Writer &tensor(std::string_view name, std::vector<uint64_t> extents, uint32_t type,
                 uint64_t offset) {
    text(name).number<uint32_t>(extents.size());
    for (uint64_t extent : extents)
      number(extent);
    return number(type).number(offset);
  }
  Writer &data(size_t count) {
    bytes.resize((bytes.size() + 31) / 32 * 32);
    bytes.append(count, '\0');
    return *this;
  }

  std::string bytes = "GGUF";
};

Writer begin(uint64_t tensors, uint64_t entries) {
  Writer writer;
  return writer.number<uint32_t>(3).number(tensors).number(entries);
}

std::span<const std::byte> bytesOf(const std::string &file) {
  return std::as_bytes(std::span(file));
}

std::string errorOf(const std::string &file) {
  auto read = GgufFile::read(bytesOf(file), "m.gguf");
  return read ? "" : read.error().message();
}

TEST(GgufFile, ReadsEntriesAndTensors) {
  std::string file = begin(2, 2)
                         .entry("general.architecture", "llama")
                         .entry("llama.block_count", 7)
                         .tensor("a", {4, 2}, 0, 0)
                         .tensor("b", {32}, 8, 32)
                         .data(66)
                         .bytes;
  auto read = GgufFile::read(bytesOf(file), "m.gguf");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->metadata["general.architecture"], "llama");
  EXPECT_EQ(read->metadata["llama.block_count"], 7);
  ASSERT_EQ(read->tensors.size(), 2u);
  const GgufTensor &a = read->tensors[0], &b = read->tensors[1];
  EXPECT_EQ(a.shape, (std::vector<int64_t>{2, 4})); // the file's extents begin with the fastest
  EXPECT_EQ(a.getRows(), 2);
  EXPECT_EQ(a.data.size(), 32u);
  EXPECT_EQ(b.data.size(), 34u);
  EXPECT_EQ(b.data.data() + b.data.size(), bytesOf(file).data() + file.size());
}

TEST(GgufFile, AnyTruncationIsAnError) {
  std::string file =
      begin(1, 1).entry("general.architecture", "llama").tensor("a", {4, 2}, 0, 0).data(32).bytes;
  ASSERT_EQ(errorOf(file), "");
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_NE(errorOf(file.substr(0, size)), "") << size;
}

TEST(GgufFile, RefusesWhatCannotBe) {
  EXPECT_EQ(errorOf("GGML"), "m.gguf: it does not begin with 'GGUF'; download the file again");
  EXPECT_EQ(errorOf(begin(0, 1).text("k").number<uint32_t>(77).bytes),
            "m.gguf: a value in its header is of type 77, which is not known; download the file "
            "again");
  auto array = [](uint32_t type, uint64_t count) {
    return begin(0, 1).text("k").number<uint32_t>(9).number(type).number(count).number(0).bytes;
  };
  EXPECT_NE(errorOf(array(9, 1)).find("is of type 9"), std::string::npos); // an array of arrays
  EXPECT_NE(errorOf(array(0, 1000)).find("it has no room for its 1000 entries of an array"),
            std::string::npos);
  EXPECT_NE(errorOf(begin(0, 2).entry("k", 1).entry("k", 2).bytes).find("two entries 'k'"),
            std::string::npos);
  EXPECT_NE(errorOf(begin(0, 1).entry("general.alignment", 3).bytes).find("not a power of two"),
            std::string::npos);
  auto tensor = [](std::vector<uint64_t> extents) {
    return errorOf(begin(1, 0).tensor("t", extents, 0, 0).data(64).bytes);
  };
  EXPECT_NE(tensor({0}).find("tensor 't' has an impossible shape"), std::string::npos);
  EXPECT_NE(tensor({1ull << 40, 1ull << 40}).find("an impossible shape"), std::string::npos);
  EXPECT_NE(tensor({1, 1, 1, 1, 1}).find("has 5 dimensions"), std::string::npos);
  EXPECT_NE(tensor({17}).find("goes beyond the end of the file"), std::string::npos);
}

TEST(GgufConfig, NamesWhatIsMissing) {
  std::string file = begin(1, 1)
                         .entry("general.architecture", "llama")
                         .tensor("token_embd.weight", {4, 2}, 0, 0)
                         .data(32)
                         .bytes;
  auto read = GgufFile::read(bytesOf(file), "m.gguf");
  ASSERT_TRUE(read);
  auto config = makeGgufConfig(*read, "m.gguf");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().message(),
            "m.gguf: it has no llama.embedding_length; convert the model again");
}

// Old files do not say how large experts are, and a gate of one row has one dimension.
TEST(GgufConfig, OfExperts) {
  std::string file = begin(2, 9)
                         .entry("general.architecture", "qwen2moe")
                         .entry("qwen2moe.embedding_length", 8)
                         .entry("qwen2moe.feed_forward_length", 48)
                         .entry("qwen2moe.block_count", 1)
                         .entry("qwen2moe.attention.head_count", 2)
                         .entry("qwen2moe.context_length", 16)
                         .entry("qwen2moe.expert_count", 6)
                         .entry("qwen2moe.expert_used_count", 3)
                         .entry("qwen2moe.leading_dense_block_count", 0)
                         .tensor("token_embd.weight", {8, 2}, 0, 0)
                         .tensor("blk.0.ffn_gate_inp_shexp.weight", {8}, 0, 64)
                         .data(96)
                         .bytes;
  auto read = GgufFile::read(bytesOf(file), "m.gguf");
  ASSERT_TRUE(read) << read.error().message();
  auto config = makeGgufConfig(*read, "m.gguf");
  ASSERT_TRUE(config) << config.error().message();
  for (const char *line : {"\"moe_intermediate_size\": 16", "\"num_experts\": 6",
                           "\"shared_expert_intermediate_size\": 48", "\"stacked_experts\": true"})
    EXPECT_NE(config->find(line), std::string::npos) << line << " in " << *config;
  auto tensors = nameGgufTensors(*read, "m.gguf", 0);
  ASSERT_TRUE(tensors) << tensors.error().message();
  EXPECT_EQ((*tensors)[1].name, "model.layers.0.mlp.shared_expert_gate.weight");
  EXPECT_EQ((*tensors)[1].shape, (std::vector<int64_t>{1, 8}));
}

/// Nemotron-H of four layers, each of which has what lists say: heads of keys, an MLP's size.
std::string nemotron(const std::vector<int32_t> &keyHeads, const std::vector<int32_t> &sizes,
                     uint32_t inner = 15) {
  return begin(1, 13)
      .entry("general.architecture", "nemotron_h")
      .entry("nemotron_h.embedding_length", 8)
      .entry("nemotron_h.block_count", 4)
      .entry("nemotron_h.context_length", 16)
      .entry("nemotron_h.attention.head_count", 4)
      .entry("nemotron_h.attention.head_count_kv", keyHeads)
      .entry("nemotron_h.attention.key_length", 6)
      .entry("nemotron_h.feed_forward_length", sizes)
      .entry("nemotron_h.ssm.time_step_rank", 3)
      .entry("nemotron_h.ssm.inner_size", inner)
      .entry("nemotron_h.ssm.state_size", 7)
      .entry("nemotron_h.ssm.group_count", 1)
      .entry("nemotron_h.ssm.conv_kernel", 4)
      .tensor("token_embd.weight", {8, 2}, 0, 0)
      .data(64)
      .bytes;
}

/// A file's config, or why it has none.
std::string configOf(const std::string &file) {
  auto read = GgufFile::read(bytesOf(file), "m.gguf");
  EXPECT_TRUE(read) << read.error().message();
  auto config = makeGgufConfig(*read, "m.gguf");
  return config ? *config : config.error().message();
}

TEST(GgufConfig, OfLayersThatAreOneThingEach) {
  auto has = [](const std::string &text, const char *part) {
    return text.find(part) != std::string::npos;
  };
  std::string config = configOf(nemotron({0, 0, 2, 0}, {0, 24, 0, 24}));
  for (const char *line : {"\"hybrid_override_pattern\": \"M-*-\"", "\"num_key_value_heads\": 2",
                           "\"intermediate_size\": 24", "\"mamba_head_dim\": 5"})
    EXPECT_TRUE(has(config, line)) << line << " in " << config;
  EXPECT_TRUE(has(configOf(nemotron({0, 0, 2, 1}, {0, 24, 0, 0})),
                  "head_count_kv is no whole number, the same in all layers that have one"));
  EXPECT_TRUE(has(configOf(nemotron({0, 0, -2, 0}, {0, 24, 0, 0})),
                  "head_count_kv is no whole number, the same in all layers that have one"));
  EXPECT_TRUE(has(configOf(nemotron({0, 0, 2, 0}, {0, 24, 0})),
                  "feed_forward_length has no entry for each layer"));
  EXPECT_TRUE(has(configOf(nemotron({0, 0, 2, 0}, {0, 24, 0, 24}, 16)),
                  "its 3 heads of state spaces do not divide nemotron_h.ssm.inner_size"));
}

/// What a decoder makes of all its items, the last ones first.
template <typename T> std::vector<T> decodeAll(const TensorDecoder &decoder, size_t count) {
  std::vector<T> elements(count);
  for (uint64_t item = decoder.items; item-- > 0;)
    decoder.decode(item, item + 1, reinterpret_cast<std::byte *>(elements.data()));
  return elements;
}

/// The numbers that a decoder makes, of a type of 16 or 32 bits.
std::vector<float> decodeFloats(const TensorDecoder &decoder, DType type, size_t count) {
  if (type == DType::F32)
    return decodeAll<float>(decoder, count);
  std::vector<float> numbers;
  for (uint16_t bits : decodeAll<uint16_t>(decoder, count))
    numbers.push_back(type == DType::BF16 ? bf16ToFloat(bits) : f16ToFloat(bits));
  return numbers;
}

// Mamba-2 has no heads of attention, and vectors that the converter made matrices.
TEST(GgufTensors, OfStateSpaces) {
  Writer writer = begin(3, 2)
                      .entry("general.architecture", "mamba2")
                      .entry("mamba2.attention.head_count", 0)
                      .tensor("blk.0.ssm_a", {1, 3}, 0, 0)
                      .tensor("blk.0.ssm_norm.weight", {4, 2}, 0, 32)
                      .tensor("blk.0.ssm_conv1d.bias", {8}, 0, 64)
                      .data(0);
  for (float value : {-1.0f, -2.0f, -0.5f, 0.0f})
    writer.number(value);
  writer.bytes.append(80, '\0');
  auto read = GgufFile::read(bytesOf(writer.bytes), "m.gguf");
  ASSERT_TRUE(read) << read.error().message();
  auto tensors = nameGgufTensors(*read, "m.gguf", 0);
  ASSERT_TRUE(tensors) << tensors.error().message();
  EXPECT_EQ((*tensors)[0].name, "backbone.layers.0.mixer.A_log");
  EXPECT_EQ((*tensors)[0].shape, std::vector<int64_t>{3});
  EXPECT_EQ(decodeAll<float>((*tensors)[0].decoder, 3),
            (std::vector<float>{0, std::log(2.0f), std::log(0.5f)}));
  EXPECT_EQ((*tensors)[1].name, "backbone.layers.0.mixer.norm.weight");
  EXPECT_EQ((*tensors)[1].shape, std::vector<int64_t>{8});
  EXPECT_EQ((*tensors)[2].name, "backbone.layers.0.mixer.conv1d.bias");
  EXPECT_EQ((*tensors)[2].shape, std::vector<int64_t>{8});
}

// Of every type that has them, where rows are in another order and where they are columns.
TEST(GgufTensors, IntegersTimesScalesAndMinimaAreTheNumbers) {
  constexpr size_t rows = 8, columns = 512;
  for (const GgufType &type : ggufTypes()) {
    if (type.plain)
      continue;
    SCOPED_TRACE(type.name);
    for (bool transposed : {false, true}) {
      std::string architecture = transposed ? "gpt2" : "llama";
      Writer writer = begin(1, 2)
                          .entry("general.architecture", architecture)
                          .entry(architecture + ".attention.head_count", 2)
                          .tensor(transposed ? "blk.0.ffn_up.weight" : "blk.0.attn_q.weight",
                                  {columns, rows}, type.id, 0)
                          .data(0);
      size_t bytes = rows * columns / type.blockElements * type.blockBytes;
      for (size_t i = 0; i < bytes; ++i) // no scale in it is infinite or NaN
        writer.bytes += static_cast<char>(i * 167 % 61);
      auto read = GgufFile::read(bytesOf(writer.bytes), "m.gguf");
      ASSERT_TRUE(read) << read.error().message();
      auto tensors = nameGgufTensors(*read, "m.gguf", 0);
      ASSERT_TRUE(tensors) << tensors.error().message();
      const Tensor &tensor = tensors->front();
      ASSERT_TRUE(tensor.integers);
      const IntegerMatrix &matrix = *tensor.integers;
      ASSERT_EQ(matrix.rows, static_cast<int64_t>(rows));
      ASSERT_EQ(matrix.columns, static_cast<int64_t>(columns));
      auto group = static_cast<size_t>(matrix.format.group);
      auto numbers = decodeAll<float>(tensor.decoder, rows * columns);
      auto integers = decodeAll<int8_t>(matrix.integers, rows * columns);
      auto scales = decodeFloats(matrix.scales, matrix.format.scaleType, rows * columns / group);
      // Blocks of 32 have one number for all of them, the others make scales of several.
      EXPECT_EQ(matrix.format.scaleType, type.name == "MXFP4"       ? DType::BF16
                                         : type.blockElements == 32 ? DType::F16
                                                                    : DType::F32);
      std::vector<float> minima(scales.size());
      if (matrix.format.hasMinima)
        minima = decodeAll<float>(matrix.minima, minima.size());
      for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < columns; ++j) {
          int8_t integer = integers[i * columns + j];
          if (matrix.format.dtype == DType::I4)
            ASSERT_TRUE(integer >= -8 && integer < 8);
          if (matrix.format.values)
            ASSERT_NE(std::ranges::find(*matrix.format.values, integer),
                      matrix.format.values->end());
          size_t at = (i * columns + j) / group;
          float expected = numbers[transposed ? j * rows + i : i * columns + j];
          float element = static_cast<float>(integer) * scales[at] + minima[at];
          // The minimum of integers that lost 8 is rounded once more.
          float rounding = matrix.format.hasMinima
                               ? 16 * 6e-8f * std::abs(scales[at]) + 6e-8f * std::abs(minima[at])
                               : 0;
          ASSERT_NEAR(element, expected, rounding) << i << ", " << j;
        }
    }
  }
}

TEST(GgufTensors, RefusesRowsThatAreNoHeads) {
  std::string file = begin(1, 2)
                         .entry("general.architecture", "llama")
                         .entry("llama.attention.head_count", 3)
                         .tensor("blk.0.attn_q.weight", {4, 8}, 0, 0)
                         .data(128)
                         .bytes;
  auto read = GgufFile::read(bytesOf(file), "m.gguf");
  ASSERT_TRUE(read);
  auto tensors = nameGgufTensors(*read, "m.gguf", 0);
  ASSERT_FALSE(tensors);
  EXPECT_NE(tensors.error().message().find("its 8 rows are not those of 3 heads"),
            std::string::npos)
      << tensors.error().message();
}

} // namespace
