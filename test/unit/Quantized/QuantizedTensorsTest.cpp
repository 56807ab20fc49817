// Layers that other packages packed (tools/dev/make_quantized_references.py), and damaged ones.

#include "frontends/Quantized/QuantizedTensors.h"
#include "frontends/Weights/WeightFiles.h"
#include "runtime/Base/Float8.h"
#include "runtime/Base/HalfFloat.h"
#include "runtime/Base/ReadFile.h"
#include "test/unit/Weights/TestFiles.h"
#include <cmath>
#include <cstring>

using namespace sinter;
using namespace sinter::test;
namespace fs = std::filesystem;

namespace {

std::vector<float> decode(const Tensor &tensor, uint64_t step) {
  std::vector<float> values(static_cast<size_t>(tensor.shape[0] * tensor.shape[1]));
  auto *out = reinterpret_cast<std::byte *>(values.data());
  for (uint64_t at = 0; at < tensor.decoder.items; at += step)
    tensor.decoder.decode(at, std::min(at + step, tensor.decoder.items), out);
  return values;
}

/// The bytes of values rounded to a type.
std::vector<std::byte> round(const std::vector<float> &values, DType type) {
  std::vector<std::byte> bytes(values.size() * sizeOf(type));
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t half = type == DType::BF16 ? floatToBf16(values[i]) : floatToF16(values[i]);
    const void *from = type == DType::F32 ? static_cast<const void *>(&values[i]) : &half;
    std::memcpy(&bytes[i * sizeOf(type)], from, sizeOf(type));
  }
  return bytes;
}

template <typename T> std::vector<T> decodePart(const TensorDecoder &decoder, int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  for (uint64_t item = 0; item < decoder.items; ++item)
    decoder.decode(item, item + 1, reinterpret_cast<std::byte *>(values.data()));
  return values;
}

/// The scales, of the type that the file has them in.
std::vector<float> decodeScales(const IntegerMatrix &matrix, int64_t count) {
  DType type = matrix.format.scaleType;
  if (type == DType::F32)
    return decodePart<float>(matrix.scales, count);
  std::vector<float> scales;
  for (uint16_t bits : decodePart<uint16_t>(matrix.scales, count))
    scales.push_back(type == DType::BF16 ? bf16ToFloat(bits) : f16ToFloat(bits));
  return scales;
}

/// Integers, or numbers of e4m3, times scales plus minima are the tensor's numbers, up to the
/// rounding of minima.
void expectSame(const IntegerMatrix &matrix, const Tensor &tensor) {
  int64_t count = matrix.rows * matrix.columns, groups = count / matrix.format.group;
  auto integers = decodePart<int8_t>(matrix.integers, count);
  auto scales = decodeScales(matrix, groups);
  std::vector<float> minima(scales.size());
  if (matrix.format.hasMinima)
    minima = decodePart<float>(matrix.minima, groups);
  std::vector<float> numbers = decode(tensor, 1000);
  bool turned = tensor.shape[0] != matrix.rows;
  for (int64_t i = 0; i < count; ++i) {
    int64_t row = i / matrix.columns, column = i % matrix.columns;
    auto at = static_cast<size_t>(i / matrix.format.group);
    int8_t stored = integers[static_cast<size_t>(i)];
    float integer = matrix.format.dtype == DType::E4M3 ? e4m3ToFloat(static_cast<uint8_t>(stored))
                                                       : static_cast<float>(stored);
    float expected = numbers[static_cast<size_t>(turned ? column * matrix.rows + row : i)];
    if (matrix.format.dtype == DType::I4)
      ASSERT_TRUE(integer >= -8 && integer < 8);
    ASSERT_NEAR(integer * scales[at] + minima[at], expected,
                2e-7f * (std::abs(minima[at]) + std::abs(integer * scales[at])))
        << row << ", " << column;
  }
}

class QuantizedLayer : public testing::TestWithParam<const char *> {};

