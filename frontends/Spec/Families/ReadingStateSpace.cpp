#include "frontends/Spec/Families/Family.h"
#include <cmath>

namespace sinter {

/// One of time_step_limit: a number, or what JSON has none for.
static std::optional<double> readLimit(const ConfigReader::Json &value) {
  if (value.is_number())
    return value.get<double>();
  const ConfigReader::Json &text =
      value.is_object() ? value.value("__float__", ConfigReader::Json()) : value;
  if (text == "Infinity")
    return HUGE_VAL;
  return std::nullopt;
}

static void readStepLimits(ConfigReader &config, ModelSpec &spec) {
  const char *key = "time_step_limit";
  const ConfigReader::Json *limits = config.value(key);
  if (!limits || limits->is_null())
    return;
  std::optional<double> least, most;
  if (limits->is_array() && limits->size() == 2) {
    least = readLimit((*limits)[0]);
    most = readLimit((*limits)[1]);
  }
  if (!least || !most || !std::isfinite(*least) || *least > *most)
    return config.mistake(key, "it is not two numbers, the smaller one first",
                          "write [0.0, \"Infinity\"] for no limits");
  spec.leastStep = *least;
  spec.mostStep = *most;
}

void readStateSpaces(ConfigReader &config, ModelSpec &spec, const StateSpaceKeys &keys) {
  int64_t heads = spec.linearValueHeads = config.size(keys.heads, 128);
  int64_t inner = config.size(keys.expand, 2) * spec.hiddenSize;
  if (keys.values && (config.has(keys.values) || !config.present(keys.values)))
    inner = config.size(keys.values, 1024);
  const ConfigReader::Json *size = config.value(keys.headSize);
  if (keys.headSizeDefault || (size && size->is_number()))
    spec.linearValueSize = config.size(keys.headSize, keys.headSizeDefault);
  else if (size && !size->is_null() && *size != "auto")
    config.mistake(keys.headSize, "it is neither a whole number nor 'auto'", "");
  else if (inner % heads != 0)
    config.mistake(keys.heads,
                   std::to_string(heads) + " heads do not divide the " + std::to_string(inner) +
                       " values",
                   "");
  else
    spec.linearValueSize = inner / heads;
  if (!keys.headSizeDefault && spec.linearValueSize && spec.linearValueSize * heads != inner)
    config.mistake(keys.headSize,
                   std::to_string(heads) + " heads of " + std::to_string(spec.linearValueSize) +
                       " are not the " + std::to_string(inner) + " values",
                   "");
  int64_t groups = spec.linearKeyHeads = config.size(keys.groups, keys.groupsDefault);
  if (heads % groups != 0)
    config.mistake(keys.groups,
                   std::to_string(groups) + " groups do not divide the " + std::to_string(heads) +
                       " heads of " + keys.heads,
                   "");
  spec.linearKeySize = config.size(keys.stateSize, keys.stateSizeDefault);
  spec.convolutionWidth = config.size(keys.width, 4);
  spec.convolutionBias = config.flag(keys.convolutionBias, true);
  spec.stateSpaceBias = config.flag(keys.bias, false);
  readStepLimits(config, spec);
  config.ignore({keys.chunk});
}

std::optional<std::vector<std::string>> readBlockTypes(ConfigReader &config,
                                                       std::initializer_list<const char *> keys) {
  std::optional<std::vector<std::string>> types;
  for (const char *key : keys)
    if (std::optional<std::vector<std::string>> found = config.texts(key); found && !types)
      types = std::move(found);
  if (!types)
    return types;
  for (std::string &type : *types)
    type = type == "mamba" ? "linear_attention" : type == "attention" ? "full_attention" : type;
  return types;
}

} // namespace sinter
