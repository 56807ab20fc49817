#include "frontends/Spec/Families/Family.h"
#include <algorithm>
#include <array>
#include <cmath>

namespace sinter {
namespace {

/// The keys of one rope type beyond rope_type, rope_theta and partial_rotary_factor.
/// @param what the key that has them
void readType(ConfigReader &config, const char *what, ConfigReader &rope, RotarySpec &rotary) {
  // A top-level original_max_position_embeddings has priority, as in transformers.
  auto readOriginalLength = [&] {
    int64_t inner = rope.size("original_max_position_embeddings", rotary.maxPositions);
    rotary.originalMaxPositions = config.size("original_max_position_embeddings", inner);
  };
  auto requireFactor = [&] {
    rotary.factor = rope.optionalPositive("factor");
    if (!rotary.factor) {
      config.mistake(what, "its 'factor' is missing", "add it");
      rotary.factor = 1;
    }
  };
  switch (rotary.type) {
  case RopeType::Default:
    // Places in an image; a token of text has its position for each of them.
    rope.ignore({"mrope_section", "mrope_interleaved"});
    break;
  case RopeType::Proportional:
    rotary.factor = rope.optionalPositive("factor");
    break;
  case RopeType::Linear:
  case RopeType::Dynamic:
    // Hunyuan's files mean a base that is stretched once, whatever the length.
    if (std::optional<double> alpha = rope.optionalPositive("alpha");
        alpha && rotary.type == RopeType::Dynamic) {
      double width = double(rotary.dim);
      rotary.type = RopeType::Default;
      rotary.theta *= std::pow(*alpha, width / (width - 2));
      rope.ignore({"factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"});
      break;
    }
    requireFactor();
    if (rotary.type == RopeType::Dynamic && (rotary.dim <= 2 || *rotary.factor < 1))
      config.mistake(what, "dynamic scaling needs a factor of at least 1 and 4 rotated components",
                     "");
    break;
  case RopeType::Llama3:
    requireFactor();
    readOriginalLength();
    rotary.lowFreqFactor = rope.positive("low_freq_factor", 1);
    rotary.highFreqFactor = rope.positive("high_freq_factor", 4);
    if (!(rotary.highFreqFactor > rotary.lowFreqFactor))
      config.mistake(what, "its high_freq_factor is not above its low_freq_factor", "");
    break;
  case RopeType::Yarn:
    rotary.factor = rope.optionalPositive("factor");
    readOriginalLength();
    rotary.attentionFactor = rope.optionalPositive("attention_factor");
    rotary.betaFast = rope.positive("beta_fast", 32);
    rotary.betaSlow = rope.positive("beta_slow", 1);
    rotary.mscale = rope.number("mscale", 0);
    rotary.mscaleAllDim = rope.number("mscale_all_dim", 0);
    rotary.truncate = rope.flag("truncate", true);
    rotary.queryGrowth = rope.number("llama_4_scaling_beta", 0);
    rotary.growthLength = rotary.originalMaxPositions;
    rope.ignore({"max_position_embeddings"}); // once more, in Ministral 3's files
    if (rotary.theta <= 1)
      config.mistake(what, "yarn needs a rope_theta above 1", "");
    break;
  case RopeType::LongRope:
    rotary.factor = rope.optionalPositive("factor");
    readOriginalLength();
    rotary.attentionFactor = rope.optionalPositive("attention_factor");
    rotary.shortFactor = rope.numbers("short_factor");
    rotary.longFactor = rope.numbers("long_factor");
    for (const auto &[name, factors] :
         {std::pair("short_factor", &rotary.shortFactor), {"long_factor", &rotary.longFactor}})
      if (static_cast<int64_t>(factors->size()) != rotary.getWidth() / 2)
        config.mistake(what,
                       std::string("its ") + name + " has " + std::to_string(factors->size()) +
                           " entries for " + std::to_string(rotary.getWidth() / 2) + " frequencies",
                       "");
    if (rotary.originalMaxPositions < 2)
      config.mistake(what, "longrope needs an original_max_position_embeddings above 1", "");
    break;
  }
}

/// One kind of rotary positions.
/// @param headDim of the heads that it turns
/// @param object the keys of it, those of `what` in `config`
/// @param theta where it has no rope_theta
/// @param partial as of readRotary
RotarySpec readKind(ConfigReader &config, const ModelSpec &spec, int64_t headDim,
                    const ConfigReader::Json &object, const char *what, double theta,
                    std::optional<double> partial) {
  RotarySpec rotary;
  rotary.maxPositions = rotary.originalMaxPositions = spec.maxPositions;
  ConfigReader rope(object, what);
  rotary.theta = rope.positive("rope_theta", theta);
  constexpr std::array types = {RopeType::Default,  RopeType::Linear,      RopeType::Dynamic,
                                RopeType::Llama3,   RopeType::Yarn,        RopeType::LongRope,
                                RopeType::LongRope, RopeType::Proportional};
  const char *typeKey = rope.has("rope_type") ? "rope_type" : "type";
  rotary.type = types[rope.choice(
      typeKey, {"default", "linear", "dynamic", "llama3", "yarn", "longrope", "su", "proportional"},
      0)];
  rope.ignore({"rope_type", "type"});
  double fraction = 1;
  if (rotary.type == RopeType::Proportional) {
    rotary.turnedShare = rope.positive("partial_rotary_factor", 1);
    if (rotary.turnedShare > 1)
      config.mistake(what, "its 'partial_rotary_factor' is above 1", "");
  } else if (partial) {
    double outer = config.positive("partial_rotary_factor", *partial);
    fraction = rope.positive("partial_rotary_factor", outer);
  } else if (rope.number("partial_rotary_factor", 1) != 1 ||
             config.number("partial_rotary_factor", 1) != 1) {
    config.mistake("partial_rotary_factor", "models of this type rotate whole heads", "remove it");
  }
  rotary.dim = static_cast<int64_t>(double(headDim) * std::min(fraction, 2.0));
  if (rotary.dim < 1 || rotary.getWidth() > headDim) {
    config.mistake(partial ? "partial_rotary_factor" : "head_dim",
                   std::to_string(rotary.getWidth()) + " of " + std::to_string(headDim) +
                       " components of a head would be rotated",
                   "");
    rotary.dim = 2;
  }

  // Phi-3's first checkpoints say "yarn" for what became longrope.
  if (rotary.type == RopeType::Yarn && rope.has("short_factor"))
    rotary.type = RopeType::LongRope;
  readType(config, what, rope, rotary);
  if (rotary.queryGrowth != 0 && (spec.latentSize || rotary.getWidth() != headDim))
    config.mistake(what, "its 'llama_4_scaling_beta' needs heads that are rotated whole", "");
  config.ignore({"original_max_position_embeddings"});
  if (Expected<void> read = rope.finish(); !read)
    config.mistake(what, read.error().message(), "");
  return rotary;
}

/// The object under a key; an empty one where there is none.
ConfigReader::Json readObject(ConfigReader &config, const char *key) {
  const ConfigReader::Json *object = config.value(key);
  if (object && !object->is_object())
    config.mistake(key, "it is not an object", "");
  return object && object->is_object() ? *object : ConfigReader::Json::object();
}

} // namespace

void readRotary(ConfigReader &config, ModelSpec &spec, std::optional<double> partial,
                double theta) {
  spec.positions = PositionKind::Rotary;
  // `rope_scaling` is the older name of `rope_parameters` and wins where both are there.
  ConfigReader::Json scaling = readObject(config, "rope_scaling"),
                     parameters = readObject(config, "rope_parameters");
  bool isOlder = !scaling.empty();
  double outerTheta = config.positive("rope_theta", theta);
  spec.rotaries = {readKind(config, spec, spec.headDim, isOlder ? scaling : parameters,
                            isOlder ? "rope_scaling" : "rope_parameters", outerTheta, partial)};
}

void readRotatedLayers(ConfigReader &config, ModelSpec &spec) {
  if (!config.has("no_rope_layers")) {
    config.ignore({"no_rope_layers"});
    return;
  }
  std::vector<double> rotates = config.numbers("no_rope_layers");
  if (rotates.size() != spec.layers.size())
    return config.mistake("no_rope_layers",
                          "it has " + std::to_string(rotates.size()) + " entries for " +
                              std::to_string(spec.layers.size()) + " layers",
                          "");
  for (size_t i = 0; i < rotates.size(); ++i)
    if (rotates[i] == 0)
      spec.layers[i].rotary = std::nullopt;
}

void readRotaryOfLayerTypes(ConfigReader &config, ModelSpec &spec, double theta,
                            const char *slidingKey, double slidingTheta, double share) {
  spec.positions = PositionKind::Rotary;
  ConfigReader::Json parameters = readObject(config, "rope_parameters"),
                     scaling = readObject(config, "rope_scaling");
  ConfigReader types(parameters, "rope_parameters");
  ConfigReader::Json full = readObject(types, "full_attention"),
                     sliding = readObject(types, "sliding_attention");
  if (Expected<void> read = types.finish(); !read)
    config.mistake("rope_parameters", read.error().message(), "");
  if (share != 1 && !config.has("rope_parameters"))
    full = {{"rope_type", "proportional"}, {"partial_rotary_factor", share}};
  // The older keys: `rope_scaling` is of the layers with full attention.
  full.update(scaling);
  double outerTheta = config.positive("rope_theta", theta);
  if (slidingKey)
    slidingTheta = config.positive(slidingKey, slidingTheta);
  // Layers of a kind have heads of one size.
  auto getHeadDim = [&](bool isSliding) {
    auto layer = std::ranges::find_if(
        spec.layers, [&](const LayerSpec &each) { return (each.window != 0) == isSliding; });
    return layer == spec.layers.end() ? spec.headDim : spec.getHeadDim(*layer);
  };
  spec.rotaries = {readKind(config, spec, getHeadDim(false), full,
                            scaling.empty() ? "rope_parameters" : "rope_scaling", outerTheta,
                            std::nullopt),
                   readKind(config, spec, getHeadDim(true), sliding, "rope_parameters",
                            slidingTheta, std::nullopt)};
  for (LayerSpec &layer : spec.layers)
    layer.rotary = layer.window ? 1 : 0;
}

} // namespace sinter