TEST_P(QuantizedLayer, IsWhatItsPackageMakesOfIt) {
  fs::path folder = fs::path(SINTER_QUANTIZED_LAYERS) / GetParam();
  auto files = WeightFiles::open(folder / "model.safetensors");
  ASSERT_TRUE(files) << files.error().message();
  TemporaryDirectory alone; // without a config.json
  fs::copy_file(folder / "expected.safetensors", alone.path / "expected.safetensors");
  auto expected = WeightFiles::open(alone.path);
  ASSERT_TRUE(expected) << expected.error().message();
  const Tensor *weight = files->find("layers.0.proj.weight");
  const Tensor &wanted = expected->getTensors().front();
  ASSERT_TRUE(weight);
  EXPECT_EQ(weight->dtype, DType::F32);
  ASSERT_EQ(weight->shape, wanted.shape);
  for (uint64_t step : {1u, 1000u}) {
    std::vector<std::byte> rounded = round(decode(*weight, step), *wanted.dtype);
    EXPECT_TRUE(std::ranges::equal(rounded, wanted.data)) << step;
  }
  // In parts, where groups are in order: the same numbers. The last block is half of one there.
  std::string_view name = GetParam();
  EXPECT_EQ(weight->integers.has_value(), name.find("shuffled") == name.npos);
  if (name == "fp8-block" || name == "fp8") {
    EXPECT_EQ(weight->integers->format.group, 8);
  }
  if (weight->integers)
    expectSame(*weight->integers, *weight);
  // Nothing is left of the parts.
  for (const Tensor &tensor : files->getTensors())
    EXPECT_TRUE(tensor.name.ends_with(".weight") || tensor.name.ends_with(".bias")) << tensor.name;
}

INSTANTIATE_TEST_SUITE_P(All, QuantizedLayer,
                         testing::Values("packed-int4-group", "packed-int4-group-zeros",
                                         "packed-int3-channel", "packed-int8-group", "int8-channel",
                                         "int8-tensor-zeros", "fp8-channel", "fp8-block",
                                         "gptq-int4", "gptq-int3-shuffled", "gptq-int8", "awq",
                                         "fp8"));

// A group of -1 is one of all inputs.
TEST(QuantizedTensors, OneGroupOfAllInputs) {
  for (auto [layer, size] : {std::pair("gptq-int8", "64"), std::pair("awq", "32")}) {
    fs::path folder = fs::path(SINTER_QUANTIZED_LAYERS) / layer;
    TemporaryDirectory other;
    fs::copy_file(folder / "model.safetensors", other.path / "model.safetensors");
    std::string config = readFile((folder / "config.json").string()).value();
    std::string key = "\"group_size\": ";
    config.replace(config.find(key + size), key.size() + std::strlen(size), key + "-1");
    other.write("config.json", config);
    auto files = WeightFiles::open(folder), whole = WeightFiles::open(other.path);
    ASSERT_TRUE(files);
    if (std::string_view(layer) == "awq") { // which has two groups
      ASSERT_FALSE(whole);
      EXPECT_NE(whole.error().message().find("its shape does not fit"), std::string::npos)
          << whole.error().message();
      continue;
    }
    ASSERT_TRUE(whole) << whole.error().message();
    const Tensor *weight = files->find("layers.0.proj.weight"),
                 *same = whole->find("layers.0.proj.weight");
    ASSERT_TRUE(weight && same && same->integers);
    EXPECT_EQ(same->integers->format.group, 64);
    EXPECT_EQ(decode(*weight, 1000), decode(*same, 1000));
  }
}

