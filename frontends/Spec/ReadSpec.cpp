#include "frontends/Gguf/GgufConfig.h"
#include "frontends/Spec/Decoder.h"
#include "frontends/Spec/Families/Family.h"
#include "runtime/Base/Json.h"
#include "runtime/Base/ReadFile.h"
#include <algorithm>

namespace sinter {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr Family families[] = {
#define FAMILY(TYPE, PREFIX) {TYPE, PREFIX##ReadConfig, PREFIX##NameTensors},
#include "frontends/Spec/Families/Families.def"
};

constexpr double maxParameters = 4e12;

/// The number of parameters, at most, from sizes alone: it must be known to be sane before names
/// are made for all of them. In floating point, which cannot overflow here.
double roughParameterCount(const ModelSpec &spec) {
  int64_t keys = spec.kvHeads, width = spec.headDim, mlp = spec.mlpSize;
  for (const LayerSpec &each : spec.layers) {
    keys = std::max(keys, spec.getKvHeads(each));
    width = std::max(width, spec.getHeadDim(each));
    mlp = std::max(mlp, spec.getMlpSize(each));
  }
  double hidden = double(spec.hiddenSize), heads = double(spec.heads + keys);
  double layer =
      2 * hidden * heads * double(width) + (spec.gatedMlp ? 3 : 2) * hidden * double(mlp);
  if (spec.layerInputs)
    layer += double(spec.layerInputs->size) * (3 * hidden + double(spec.layerInputs->rows));
  layer += hidden * double(spec.latentSize + spec.rotarySize + spec.queryLatentSize) +
           double(spec.heads) * (double(spec.latentSize) * double(spec.headDim + spec.valueSize) +
                                 double(spec.queryLatentSize) * double(spec.headDim) +
                                 hidden * double(spec.valueSize));
  double linearKeys = double(spec.linearKeyHeads) * double(spec.linearKeySize),
         linearValues = double(spec.linearValueHeads) * double(spec.linearValueSize);
  layer += hidden * (2 * linearKeys + 3 * linearValues + 2 * double(spec.linearValueHeads)) +
           (2 * linearKeys + linearValues) * double(spec.convolutionWidth);
  if (spec.expertCount)
    layer += hidden * (double(spec.expertCount) * (3 * double(spec.expertSize) + 1) +
                       3 * double(spec.sharedExpertSize));
  int64_t groups = 0;
  for (const LayerSpec &each : spec.layers)
    groups = std::max(groups, each.parameterGroup + 1);
  double embeddings = hidden * double(spec.vocabSize) * (spec.tiedEmbeddings ? 1 : 2);
  if (spec.positions == PositionKind::Learned)
    embeddings += hidden * double(spec.maxPositions + spec.positionOffset);
  return embeddings + double(groups) * layer;
}

const Family *findFamily(std::string_view name) {
  const Family *family = std::find_if(std::begin(families), std::end(families),
                                      [&](const Family &f) { return name == f.modelType; });
  return family == std::end(families) ? nullptr : family;
}

std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// The object of a config.json. Python writes numbers without a limit as Infinity, which JSON has
/// not: it becomes a string.
Json parseConfig(std::string_view text) {
  Json json = parseJson(text);
  if (!json.is_discarded())
    return json;
  constexpr std::string_view word = "Infinity";
  std::string quoted;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!inString && text.substr(i).starts_with(word)) {
      quoted.append("\"").append(word).append("\"");
      i += word.size() - 1;
      continue;
    }
    if (text[i] == '"')
      inString = !inString;
    quoted += text[i];
    if (inString && text[i] == '\\' && i + 1 < text.size())
      quoted += text[++i];
  }
  return parseJson(quoted);
}

/// What a generation_config.json asks for that changes even a greedy text, and what asks for
/// nothing.
const std::pair<const char *, Json> kLogitsChanges[] = {{"repetition_penalty", 1.0},
                                                        {"no_repeat_ngram_size", 0},
                                                        {"min_length", 0},
                                                        {"min_new_tokens", 0},
                                                        {"bad_words_ids", nullptr},
                                                        {"suppress_tokens", nullptr},
                                                        {"sequence_bias", nullptr},
                                                        {"begin_suppress_tokens", nullptr},
                                                        {"forced_bos_token_id", nullptr},
                                                        {"forced_eos_token_id", nullptr},
                                                        {"num_beams", 1}};

