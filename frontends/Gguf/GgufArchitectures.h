//===- GgufArchitectures.h - GGUF's architectures in Hugging Face's words -*- C++ -*-===//
//
// What llama.cpp's converter makes of a model's directory, as data: which tensor of the file was
// which, what was done to it, and which numbers of the file are which key of config.json. A new
// architecture is an entry of the table in GgufArchitectures.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontends/Gguf/GgufKeys.h"
#include <functional>
#include <string>
#include <vector>

namespace sinter {

/// What the converter did to a tensor.
enum class GgufChange {
  None,
  PairsTogether, ///< rows of a head: (i, i + size / 2) became (2 i, 2 i + 1)
  PartsApart,    ///< rows: groups of heads (queries, k, v) became all queries, all k, all v
  Transposed,    ///< [in, out] became [out, in]
  OneAdded,      ///< 1 + weight
  RowAlone,      ///< [1, in] became [in]
  Ending,        ///< its name has got one, ".weight", ".bias" or ".scale"
  RowOfEnding,   ///< the same, and [1, in] became [in]
  Taps,          ///< a convolution's [channels, 1, taps] became a matrix
  Vector,        ///< a vector became a matrix
  Decays,        ///< a vector, which may have become a matrix, of which a became -exp(a)
  ValuesTiled,   ///< rows: heads of a key head's values, one key head after the other, became the
                 ///< first head of each, the second of each, ...; ends are kept
  ValuesBehind,  ///< the same of the rows behind those of queries and keys
  TapsOfValues, ///< the same of a convolution's channels, whose [channels, 1, taps] became a matrix
  DecaysOfHeads, ///< the same of a vector, of which a became -exp(a), and its name lost its end
  BiasesOfHeads, ///< the same of a vector, whose name has got an end
  ValuesColumns, ///< the same of columns
  KeysOfLatent,  ///< with the tensor of the values, "attn_v_b", rows of heads (k, v), k transposed
};

struct GgufTensorName {
  const char *file; ///< "attn_q" in the file, of what ends otherwise "ffn_gate_inp.scale" ...
  std::string name; ///< ... and "self_attn.q_proj" in Hugging Face's model
  GgufChange change = GgufChange::None;
};

/// An entry of the file with a number for each layer, and the layer's tensor [1] that it was.
struct GgufLayerNumber {
  const char *file, *name;
};

/// A key of config.json, and what the file says of it; null where the key is to be absent.
struct GgufConfigKey {
  const char *name;
  std::function<GgufKeys::Json(GgufKeys &)> value;
};

/// An architecture that is one of our model families.
struct GgufArchitecture {
  const char *name;                            ///< general.architecture
  const char *modelType;                       ///< in config.json
  const char *layers;                          ///< "model.layers.", before a layer's number
  std::vector<GgufTensorName> global, ofLayer; ///< without ".weight" and ".bias"
  std::vector<GgufConfigKey> keys;
  /// Which files of the name are meant; of several entries the first one that is.
  bool (*applies)(const GgufKeys &) = nullptr;
  std::vector<GgufLayerNumber> numbers = {};
};

/// The architecture that the file names. Fails where it is none that we know, or the file is one of
/// several parts.
Expected<const GgufArchitecture *> findGgufArchitecture(const GgufFile &file,
                                                        std::string_view source);

} // namespace sinter