// Three experts, each of which the model wants transposed.
TEST(QuantizedTensors, ExpertsOfMxfp4AreMatricesOfTheirs) {
  fs::path folder = fs::path(SINTER_QUANTIZED_LAYERS) / "mxfp4";
  auto files = WeightFiles::open(folder / "model.safetensors");
  ASSERT_TRUE(files) << files.error().message();
  ASSERT_EQ(files->getTensors().size(), 1u);
  const Tensor &experts = files->getTensors().front();
  TemporaryDirectory alone; // without a config.json
  fs::copy_file(folder / "expected.safetensors", alone.path / "expected.safetensors");
  auto expected = WeightFiles::open(alone.path);
  ASSERT_TRUE(expected) << expected.error().message();
  const Tensor &wanted = expected->getTensors().front();
  EXPECT_EQ(experts.name, wanted.name);
  ASSERT_EQ(experts.shape, wanted.shape);
  std::vector<float> numbers(wanted.data.size() / sizeof(float)), made(numbers.size());
  std::memcpy(numbers.data(), wanted.data.data(), wanted.data.size());
  for (uint64_t item = experts.decoder.items; item-- > 0;)
    experts.decoder.decode(item, item + 1, reinterpret_cast<std::byte *>(made.data()));
  EXPECT_EQ(made, numbers);
  ASSERT_TRUE(experts.integers);
  const IntegerMatrix &matrix = *experts.integers;
  EXPECT_EQ(matrix.format.scaleType, DType::BF16);
  EXPECT_EQ(matrix.format.values, twiceE2M1);
  int64_t count = wanted.shape[0], in = wanted.shape[1], out = wanted.shape[2];
  ASSERT_EQ(matrix.rows, count * out);
  ASSERT_EQ(matrix.columns, in);
  auto integers = decodePart<int8_t>(matrix.integers, count * in * out);
  auto scales = decodeScales(matrix, count * in * out / 32);
  for (int64_t i = 0; i < count * in * out; ++i) {
    int64_t row = i / in, column = i % in;
    auto at = static_cast<size_t>((row / out * in + column) * out + row % out);
    auto number = static_cast<float>(integers[static_cast<size_t>(i)]);
    ASSERT_EQ(number * scales[static_cast<size_t>(i / 32)], numbers[at]) << row << ", " << column;
  }
}

TEST(QuantizedTensors, ExpertsOfMxfp4AreRefused) {
  const std::pair<const char *, const char *> damaged[] = {
      {R"("e_blocks": {"dtype": "U8", "shape": [2, 16], "data_offsets": [0, 32]})",
       "tensor 'e_blocks': it is no U8 [experts, outputs, groups, 16]"},
      {R"("e_blocks": {"dtype": "U8", "shape": [1, 2, 1, 16], "data_offsets": [0, 32]})",
       "tensor 'e_scales': the weights do not hold it"},
      {R"("e_blocks": {"dtype": "U8", "shape": [1, 1, 1, 16], "data_offsets": [0, 16]},
          "e_scales": {"dtype": "U8", "shape": [1, 16], "data_offsets": [16, 32]})",
       "tensor 'e_scales': it is no U8 of the groups of 'e_blocks'"}};
  for (const auto &[header, message] : damaged) {
    TemporaryDirectory folder;
    folder.write("config.json", R"({"quantization_config": {"quant_method": "mxfp4"}})");
    folder.write("model.safetensors",
                 safetensors("{" + std::string(header) + "}", std::string(32, '\x11')));
    auto files = WeightFiles::open(folder.path);
    ASSERT_FALSE(files) << message;
    EXPECT_NE(files.error().message().find(message), std::string::npos) << files.error().message();
  }
}

TEST(Float8, RoundsToTheNearest) {
  // Every number is itself; between two of them the nearer one wins, at the middle the even one.
  for (int bits = 0; bits < 0x7f; ++bits) {
    float value = e4m3ToFloat(static_cast<uint8_t>(bits));
    EXPECT_EQ(floatToE4M3(value), bits);
    EXPECT_EQ(floatToE4M3(-value), bits | 0x80);
    if (bits == 0x7e)
      break;
    float next = e4m3ToFloat(static_cast<uint8_t>(bits + 1)), middle = (value + next) / 2;
    EXPECT_EQ(floatToE4M3(std::nextafter(middle, 0.0f)), bits);
    EXPECT_EQ(floatToE4M3(std::nextafter(middle, 1000.0f)), bits + 1);
    EXPECT_EQ(floatToE4M3(middle), bits % 2 ? bits + 1 : bits);
  }
  EXPECT_EQ(floatToE4M3(1e9f), 0x7e);
  EXPECT_EQ(floatToE4M3(-INFINITY), 0xfe);
  EXPECT_TRUE(std::isnan(e4m3ToFloat(floatToE4M3(NAN))));
  EXPECT_EQ(e4m3ToFloat(0x7e), 448);
  EXPECT_EQ(e4m3ToFloat(1), 0x1p-9f);
}

