#include "frontends/Quantized/QuantizationConfig.h"
#include <gtest/gtest.h>

using namespace sinter;

namespace {

std::string wrap(const std::string &quantization) {
  return R"({"quantization_config": )" + quantization + "}";
}

/// A compressed-tensors configuration of one group with these weights and further keys.
std::string makeConfig(const std::string &weights, const std::string &more = "",
                       const std::string &format = "pack-quantized") {
  return wrap(R"({"quant_method": "compressed-tensors", "format": ")" + format +
              R"(", "config_groups": {"group_0": {"targets": ["Linear"], "weights": )" + weights +
              "}}" + more + "}");
}

TEST(QuantizationConfig, IsNothingWhereThereIsNone) {
  for (const char *text :
       {R"({"model_type": "llama"})", R"({"quantization_config": null})", "[]", "no JSON"}) {
    auto read = readQuantizationConfig(text, "config.json");
    ASSERT_TRUE(read) << text;
    EXPECT_FALSE(*read) << text;
  }
}

TEST(QuantizationConfig, TakesTheStrategyFromTheGroupSize) {
  using Scales = WeightScheme::Scales;
  for (auto [size, scales] :
       {std::pair("32", Scales::Group), {"-1", Scales::Channel}, {"null", Scales::Tensor}}) {
    auto read = readQuantizationConfig(
        makeConfig(std::string(R"({"num_bits": 4, "group_size": )") + size + "}"), "config.json");
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ((*read)->schemes.front().scales, scales) << size;
  }
}

TEST(QuantizationConfig, KnowsMxfp4) {
  auto read = readQuantizationConfig(
      wrap(R"({"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]})"), "config.json");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ((*read)->method, QuantizationMethod::Mxfp4);
  EXPECT_FALSE(readQuantizationConfig(wrap(R"({"quant_method": "mxfp4", "block_size": 16})"),
                                      "config.json"));
}

TEST(QuantizationConfig, KnowsBothNamesOfAwqsKeys) {
  auto read = readQuantizationConfig(
      wrap(R"({"quant_method": "awq", "w_bit": 4, "q_group_size": 64, "zero_point": true,
               "version": "GEMM"})"),
      "config.json");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ((*read)->schemes.front().groupSize, 64);
}

// By token, found at run time, of 8 bits: others are left to be numbers.
TEST(QuantizationConfig, KnowsActivationsThatAreRoundedByToken) {
  auto roundsRows = [](const std::string &activations) {
    auto read = readQuantizationConfig(
        wrap(R"({"quant_method": "compressed-tensors", "format": "int-quantized", "config_groups":
                {"group_0": {"targets": ["Linear"], "weights": {"strategy": "channel"},
                             "input_activations": )" +
             activations + "}}}"),
        "config.json");
    EXPECT_TRUE(read) << read.error().message();
    return (*read)->schemes.front().roundsRows;
  };
  EXPECT_TRUE(roundsRows(R"({"num_bits": 8, "type": "int", "symmetric": true, "dynamic": true,
                             "strategy": "token", "observer": null})"));
  EXPECT_FALSE(roundsRows("null"));
  EXPECT_FALSE(roundsRows(R"({"num_bits": 8, "dynamic": false, "strategy": "tensor"})"));
  EXPECT_FALSE(roundsRows(R"({"num_bits": 8, "dynamic": true, "strategy": "tensor"})"));
  EXPECT_FALSE(roundsRows(R"({"num_bits": 4, "dynamic": true, "strategy": "token"})"));
  EXPECT_FALSE(roundsRows(R"({"type": "float", "dynamic": true, "strategy": "token"})"));
  EXPECT_FALSE(roundsRows(R"({"symmetric": false, "dynamic": true, "strategy": "token"})"));
}

// Weights of fp8 multiply rows of fp8.
TEST(QuantizationConfig, KnowsRowsOfFp8) {
  auto roundsRows = [](const std::string &type) {
    auto read = readQuantizationConfig(
        wrap(R"({"quant_method": "compressed-tensors", "format": "float-quantized",
                "config_groups": {"group_0": {"targets": ["Linear"],
                  "weights": {"num_bits": 8, "type": "float", "strategy": "channel"},
                  "input_activations": {"num_bits": 8, "type": ")" +
             type + R"(", "dynamic": true, "strategy": "token"}}}})"),
        "config.json");
    EXPECT_TRUE(read) << read.error().message();
    return (*read)->schemes.front().roundsRows;
  };
  EXPECT_TRUE(roundsRows("float"));
  EXPECT_FALSE(roundsRows("int"));
}

