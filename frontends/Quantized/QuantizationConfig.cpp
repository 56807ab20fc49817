#include "frontends/Quantized/QuantizationConfig.h"
#include "frontends/Spec/ConfigReader.h"
#include "runtime/Base/Json.h"
#include <algorithm>
#include <cctype>
#include <functional>

namespace sinter {
namespace {

using Json = nlohmann::json;
using Scales = WeightScheme::Scales;
using Format = WeightScheme::Format;

constexpr const char *remedy = "use the model in a format that is known";

/// Keys that must be null, empty or absent: what they ask for is not supported.
void requireNone(ConfigReader &config, std::initializer_list<const char *> keys) {
  for (const char *key : keys)
    if (const Json *value = config.value(key); value && !value->empty())
      config.mistake(key, "it is not supported", remedy);
}

void readBlock(ConfigReader &config, const char *key, WeightScheme &scheme) {
  const Json *block = config.value(key);
  auto isSize = [](const Json &size) {
    return size.is_number_unsigned() && size.get<uint64_t>() >= 1 &&
           size.get<uint64_t>() <= INT32_MAX;
  };
  if (!block || !block->is_array() || block->size() != 2 || !std::ranges::all_of(*block, isSize)) {
    config.mistake(key, "it is no list of two sizes", "download the model again");
    return;
  }
  scheme.blockRows = (*block)[0].get<int64_t>();
  scheme.blockColumns = (*block)[1].get<int64_t>();
}

/// A group size, or -1 for all columns.
int64_t readGroupSize(ConfigReader &config, int64_t fallback) {
  if (const Json *size = config.value("group_size"); size && *size == -1)
    return 0;
  return config.size("group_size", fallback);
}

constexpr const char *strategies[] = {"tensor", "channel", "group", "block"};

/// `weights` of a group of compressed-tensors.
Expected<void> readWeights(const Json &object, const std::string &where, WeightScheme &scheme) {
  ConfigReader config(object, where);
  scheme.bits = config.size("num_bits", 8);
  bool isFloat = config.choice("type", {"int", "float"}, 0) == 1;
  scheme.isSymmetric = config.flag("symmetric", true);
  // Without a strategy the group size says it.
  const Json *size = config.value("group_size");
  size_t fallback = !size ? 0 : *size == -1 ? 1 : 2;
  scheme.scales = static_cast<Scales>(config.choice(
      "strategy", {strategies[0], strategies[1], strategies[2], strategies[3]}, fallback));
  if (scheme.scales == Scales::Group) {
    scheme.groupSize = config.size("group_size");
    if (size && *size == -1)
      config.mistake("group_size", "it is -1 with the strategy 'group'", remedy);
  }
  if (scheme.scales == Scales::Block)
    readBlock(config, "block_structure", scheme);
  else
    config.ignore({"block_structure"});
  config.requireFlag("dynamic", false);
  requireNone(config, {"scale_dtype"});
  // How the numbers were found, and of which type zero points were then.
  config.ignore({"observer", "observer_kwargs", "actorder", "zp_dtype"});
  int64_t most = isFloat ? 8 : scheme.format == Format::Packed ? 8 : scheme.bits;
  if (scheme.bits > most || (scheme.format != Format::Packed && scheme.bits != 8) ||
      isFloat != (scheme.format == Format::Float))
    config.mistake("num_bits",
                   std::to_string(scheme.bits) + (isFloat ? "-bit floats" : "-bit integers") +
                       " of this format are not supported",
                   remedy);
  return config.finish();
}

/// Whether activations are rounded token by token to 8 bits of the weights' kind.
Expected<bool> readActivations(const Json &object, const std::string &where, bool isFloat) {
  ConfigReader config(object, where);
  auto is = [&](const char *key, const Json &wanted, const Json &fallback) {
    const Json *value = config.value(key);
    return (value ? *value : fallback) == wanted;
  };
  // All are read, so that the reader knows them.
  const bool matches[] = {is("num_bits", 8, 8), is("type", isFloat ? "float" : "int", "int"),
                          is("symmetric", true, true), is("dynamic", true, false),
                          is("strategy", "token", nullptr)};
  config.ignore({"group_size", "block_structure", "actorder", "observer", "observer_kwargs",
                 "zp_dtype", "scale_dtype"});
  SINTER_CHECK(config.finish());
  return std::ranges::all_of(matches, std::identity());
}

/// The format that a name means; naive is Int or Float, as the weights say.
std::optional<Format> findFormat(const std::string &name, const Json &weights) {
  if (name == "pack-quantized")
    return Format::Packed;
  if (name == "int-quantized")
    return Format::Int;
  if (name == "float-quantized")
    return Format::Float;
  if (name == "naive-quantized")
    return weights.is_object() && weights.value("type", Json()) == "float" ? Format::Float
                                                                           : Format::Int;
  return std::nullopt;
}

Expected<WeightScheme> readGroup(const Json &object, const std::string &where,
                                 const std::string &globalFormat) {
  if (!object.is_object())
    return fail(where, "it is not an object", remedy);
  ConfigReader config(object, where);
  const Json *weights = config.value("weights");
  const Json *inputs = config.value("input_activations");
  // Which layers: their tensors tell.
  std::vector<std::string> targets = config.texts("targets").value_or(std::vector<std::string>());
  requireNone(config, {"output_activations"});
  std::string format = config.text("format", globalFormat);
  SINTER_CHECK(config.finish());
  if (!weights || !weights->is_object())
    return fail(where, "it has no 'weights'", remedy);
  WeightScheme scheme;
  std::optional<Format> found = findFormat(format, *weights);
  if (!found)
    return fail(where + ": format '" + format + "'", "is not supported",
                "use pack-quantized, int-quantized, float-quantized or naive-quantized");
  scheme.format = *found;
  scheme.isOfConv1D = std::ranges::find(targets, "Conv1D") != targets.end();
  SINTER_CHECK(readWeights(*weights, where + ": weights", scheme));
  if (inputs && inputs->is_object()) {
    SINTER_TRY(scheme.roundsRows, readActivations(*inputs, where + ": input_activations",
                                                  scheme.format == Format::Float));
  }
  return scheme;
}

Expected<void> readCompressedTensors(ConfigReader &config, const std::string &where,
                                     QuantizationConfig &result) {
  std::string format = config.text("format", "");
  const Json *groups = config.value("config_groups");
  requireNone(config, {"kv_cache_scheme", "transform_config", "moe_sparsity_config"});
  if (const Json *sparsity = config.value("sparsity_config");
      sparsity && sparsity->is_object() && !sparsity->empty() &&
      sparsity->value("format", Json()) != "dense")
    config.mistake("sparsity_config", "sparse weights are not supported", remedy);
  config.ignore({"quantization_status", "global_compression_ratio", "ignore", "version"});
  SINTER_CHECK(config.finish());
  if (!groups || !groups->is_object() || groups->empty())
    return fail(where, "it has no 'config_groups'", remedy);
  for (const auto &[name, group] : groups->items()) {
    SINTER_TRY(WeightScheme scheme, readGroup(group, where + ": group '" + name + "'", format));
    result.schemes.push_back(scheme);
  }
  return {};
}

Expected<void> readFp8(ConfigReader &config, QuantizationConfig &result) {
  WeightScheme scheme{.format = Format::Float, .scales = Scales::Tensor, .bits = 8};
  if (config.has("weight_block_size")) {
    scheme.scales = Scales::Block;
    readBlock(config, "weight_block_size", scheme);
  }
  config.choice("fmt", {"e4m3"}, 0);
  // What it says of activations, and that scales are powers of two, which are f32 all the same.
  config.ignore({"weight_block_size", "activation_scheme", "scale_fmt", "modules_to_not_convert",
                 "ignored_layers", "dequantize"});
  result.schemes.push_back(scheme);
  return config.finish();
}

Expected<void> readAwq(ConfigReader &config, QuantizationConfig &result) {
  WeightScheme scheme{.isSymmetric = false};
  scheme.bits = config.has("w_bit") ? config.size("w_bit") : config.size("bits", 4);
  if (scheme.bits != 4)
    config.mistake("bits", "AWQ weights of " + std::to_string(scheme.bits) + " bits are not known",
                   remedy);
  if (const Json *size = config.value("q_group_size"); size && !config.has("group_size"))
    scheme.groupSize = *size == -1 ? 0 : config.size("q_group_size");
  else
    scheme.groupSize = readGroupSize(config, 128);
  config.requireFlag("zero_point", true);
  std::string version = config.text("version", "gemm");
  std::ranges::transform(version, version.begin(), [](unsigned char c) { return std::tolower(c); });
  if (version != "gemm")
    config.mistake("version", "it is '" + version + "', which is not supported",
                   "use the model as version 'gemm'");
  config.ignore({"bits", "group_size", "q_group_size", "modules_to_not_convert", "backend",
                 "do_fuse", "fuse_max_seq_len", "modules_to_fuse", "exllama_config"});
  result.schemes.push_back(scheme);
  return config.finish();
}

Expected<void> readGptq(ConfigReader &config, QuantizationConfig &result) {
  WeightScheme scheme{.isSymmetric = false};
  scheme.bits = config.size("bits");
  if (scheme.bits > 8)
    config.mistake("bits", "GPTQ weights of " + std::to_string(scheme.bits) + " bits are not known",
                   remedy);
  scheme.groupSize = readGroupSize(config, 128);
  result.storesZeroLessOne = config.choice("checkpoint_format", {"gptq", "gptq_v2"}, 0) == 0;
  config.requireFlag("is_marlin_format", false);
  requireNone(config, {"dynamic"});
  config.choice("pack_dtype", {"int32"}, 0);
  // The tensors have zero points and the order of groups in any case.
  config.ignore({"desc_act", "sym", "lm_head", "static_groups"});
  config.ignore({"damp_percent",
                 "damp_auto_increment",
                 "true_sequential",
                 "model_name_or_path",
                 "model_file_base_name",
                 "dataset",
                 "tokenizer",
                 "block_name_to_quantize",
                 "module_name_preceding_first_block",
                 "modules_in_block_to_quantize",
                 "batch_size",
                 "pad_token_id",
                 "use_exllama",
                 "disable_exllama",
                 "max_input_length",
                 "exllama_config",
                 "cache_block_outputs",
                 "use_cuda_fp16",
                 "model_seqlen",
                 "meta",
                 "backend",
                 "mse",
                 "act_group_aware",
                 "format",
                 "hf_device_map"});
  result.schemes.push_back(scheme);
  return config.finish();
}

/// All is in the tensors, whichever layers have them.
Expected<void> readMxfp4(ConfigReader &config, QuantizationConfig &result) {
  config.ignore({"modules_to_not_convert", "dequantize"});
  result.schemes.push_back({.scales = Scales::Group, .groupSize = 32});
  return config.finish();
}

} // namespace

Expected<std::optional<QuantizationConfig>> readQuantizationConfig(std::string_view configText,
                                                                   std::string_view source) {
  Json whole = parseJson(configText);
  if (!whole.is_object() || !whole.contains("quantization_config") ||
      whole["quantization_config"].is_null())
    return std::nullopt;
  const Json &json = whole["quantization_config"];
  std::string where = std::string(source) + ": quantization_config";
  if (!json.is_object())
    return fail(where, "it is not a JSON object", "download the model again");
  ConfigReader config(json, where);
  std::string name = config.text("quant_method", "");
  QuantizationConfig result;
  if (name == "compressed-tensors") {
    SINTER_CHECK(readCompressedTensors(config, where, result));
  } else if (name == "fp8") {
    result.method = QuantizationMethod::Fp8;
    SINTER_CHECK(readFp8(config, result));
  } else if (name == "awq") {
    result.method = QuantizationMethod::Awq;
    SINTER_CHECK(readAwq(config, result));
  } else if (name == "gptq") {
    result.method = QuantizationMethod::Gptq;
    SINTER_CHECK(readGptq(config, result));
  } else if (name == "mxfp4") {
    result.method = QuantizationMethod::Mxfp4;
    SINTER_CHECK(readMxfp4(config, result));
  } else {
    return fail(where + ": quant_method '" + name + "'", "is not supported",
                "use compressed-tensors, fp8, awq, gptq or mxfp4, or the model without "
                "quantization");
  }
  return result;
}

} // namespace sinter