TEST(QuantizedTensors, ConvolutionsOfOneDimensionAreTransposed) {
  TemporaryDirectory folder;
  folder.write("config.json", R"({"quantization_config": {"quant_method": "compressed-tensors",
    "format": "int-quantized", "config_groups": {"group_0": {"targets": ["Conv1D"],
    "weights": {"num_bits": 8, "strategy": "channel"}}}}})");
  std::string data("\x01\x02\x03\x04\x05\xfa\x00\x00\x80\x3f\x00\x00\x00\x40", 14);
  folder.write("model.safetensors",
               safetensors(R"({"a.weight": {"dtype": "I8", "shape": [2, 3], "data_offsets": [0, 6]},
      "a.weight_scale": {"dtype": "F32", "shape": [2, 1], "data_offsets": [6, 14]}})",
                           data));
  auto files = WeightFiles::open(folder.path);
  ASSERT_TRUE(files) << files.error().message();
  const Tensor *weight = files->find("a.weight");
  EXPECT_EQ(weight->shape, (std::vector<int64_t>{3, 2}));
  ASSERT_TRUE(weight->integers);
  EXPECT_EQ(weight->integers->rows, 2);
  EXPECT_FALSE(weight->integers->format.roundsRows);
  expectSame(*weight->integers, *weight);
  EXPECT_EQ(decode(*weight, 1), (std::vector<float>{1, 8, 2, 10, 3, -12}));
}

/// A config of fp8 with blocks of 2 rows and so many columns.
std::string describeBlocks(int64_t columns) {
  return R"({"quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic",
    "weight_block_size": [2, )" +
         std::to_string(columns) + "]}}";
}

// One code of NaN, in the second row: its group's scale is NaN, which makes the same products so.
TEST(QuantizedTensors, NanOfFp8IsInTheScale) {
  TemporaryDirectory folder;
  folder.write("config.json", describeBlocks(8));
  std::string codes(48, '\x38'); // ones
  codes[16 + 9] = '\xff';
  std::string scales("\x00\x3f\x40\x40\x80\x3f\x00\x40", 8); // 0.5, 3, 1, 2
  folder.write(
      "model.safetensors",
      safetensors(R"({"a.weight": {"dtype": "F8_E4M3", "shape": [3, 16], "data_offsets": [0, 48]},
      "a.weight_scale_inv": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [48, 56]}})",
                  codes + scales));
  auto files = WeightFiles::open(folder.path);
  ASSERT_TRUE(files) << files.error().message();
  const Tensor *weight = files->find("a.weight");
  ASSERT_TRUE(weight->integers);
  EXPECT_EQ(weight->integers->format.dtype, DType::E4M3);
  EXPECT_EQ(weight->integers->format.scaleType, DType::BF16);
  auto parts = decodeScales(*weight->integers, 6);
  EXPECT_TRUE(std::isnan(parts[3]));
  parts[3] = 3;
  EXPECT_EQ(parts, (std::vector<float>{0.5, 3, 0.5, 3, 1, 2}));
  std::vector<float> numbers = decode(*weight, 1);
  EXPECT_TRUE(std::isnan(numbers[25]));
  EXPECT_EQ(numbers[24], 3);
}

