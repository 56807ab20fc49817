#include "frontends/Spec/Families/Family.h"

namespace sinter {

void readExpertGroups(ConfigReader &config, ModelSpec &spec, int64_t groups, int64_t perToken,
                      double scale) {
  RoutingSpec &routing = spec.routing;
  routing.scale = config.positive("routed_scaling_factor", scale);
  routing.groups = config.size("n_group", groups);
  routing.groupsPerToken = config.size("topk_group", perToken);
  if (spec.expertCount % routing.groups != 0)
    config.mistake("n_group",
                   std::to_string(routing.groups) + " does not divide the " +
                       std::to_string(spec.expertCount) + " experts",
                   "");
  else if (routing.groupsPerToken > routing.groups ||
           spec.expertsPerToken > spec.expertCount / routing.groups * routing.groupsPerToken)
    config.mistake("topk_group",
                   std::to_string(routing.groupsPerToken) + " of " +
                       std::to_string(routing.groups) + " groups do not hold the " +
                       std::to_string(spec.expertsPerToken) + " experts of a token",
                   "");
}

void readSharedExperts(ConfigReader &config, ModelSpec &spec, const char *key, int64_t fallback) {
  constexpr int64_t most = 1000;
  int64_t shared = config.count(key, fallback);
  if (shared > most)
    config.mistake(key, "it is no number of experts up to " + std::to_string(most), "");
  else
    spec.sharedExpertSize = shared * spec.expertSize;
}

/// mlp_layer_types, where it is there: which layers are "sparse" and which "dense".
static void readMlpLayerTypes(ConfigReader &config, ModelSpec &spec) {
  std::optional<std::vector<std::string>> types = config.texts("mlp_layer_types");
  if (!types)
    return;
  if (types->size() != spec.layers.size())
    return config.mistake("mlp_layer_types",
                          "it has " + std::to_string(types->size()) + " entries for " +
                              std::to_string(spec.layers.size()) + " layers",
                          "");
  for (size_t i = 0; i < types->size(); ++i) {
    spec.layers[i].isSparse = (*types)[i] == "sparse";
    if (!spec.layers[i].isSparse && (*types)[i] != "dense")
      config.mistake("mlp_layer_types", "'" + (*types)[i] + "' is not supported",
                     "use 'dense' or 'sparse'");
  }
}

void readDeepSeekExperts(ConfigReader &config, ModelSpec &spec,
                         const DeepSeekExpertDefaults &defaults) {
  readExperts(config, spec, {"n_routed_experts", "num_local_experts", "num_experts"},
              defaults.count, defaults.perToken);
  spec.expertSize = config.size("moe_intermediate_size", defaults.size);
  int64_t dense = config.count("first_k_dense_replace", defaults.dense);
  for (size_t i = 0; i < spec.layers.size(); ++i)
    spec.layers[i].isSparse = static_cast<int64_t>(i) >= dense;
  readMlpLayerTypes(config, spec);
  if (config.size("moe_layer_freq", 1) != 1)
    config.mistake("moe_layer_freq", "layers without experts between others are not supported", "");
  readSharedExperts(config, spec,
                    config.has("num_shared_experts") ? "num_shared_experts" : "n_shared_experts",
                    defaults.shared);

  readExpertGroups(config, spec, defaults.groups, defaults.groupsPerToken, defaults.scale);
  // Of training, how it is laid out, and layers that predict further tokens, which are left out.
  config.ignore(
      {"aux_loss_alpha", "seq_aux", "ep_size", "num_nextn_predict_layers", "num_mtp_layers"});
}

void useSigmoidRouting(ConfigReader &config, ModelSpec &spec, bool normalizes) {
  spec.routing.usesSigmoid = spec.routing.hasBias = true;
  spec.routing.groupScore = RoutingSpec::GroupScore::TwoLargest;
  spec.routing.normalizes = config.flag("norm_topk_prob", normalizes);
  // dots.llm1 has the other key's value here.
  config.choice("scoring_func", {"sigmoid", "noaux_tc"}, 0);
  if (config.text("topk_method", "noaux_tc") != "noaux_tc")
    config.mistake("topk_method", "models of this type have 'noaux_tc'", "");
}

} // namespace sinter