/// generation_config.json says when to stop, and may know better than config.json.
Expected<void> readGenerationConfig(const fs::path &path, ModelSpec &spec) {
  SINTER_TRY(std::string text, readFile(path));
  Json json = parseJson(text);
  if (!json.is_object())
    return fail(path.string(), "it is not a JSON object", "download it again");
  ConfigReader config(json, path.string());
  std::vector<int64_t> eosIds = config.ids("eos_token_id"), bosIds = config.ids("bos_token_id");
  for (auto entry = json.begin(); entry != json.end(); ++entry)
    config.ignore({entry.key().c_str()});
  SINTER_CHECK(config.finish());
  std::vector<std::string> unused;
  for (const auto &[key, nothing] : kLogitsChanges)
    if (auto entry = json.find(key); entry != json.end() && !entry->is_null() && *entry != nothing)
      unused.emplace_back(key);
  spec.unusedSampling = joined(unused);
  if (!eosIds.empty())
    spec.eosIds = std::move(eosIds);
  if (!bosIds.empty())
    spec.bosIds = std::move(bosIds);
  return {};
}

} // namespace

std::vector<std::string> knownModelTypes() {
  std::vector<std::string> types;
  for (const Family &family : families)
    types.emplace_back(family.modelType);
  return types;
}

Expected<ModelSpec> parseModelSpec(std::string_view jsonText, std::string_view sourceName) {
  std::string source(sourceName);
  Json json = parseConfig(jsonText);
  if (!json.is_object())
    return fail(source, jsonText.empty() ? "it is empty" : "it is not a JSON object",
                "download it again");
  SINTER_CHECK(takeDecoder(json, source));
  auto type = json.find("model_type");
  if (type == json.end() || !type->is_string())
    return fail(source + ": key 'model_type'", "it is missing or no string",
                "use one of " + joined(knownModelTypes()));
  const std::string &name = type->get_ref<const std::string &>();
  const Family *family = findFamily(name);
  if (!family)
    return fail(source + ": key 'model_type'", "family '" + name + "' is not known",
                "use one of " + joined(knownModelTypes()));

  ModelSpec spec;
  spec.modelType = name;
  ConfigReader config(json, source);
  ignoreHarmless(config);
  family->readConfig(config, spec);
  SINTER_CHECK(config.finish());
  if (double count = roughParameterCount(spec); count > maxParameters)
    return fail(source,
                "its sizes make " + std::to_string(int64_t(std::min(count / 1e9, 1e18))) +
                    " thousand million parameters",
                "check vocab_size, hidden_size, intermediate_size and the number of layers");
  family->nameTensors(spec);
  return spec;
}

std::map<std::string, std::string> listModelKeys(std::string_view jsonText) {
  Json json = parseConfig(jsonText);
  std::map<std::string, std::string> keys = {{"model_type", writeJson(json["model_type"])}};
  ConfigReader config(json, "");
  ModelSpec spec;
  findFamily(json["model_type"].get_ref<const std::string &>())->readConfig(config, spec);
  for (const auto &[key, value] : json.items())
    if (config.wasRead(key) && !value.is_null())
      keys[key] = writeJson(value);
  return keys;
}

/// Where a model's config.json is.
static fs::path configOf(const fs::path &path) {
  std::error_code error;
  return fs::is_directory(path, error) ? path / "config.json" : path;
}

Expected<std::string> readModelConfig(const fs::path &path) {
  std::error_code error;
  constexpr const char *remedy = "give a model's directory, its config.json or a .gguf file";
  if (!fs::exists(path, error))
    return fail(path.string(), "no such file or directory", remedy);
  fs::path config = configOf(path);
  if (!fs::exists(config, error))
    return fail(config.string(), "no such file", remedy);
  if (!GgufFile::isPath(config)) {
    SINTER_TRY(std::string text, readFile(config));
    Json json = parseJson(text);
    SINTER_TRY(bool isDecoder, takeDecoder(json, config.string()));
    return isDecoder ? writeJson(json, 2) : text;
  }
  SINTER_TRY(GgufFile file, GgufFile::open(config));
  return makeGgufConfig(file, config.string());
}

Expected<ModelSpec> loadModelSpec(const fs::path &path) {
  SINTER_TRY(std::string text, readModelConfig(path));
  fs::path config = configOf(path);
  SINTER_TRY(ModelSpec spec, parseModelSpec(text, config.string()));
  std::error_code error;
  bool isDirectory = config != path;
  fs::path generation = config.parent_path() / "generation_config.json";
  if (isDirectory && fs::exists(generation, error))
    SINTER_CHECK(readGenerationConfig(generation, spec));
  return spec;
}

} // namespace sinter