// Blocks that have no 8 columns in common with the last one are numbers alone.
TEST(QuantizedTensors, NarrowGroupsAreWidened) {
  for (int64_t columns : {6, 12}) {
    TemporaryDirectory folder;
    folder.write("config.json", describeBlocks(columns));
    int64_t across = (20 + columns - 1) / columns;
    std::string header =
        R"({"a.weight": {"dtype": "F8_E4M3", "shape": [2, 20], "data_offsets": [0, 40]},
      "a.weight_scale": {"dtype": "F32", "shape": [1, )" +
        std::to_string(across) + R"(], "data_offsets": [40, )" + std::to_string(40 + 4 * across) +
        "]}}";
    folder.write("model.safetensors",
                 safetensors(header, std::string(static_cast<size_t>(40 + 4 * across), '\x38')));
    auto files = WeightFiles::open(folder.path);
    ASSERT_TRUE(files) << files.error().message();
    EXPECT_FALSE(files->find("a.weight")->integers) << columns;
    EXPECT_EQ(files->find("a.weight")->dtypeName, "fp8");
  }
}

//===----------------------------------------------------------------------===//
// Damage
//===----------------------------------------------------------------------===//

constexpr char kPacked[] = R"({"quantization_config": {"quant_method": "compressed-tensors",
  "format": "pack-quantized", "config_groups": {"group_0": {"targets": ["Linear"],
  "weights": {"num_bits": 4, "strategy": "group", "group_size": 8}}}}})";
constexpr char kGptq[] = R"({"quantization_config": {"quant_method": "gptq", "bits": 4,
  "group_size": 8}})";

constexpr char kFp8[] = R"({"quantization_config": {"quant_method": "fp8",
  "weight_block_size": [128, 128]}})";
