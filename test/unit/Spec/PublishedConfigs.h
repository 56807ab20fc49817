//===- PublishedConfigs.h - Models by their config.json ---------*- C++ -*-===//
#pragma once

#include "frontends/Spec/ModelSpec.h"
#include <gtest/gtest.h>

namespace sinter::test {

/// A config as a published model has it, and how many parameters that model has; biases that
/// experts are chosen by are counted with them.
struct Published {
  const char *name;
  int64_t parameters;
  std::string config;
};

inline void PrintTo(const Published &model, std::ostream *out) { *out << model.name; }

/// The config is accepted as it is, and asks for as many parameters.
inline void expectParameters(const Published &model) {
  Expected<ModelSpec> spec = parseModelSpec(model.config, "config.json");
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->getParameterCount(), model.parameters);
}

/// What the configs of Gemma 4 have in common.
inline const std::string gemma4 = R"({
          "architectures": ["Gemma4ForConditionalGeneration"], "audio_config": {"hidden_size": 1024},
          "boi_token_id": 255999, "image_token_id": 258880, "model_type": "gemma4",
          "vision_config": {"hidden_size": 768}, "text_config": {"dtype": "bfloat16",
          "eos_token_id": 1, "final_logit_softcapping": 30.0, "global_head_dim": 512, "head_dim": 256,
          "hidden_activation": "gelu_pytorch_tanh", "initializer_range": 0.02,
          "max_position_embeddings": 131072, "model_type": "gemma4_text", "pad_token_id": 0,
          "rms_norm_eps": 1e-06, "rope_parameters": {"full_attention":
          {"partial_rotary_factor": 0.25, "rope_theta": 1000000.0, "rope_type": "proportional"},
          "sliding_attention": {"rope_theta": 10000.0, "rope_type": "default"}}, "tie_word_embeddings":
          true, "use_cache": true, "vocab_size": 262144, "vocab_size_per_layer_input": 262144,)";

} // namespace sinter::test