// As DeepSeek V3.1 and Qwen3 have it; activations are left alone.
TEST(QuantizationConfig, KnowsBlocksOfFp8) {
  auto read = readQuantizationConfig(
      wrap(R"({"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3",
              "scale_fmt": "ue8m0", "weight_block_size": [128, 64]})"),
      "config.json");
  ASSERT_TRUE(read) << read.error().message();
  const WeightScheme &scheme = (*read)->schemes.front();
  EXPECT_EQ(scheme.scales, WeightScheme::Scales::Block);
  EXPECT_EQ(scheme.blockRows, 128);
  EXPECT_EQ(scheme.blockColumns, 64);
  EXPECT_FALSE(scheme.roundsRows);
}

struct Mistake {
  std::string config, expected;
};

void PrintTo(const Mistake &mistake, std::ostream *out) { *out << mistake.expected; }

class QuantizationConfigError : public testing::TestWithParam<Mistake> {};

TEST_P(QuantizationConfigError, IsOneLine) {
  auto read = readQuantizationConfig(GetParam().config, "config.json");
  ASSERT_FALSE(read) << GetParam().config;
  EXPECT_NE(read.error().message().find(GetParam().expected), std::string::npos)
      << read.error().message();
  EXPECT_TRUE(read.error().message().starts_with("config.json: quantization_config"));
}

INSTANTIATE_TEST_SUITE_P(
    All, QuantizationConfigError,
    testing::Values(
        Mistake{wrap("4"), "it is not a JSON object"},
        Mistake{wrap(R"({"quant_method": "bitsandbytes"})"), "'bitsandbytes': is not supported"},
        Mistake{wrap("{}"), "quant_method ''"},
        Mistake{wrap(R"({"quant_method": "compressed-tensors"})"), "it has no 'config_groups'"},
        Mistake{makeConfig("{}", "", "marlin-24"), "format 'marlin-24': is not supported"},
        Mistake{makeConfig("null"), "it has no 'weights'"},
        Mistake{makeConfig("{}", R"(, "kv_cache_scheme": {"num_bits": 8})"), "'kv_cache_scheme'"},
        Mistake{makeConfig("{}", R"(, "transform_config": {"config_groups": {}})"),
                "'transform_config'"},
        Mistake{makeConfig("{}", R"(, "sparsity_config": {"format": "sparse-24-bitmask"})"),
                "sparse weights"},
        Mistake{makeConfig("{}", R"(, "rotation": 1)"), "key 'rotation'"},
        Mistake{makeConfig(R"({"num_bits": 9})"), "9-bit integers"},
        Mistake{makeConfig(R"({"num_bits": 4})", "", "int-quantized"), "4-bit integers"},
        Mistake{makeConfig(R"({"num_bits": 4, "type": "float"})"), "4-bit floats"},
        Mistake{makeConfig(R"({"strategy": "tensor_group"})"), "'strategy'"},
        Mistake{makeConfig(R"({"strategy": "group"})"), "'group_size': it is missing"},
        Mistake{makeConfig(R"({"strategy": "block", "block_structure": [16]})"),
                "'block_structure'"},
        Mistake{makeConfig(R"({"dynamic": true})"), "'dynamic': only false"},
        Mistake{wrap(R"({"quant_method": "fp8", "weight_block_size": [0, 1]})"),
                "'weight_block_size'"},
        Mistake{wrap(R"({"quant_method": "fp8", "fmt": "e5m2"})"), "'fmt'"},
        Mistake{wrap(R"({"quant_method": "awq", "bits": 8})"), "8 bits are not known"},
        Mistake{wrap(R"({"quant_method": "awq", "version": "gemv"})"), "'gemv'"},
        Mistake{wrap(R"({"quant_method": "awq", "zero_point": false})"), "'zero_point'"},
        Mistake{wrap(R"({"quant_method": "gptq"})"), "'bits': it is missing"},
        Mistake{wrap(R"({"quant_method": "gptq", "bits": 4, "is_marlin_format": true})"),
                "'is_marlin_format'"},
        Mistake{wrap(R"({"quant_method": "gptq", "bits": 4, "dynamic": {"+:.*": {"bits": 8}}})"),
                "'dynamic'"}));

} // namespace