constexpr char kFloats[] = R"({"quantization_config": {"quant_method": "compressed-tensors",
  "format": "float-quantized", "config_groups": {"group_0": {"targets": ["Linear"], "weights":
  {"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [128, 128]}}}}})";

struct Part {
  std::string name, dtype, shape, data;
};

Expected<WeightFiles> openParts(const TemporaryDirectory &folder, const char *config,
                                const std::vector<Part> &parts) {
  std::string header, data;
  for (const Part &part : parts) {
    header += (header.empty() ? "{\"" : ", \"") + part.name + R"(": {"dtype": ")" + part.dtype +
              R"(", "shape": )" + part.shape + R"(, "data_offsets": [)" +
              std::to_string(data.size()) + ", " + std::to_string(data.size() + part.data.size()) +
              "]}";
    data += part.data;
  }
  folder.write("config.json", config);
  folder.write("model.safetensors", safetensors(header + "}", data));
  return WeightFiles::open(folder.path);
}

struct Damage {
  const char *config;
  std::vector<Part> parts;
  std::string expected;
};

void PrintTo(const Damage &damage, std::ostream *out) { *out << damage.expected; }

class DamagedLayer : public testing::TestWithParam<Damage> {};

TEST_P(DamagedLayer, IsOneLine) {
  TemporaryDirectory folder;
  auto files = openParts(folder, GetParam().config, GetParam().parts);
  ASSERT_FALSE(files);
  EXPECT_NE(files.error().message().find(GetParam().expected), std::string::npos)
      << files.error().message();
}

const std::string kTwo("\x02\0\0\0\0\0\0\0", 8), kEight("\x08\0\0\0\0\0\0\0", 8),
    kSixteen("\x10\0\0\0\0\0\0\0", 8);
const Part kCodes{"a.weight_packed", "I32", "[2, 1]", std::string(8, '\1')};
const Part kShape{"a.weight_shape", "I64", "[2]", kTwo + kEight};
const Part kScale{"a.weight_scale", "F32", "[2, 1]", std::string(8, '\1')};
const Part kWords{"a.qweight", "I32", "[1, 8]", std::string(32, '\1')};
const Part kZeros{"a.qzeros", "I32", "[1, 1]", std::string(4, '\1')};
const Part kScales{"a.scales", "F16", "[1, 8]", std::string(16, '\1')};
const Part kNumbers{"a.weight", "F8_E4M3", "[2, 130]", std::string(260, '\1')};
const std::string kNan("\0\0\x80\x3f\0\0\xc0\x7f", 8), kInfinity("\0\0\x80\x7f\0\0\0\0", 8);

INSTANTIATE_TEST_SUITE_P(
    All, DamagedLayer,
    testing::Values(
        Damage{kPacked, {kCodes, kShape}, "'a.weight_scale': the weights do not hold it"},
        Damage{kPacked, {kCodes, kScale}, "'a.weight_shape': the weights do not hold it"},
        Damage{kPacked,
               {{"a.weight_packed", "I32", "[2]", std::string(8, 0)}, kShape, kScale},
               "it is no matrix"},
        Damage{kPacked,
               {kCodes, {"a.weight_shape", "I64", "[2]", kTwo + kSixteen}, kScale},
               "as none of config_groups says"},
        Damage{kPacked,
               {kCodes, {"a.weight_shape", "I64", "[2]", kEight + kEight}, kScale},
               "it does not fit 'a.weight_packed'"},
        Damage{kPacked,
               {kCodes, {"a.weight_shape", "I64", "[2]", kTwo + std::string(8, '\xff')}, kScale},
               "it holds -1, which is no extent"},
        Damage{kPacked,
               {kCodes, {"a.weight_shape", "F32", "[2]", kTwo}, kScale},
               "it is not two whole numbers"},
        Damage{kPacked,
               {kCodes, kShape, {"a.weight_scale", "F32", "[3, 1]", std::string(12, 0)}},
               "as none of config_groups says"},
        Damage{kPacked,
               {kCodes, kShape, {"a.weight_scale", "I64", "[2, 1]", std::string(16, 0)}},
               "as none of config_groups says"},
        Damage{
            kPacked,
            {kCodes, kShape, kScale, {"a.weight_zero_point", "I32", "[1, 1]", std::string(4, 0)}},
            "as none of config_groups says"},
        Damage{kPacked,
               {kCodes, kShape, kScale, {"a.weight", "F32", "[1]", std::string(4, 0)}},
               "the layer has a 'a.weight', too"},
        Damage{kPacked,
               {kCodes, kShape, kScale, {"a.weight_g_idx", "I32", "[8]", std::string(32, '\1')}},
               "it holds 16843009, there are 1 groups"},
        Damage{kFp8, {kNumbers}, "'a.weight_scale': the weights do not hold it"},
        Damage{kFp8,
               {kNumbers, {"a.weight_scale_inv", "F32", "[1, 2]", kNan}},
               "'a.weight_scale_inv': it holds a scale that is not finite"},
        Damage{kFp8,
               {kNumbers, {"a.weight_scale_inv", "F32", "[2]", kInfinity}},
               "'a.weight_scale_inv': it holds a scale that is not finite"},
        Damage{kFp8,
               {kNumbers, {"a.weight_scale_inv", "F32", "[2, 2]", kNan + kNan}},
               "'a.weight_scale_inv': its shape does not fit the layer's 1 x 2"},
        Damage{kFp8,
               {{"a.weight", "I8", "[2, 130]", std::string(260, '\1')},
                {"a.weight_scale_inv", "F32", "[1, 2]", kNan}},
               "its type is I8, expected F8_E4M3"},
        Damage{kFloats,
               {kNumbers, {"a.weight_scale", "F32", "[1, 2]", kNan}},
               "'a.weight_scale': it holds a scale that is not finite"},
        Damage{kFloats,
               {kNumbers, {"a.weight_scale", "F32", "[3, 1]", std::string(12, '\0')}},
               "as none of config_groups says"},
        Damage{kGptq, {kWords, kScales}, "'a.qzeros': the weights do not hold it"},
        Damage{kGptq,
               {kWords, kZeros, {"a.scales", "F16", "[8, 2]", std::string(32, 0)}},
               "its shape does not fit the layer's 1 x 8"},
        Damage{kGptq,
               {kWords, {"a.qzeros", "I32", "[2, 1]", std::string(8, 0)}, kScales},
               "codes of 4 bits"},
        Damage{kGptq,
               {kWords, {"a.qzeros", "F32", "[1, 1]", std::string(4, 0)}, kScales},
               "expected I32"},
        Damage{kGptq,
               {kWords, kZeros, kScales, {"a.g_idx", "F32", "[8]", std::string(32, 0)}},
               "it is not a whole number for each of 8 inputs"}));

} // namespace
