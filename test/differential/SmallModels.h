//===- SmallModels.h - Models that compile in no time -----------*- C++ -*-===//
#pragma once

namespace sinter::test {

inline constexpr const char *kLlama =
    R"({"model_type": "llama", "vocab_size": 40, "hidden_size": 24, "intermediate_size": 20,
        "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
        "max_position_embeddings": 32})";
inline constexpr const char *kGpt2 =
    R"({"model_type": "gpt2", "vocab_size": 40, "n_embd": 24, "n_layer": 1, "n_head": 3,
        "n_positions": 32})";

} // namespace sinter::test
